// Package metav1 has the one type of k8s.io/apimachinery/pkg/apis/meta/v1 that a cursor mentions. See package watch,
// beside it.
package metav1

// ListOptions are what a cursor asks for. No figure makes a request.
type ListOptions struct {
	ResourceVersion     string
	AllowWatchBookmarks bool
}
