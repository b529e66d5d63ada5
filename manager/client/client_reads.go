package client

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/manager/client/apiutil"
)

// reads says which reads a cache answers.
type reads struct {
	cache        Reader // nil if there is none
	live         map[schema.GroupVersionKind]bool
	unstructured bool // these are cached, too
}

func newReads(options *CacheOptions, scheme *runtime.Scheme) (reads, error) {
	if options == nil || options.Reader == nil {
		return reads{}, nil
	}
	r := reads{cache: options.Reader, live: map[schema.GroupVersionKind]bool{}, unstructured: options.Unstructured}
	for _, obj := range options.DisableFor {
		gvk, err := apiutil.GVKForObject(obj, scheme)
		if err != nil {
			return reads{}, fmt.Errorf("CacheOptions.DisableFor: %w", err)
		}
		r.live[itemKind(obj, gvk)] = true
	}
	return r, nil
}

// areCached reports whether the cache answers a read of this object or list.
func (r *reads) areCached(obj runtime.Object, scheme *runtime.Scheme) (bool, error) {
	if r.cache == nil || isNil(obj) || formOf(obj) == formUnstructured && !r.unstructured {
		return false, nil
	}
	if len(r.live) == 0 {
		return true, nil
	}
	gvk, err := apiutil.GVKForObject(obj, scheme)
	if err != nil {
		return false, err
	}
	return !r.live[itemKind(obj, gvk)], nil
}
