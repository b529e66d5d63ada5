// Package watch has the names of k8s.io/apimachinery/pkg/watch that the reflector's machine uses. That package brings
// the codecs of all API types with it, which are two megabytes of WebAssembly; build.Slice says where this one takes its
// place. A test compares the two.
package watch

// EventType is what happened to an object.
type EventType string

const (
	Added    EventType = "ADDED"
	Modified EventType = "MODIFIED"
	Deleted  EventType = "DELETED"
	Bookmark EventType = "BOOKMARK"
	Error    EventType = "ERROR"
)
