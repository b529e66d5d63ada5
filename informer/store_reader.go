package informer

import "iter"

// StoreReader is a Store for everybody but its owner: they can read it and add
// indices to it. Only the owner can change what is in it.
//
// client-go's informers give their store away as it is. If a program puts its own
// writes into it, to see them at once, an older event may overwrite them: the store
// goes back in time, and a handler sees a change that never happened.
type StoreReader[T Object] struct{ store *Store[T] }

// Reader returns the part of the store that may be given away.
func (s *Store[T]) Reader() StoreReader[T] { return StoreReader[T]{s} }

// Get returns the object of that key.
func (r StoreReader[T]) Get(key Key) (object T, ok bool) { return r.store.Get(key) }

// Len is the number of objects.
func (r StoreReader[T]) Len() int { return r.store.Len() }

// All iterates over the objects as they are when the loop begins.
func (r StoreReader[T]) All() iter.Seq[T] { return r.store.All() }

// Index returns the index of that name.
func (r StoreReader[T]) Index(name string) (*Index[T], bool) { return r.store.Index(name) }

// AddIndex adds an index, see Store.AddIndex.
func (r StoreReader[T]) AddIndex(name string, values IndexFunc[T]) (*Index[T], error) {
	return r.store.AddIndex(name, values)
}

// AddIndices adds several indices or none, see Store.AddIndices.
func (r StoreReader[T]) AddIndices(functions map[string]IndexFunc[T]) error {
	return r.store.AddIndices(functions)
}
