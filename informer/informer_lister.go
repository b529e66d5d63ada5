package informer

import (
	"iter"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Lister reads objects from a store the way one reads them from the API server: by name,
// by namespace, by labels.
//
// Caveats: what it returns belongs to the store: copy before changing.
//
// client-go has a lister for each kind, generated, which returns slices.
type Lister[T Object] struct {
	store       *Store[T]
	byNamespace *Index[T]
	resource    schema.GroupResource
}

// Lister returns a lister of what the informer keeps. resource is for the text of
// its NotFound errors.
func (i *Informer[T]) Lister(resource schema.GroupResource) Lister[T] {
	byNamespace, _ := i.store.Index(NamespaceIndex)
	return Lister[T]{store: i.store, byNamespace: byNamespace, resource: resource}
}

// Get returns the object of that name, or an error that apierrors.IsNotFound
// recognises.
func (l Lister[T]) Get(namespace, name string) (T, error) {
	object, ok := l.store.Get(Key{Namespace: namespace, Name: name})
	if !ok {
		return object, apierrors.NewNotFound(l.resource, name)
	}
	return object, nil
}

// List iterates over the objects with these labels, in all namespaces. nil selects
// all.
func (l Lister[T]) List(selector labels.Selector) iter.Seq[T] {
	return selected(l.store.All(), selector)
}

// InNamespace returns a lister of one namespace.
func (l Lister[T]) InNamespace(namespace string) NamespaceLister[T] {
	return NamespaceLister[T]{all: l, namespace: namespace}
}

// NamespaceLister is a Lister of one namespace.
type NamespaceLister[T Object] struct {
	all       Lister[T]
	namespace string
}

// Get returns the object of that name, or a NotFound error.
func (l NamespaceLister[T]) Get(name string) (T, error) { return l.all.Get(l.namespace, name) }

// List iterates over the objects of the namespace with these labels. It looks at
// no others.
func (l NamespaceLister[T]) List(selector labels.Selector) iter.Seq[T] {
	return selected(l.all.byNamespace.Lookup(l.namespace), selector)
}

func selected[T Object](objects iter.Seq[T], selector labels.Selector) iter.Seq[T] {
	if selector == nil || selector.Empty() {
		return objects
	}
	return func(yield func(T) bool) {
		for object := range objects {
			if selector.Matches(labels.Set(object.GetLabels())) && !yield(object) {
				return
			}
		}
	}
}
