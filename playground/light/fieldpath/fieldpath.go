// Package fieldpath takes the place of structured-merge-diff's: its names, for code that hands out field
// paths to package managedfields. Nothing in a page keeps track of who owns which field.
package fieldpath

// APIVersion is a group and a version.
type APIVersion string

// Path is none.
type Path struct{}

// Set is empty.
type Set struct{}

// Filter leaves nothing out.
type Filter interface{ Filter(*Set) *Set }

// NewSet returns an empty one.
func NewSet(...Path) *Set { return &Set{} }

// MakePath returns none.
func MakePath(...any) (Path, error) { return Path{}, nil }

// MakePathOrDie returns none.
func MakePathOrDie(...any) Path { return Path{} }

// NewExcludeSetFilter returns no filter.
func NewExcludeSetFilter(*Set) Filter { return nil }
