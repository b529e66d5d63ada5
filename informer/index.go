package informer

import (
	"fmt"
	"iter"
	"maps"
	"slices"
)

// IndexFunc appends the values under which the object is to be found: none, one
// or several. It must be pure: the same object always has the same values.
//
// It appends to what it is given, as strconv.AppendInt does, so that the caller
// can use one slice for all objects. client-go's returns a new slice, which is
// an allocation for each object, each index and each change, and then another
// one to ask about the old object.
type IndexFunc[T Object] func(values []string, object T) []string

// IndexNamespace finds objects by namespace. Its name in a store is
// NamespaceIndex.
func IndexNamespace[T Object](values []string, object T) []string {
	return append(values, object.GetNamespace())
}

// NamespaceIndex is the name of the index that finds objects by namespace.
const NamespaceIndex = "namespace"

// indexer is a named index function.
type indexer[T Object] struct {
	name   string
	values IndexFunc[T]
}

// Index finds the objects of a store by a value. It belongs to its store and is
// up to date whenever the store is.
//
// client-go's indices are known by name only, so every lookup may fail with
// "index does not exist", and every caller must handle that. Here the name is
// looked up once.
type Index[T Object] struct {
	store *Store[T]
	name  string
	at    int
}

// AddIndex adds an index function under a name, which must be new. Objects that
// are in the store already are indexed before AddIndex returns; readers go on
// meanwhile, writers wait.
func (s *Store[T]) AddIndex(name string, values IndexFunc[T]) (*Index[T], error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	for _, other := range s.indexers {
		if other.name == name {
			return nil, fmt.Errorf("adding index %q: the store has an index of that name", name)
		}
	}
	// Reading needs no lock here: who changes the table must hold writing.
	index := s.now.index(values)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.indexers = append(s.indexers, indexer[T]{name: name, values: values})
	s.now.indices = append(s.now.indices, index)
	s.scratch = append(s.scratch, nil)
	return &Index[T]{store: s, name: name, at: len(s.indexers) - 1}, nil
}

// Index returns the index of that name.
func (s *Store[T]) Index(name string) (*Index[T], bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for i, indexer := range s.indexers {
		if indexer.name == name {
			return &Index[T]{store: s, name: name, at: i}, true
		}
	}
	return nil, false
}

// Name is the name under which the index was added.
func (x *Index[T]) Name() string { return x.name }

// Lookup iterates over the objects that have the value when the loop begins.
// Nothing is allocated or copied for it.
func (x *Index[T]) Lookup(value string) iter.Seq[T] {
	return func(yield func(T) bool) { x.lookup(value, yield) }
}

func (x *Index[T]) lookup(value string, yield func(T) bool) {
	s := x.store
	s.mu.RLock()
	from, pages, found := s.now.join(), s.now.pages, s.now.indices[x.at].lookup(value)
	s.mu.RUnlock()
	defer from.leave()
	for _, at := range found {
		if !yield(pages[at/pageSize].objects[at%pageSize]) {
			return
		}
	}
}

// Count is the number of objects that have the value.
func (x *Index[T]) Count(value string) int {
	s := x.store
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.now.indices[x.at].lookup(value))
}

// Values are all values that some object has, sorted. Writers wait while they
// are collected, readers do not.
func (x *Index[T]) Values() []string {
	s := x.store
	s.writing.Lock()
	values := slices.Collect(maps.Keys(s.now.indices[x.at].buckets))
	s.writing.Unlock()
	slices.Sort(values)
	return values
}
