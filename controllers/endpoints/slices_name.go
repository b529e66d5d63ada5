package endpoints

import (
	"fmt"
	"hash/fnv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/rand"
)

// A Service may have any number of slices, so a slice cannot have its name. Kubernetes lets the API server generate one.
// Then a create whose answer is lost cannot be repeated: nobody knows whether it has happened, and the repetition has
// another name. A cache that does not show the slice yet leads to the same.
//
// So the names are computed. They look like generated ones, and the number of slices that a Service has says which is
// next. A create that is repeated gets the same name and is a conflict, as a repeated update would be; and neither a
// crash nor a late cache can lead to a second slice with the same endpoints.

// nameOf is the nth name for a slice of a Service.
func nameOf(service *corev1.Service, n int) string {
	hash := fnv.New32a()
	_, _ = fmt.Fprintf(hash, "%s/%d", service.UID, n) // a hash returns no error
	return service.Name + "-" + rand.SafeEncodeString(fmt.Sprint(hash.Sum32()))
}

// namer gives names to new slices.
type namer struct {
	service *corev1.Service
	taken   map[string]bool // by slices that the cache shows, or given
	n       int
}

// next is the first name that is not taken, and has not been given yet.
func (n *namer) next() string {
	for {
		name := nameOf(n.service, n.n)
		if n.n++; !n.taken[name] {
			n.taken[name] = true
			return name
		}
	}
}

func newNamer(service *corev1.Service, have []*discoveryv1.EndpointSlice) *namer {
	taken := make(map[string]bool, len(have))
	for _, slice := range have {
		taken[slice.Name] = true
	}
	return &namer{service: service, taken: taken}
}
