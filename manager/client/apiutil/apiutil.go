// Package apiutil finds out what a client has to know before it can send a request: an object's
// kind, the kind's path on the server, and how its objects are encoded.
//
// An object and a scheme give the kind. The kind and the server's discovery documents give the
// path. The kind and a configuration give a connection.
//
// Neighbours: below it are apimachinery's schemes, and client-go's connection and discovery. Above
// it are the client and the cache.
package apiutil

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/manager/internal/anyvalue"
)

// GVKForObject returns the kind of an object. Unstructured and metadata-only objects know it
// themselves. For all others the scheme knows the Go type; the object's own apiVersion and kind
// count only if the type stands for several kinds.
//
// Errors: runtime.IsNotRegisteredError for a type that the scheme doesn't have,
// runtime.IsMissingKind and IsMissingVersion for an object that should know its kind and doesn't,
// and one for nil.
func GVKForObject(obj runtime.Object, scheme *runtime.Scheme) (schema.GroupVersionKind, error) {
	if anyvalue.IsNil(obj) {
		return schema.GroupVersionKind{}, fmt.Errorf("the object is nil (%T), and of no kind", obj)
	}
	var own schema.GroupVersionKind
	if kind := obj.GetObjectKind(); kind != nil {
		own = kind.GroupVersionKind()
	}
	switch obj.(type) {
	case *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		// The scheme would say that this is PartialObjectMetadata, which is true and no help.
		switch {
		case own.Kind == "":
			return own, runtime.NewMissingKindErr(fmt.Sprintf("a %T must say of which kind it is", obj))
		case own.Version == "":
			return own, runtime.NewMissingVersionErr(fmt.Sprintf("a %T must say of which version it is", obj))
		}
		return own, nil
	}

	kinds, unversioned, err := scheme.ObjectKinds(obj)
	switch {
	case err != nil:
		return schema.GroupVersionKind{}, err
	case unversioned:
		return schema.GroupVersionKind{}, fmt.Errorf("a %T isn't in any version of an API, and "+
			"isn't an object of a cluster", obj)
	case len(kinds) == 1:
		return kinds[0], nil
	case slices.Contains(kinds, own):
		return own, nil
	case !own.Empty():
		return schema.GroupVersionKind{}, fmt.Errorf("a %T says that it is %s, but to the scheme "+
			"it is one of %s", obj, own, kinds)
	default:
		return schema.GroupVersionKind{}, fmt.Errorf("a %T is one of %s to the scheme: the "+
			"object has to say which", obj, kinds)
	}
}

// IsObjectNamespaced reports whether objects of this kind are in namespaces.
func IsObjectNamespaced(
	obj runtime.Object, scheme *runtime.Scheme, restmapper meta.RESTMapper,
) (bool, error) {
	gvk, err := GVKForObject(obj, scheme)
	if err != nil {
		return false, err
	}
	return IsGVKNamespaced(gvk, restmapper)
}

// IsGVKNamespaced reports whether objects of this kind are in namespaces.
func IsGVKNamespaced(gvk schema.GroupVersionKind, restmapper meta.RESTMapper) (bool, error) {
	mapping, err := restmapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return false, fmt.Errorf("is %s in namespaces: %w", gvk, err)
	}
	switch mapping.Scope.Name() {
	case "":
		return false, errors.New("the RESTMapper does not say whether " +
			gvk.String() + " is in namespaces")
	case meta.RESTScopeNameRoot:
		return false, nil
	default:
		return true, nil
	}
}
