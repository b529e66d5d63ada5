package informer

import (
	"iter"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// StoreReader is a Store for everybody but its owner: they can read it, add indices to it and
// remove them. Only the owner can change its contents.
//
// client-go's informers give out the store itself. If a program puts its own writes into it, to see
// them at once, an older event may overwrite them: the store goes back in time, and a handler sees
// a change that never happened.
type StoreReader[T Object] struct{ store *Store[T] }

// Reader returns the part of the store that you may give out.
func (s *Store[T]) Reader() StoreReader[T] { return StoreReader[T]{s} }

// Get returns the object with that key.
func (r StoreReader[T]) Get(key Key) (object T, ok bool) { return r.store.Get(key) }

// Len is the number of objects.
func (r StoreReader[T]) Len() int { return r.store.Len() }

// All iterates over the objects as they are when the loop begins.
func (r StoreReader[T]) All() iter.Seq[T] { return r.store.All() }

// Index returns the index with that name.
func (r StoreReader[T]) Index(name string) (*Index[T], bool) { return r.store.Index(name) }

// AddIndex adds an index, see Store.AddIndex.
func (r StoreReader[T]) AddIndex(name string, values IndexFunc[T]) (*Index[T], error) {
	return r.store.AddIndex(name, values)
}

// AddIndices adds several indices or none, see Store.AddIndices.
func (r StoreReader[T]) AddIndices(functions map[string]IndexFunc[T]) error {
	return r.store.AddIndices(functions)
}

// RemoveIndices removes indices, see Store.RemoveIndices. NamespaceIndex stays: without it, a
// NamespaceLister would find nothing.
func (r StoreReader[T]) RemoveIndices(names ...string) {
	isNamespace := func(name string) bool { return name == NamespaceIndex }
	r.store.RemoveIndices(slices.DeleteFunc(slices.Clone(names), isNamespace)...)
}

// Lister reads objects from a store the way you read them from the API server: by name, by
// namespace, by labels.
//
// Caveats: the objects belong to the store: copy before changing.
//
// client-go has a generated lister for each kind, which returns slices.
type Lister[T Object] struct {
	store       *Store[T]
	byNamespace *Index[T]
	resource    schema.GroupResource
}

// Lister returns a lister of the informer's objects. resource is for the text of its NotFound
// errors.
func (i *Informer[T]) Lister(resource schema.GroupResource) Lister[T] {
	byNamespace, _ := i.store.Index(NamespaceIndex)
	return Lister[T]{store: i.store, byNamespace: byNamespace, resource: resource}
}

// Get returns the object with that name, or an error that apierrors.IsNotFound recognises.
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

// Get returns the object with that name, or a NotFound error.
func (l NamespaceLister[T]) Get(name string) (T, error) { return l.all.Get(l.namespace, name) }

// List iterates over the objects of the namespace with these labels. It looks at no others.
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
