package informer

import (
	"fmt"
	"iter"
	"maps"
	"slices"
)

// IndexFunc appends the values under which the object can be found: none, one or
// several. It must be pure: the same object always has the same values.
//
// It appends to the slice that it is given, as strconv.AppendInt does, so that the
// caller can use one slice for all objects. client-go's returns a new slice, which is
// an allocation for each object, each index and each change, and then another
// one for the old object.
type IndexFunc[T Object] func(values []string, object T) []string

// IndexNamespace finds objects by namespace. Its name in a store is
// NamespaceIndex.
func IndexNamespace[T Object](values []string, object T) []string {
	return append(values, object.GetNamespace())
}

// NamespaceIndex is the name of the index that finds objects by namespace.
const NamespaceIndex = "namespace"

// namedIndexFunc is a named index function.
type namedIndexFunc[T Object] struct {
	name   string
	values IndexFunc[T]
}

// Index finds the objects of a store by a value. It belongs to its store and is
// up to date whenever the store is.
//
// client-go's indices are known by name only, so every lookup may fail with
// "index does not exist", and every caller must handle that. Here a caller looks the
// name up once.
type Index[T Object] struct {
	store *Store[T]
	name  string
	at    int
}

// AddIndex adds an index function under a name, which must be new. Objects that
// are in the store already are indexed before AddIndex returns. Meanwhile writers wait,
// and readers do not.
func (s *Store[T]) AddIndex(name string, values IndexFunc[T]) (*Index[T], error) {
	if err := s.AddIndices(map[string]IndexFunc[T]{name: values}); err != nil {
		return nil, err
	}
	index, _ := s.Index(name)
	return index, nil
}

// AddIndices adds several index functions, by name. It adds all of them, or none if
// a name is taken or a function is nil.
func (s *Store[T]) AddIndices(functions map[string]IndexFunc[T]) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	for _, indexer := range s.indexFuncs {
		if _, taken := functions[indexer.name]; taken {
			return fmt.Errorf("adding index %q: the store has an index of that name", indexer.name)
		}
	}
	indexFuncs, indices := slices.Clone(s.indexFuncs), slices.Clone(s.now.indices)
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		if functions[name] == nil {
			return fmt.Errorf("adding index %q: its function is nil", name)
		}
		indexFuncs = append(indexFuncs, namedIndexFunc[T]{name: name, values: functions[name]})
		// This read needs no other lock: nobody can change the table while we hold writing.
		indices = append(indices, s.now.index(functions[name]))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.indexFuncs, s.now.indices = indexFuncs, indices
	s.scratch = make([][]string, len(indexFuncs))
	return nil
}

// Index returns the index of that name.
func (s *Store[T]) Index(name string) (*Index[T], bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for i, indexer := range s.indexFuncs {
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
	return func(yield func(T) bool) { x.walk(value, yield) }
}

func (x *Index[T]) walk(value string, yield func(T) bool) {
	s := x.store
	s.mu.RLock()
	from, chunks, found := s.now.join(), s.now.chunks, s.now.indices[x.at].lookup(value)
	s.mu.RUnlock()
	defer from.leave()
	for _, at := range found {
		if !yield(chunks[at/chunkSize].objects[at%chunkSize]) {
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
	values := slices.Collect(s.now.indices[x.at].lists.keys())
	s.writing.Unlock()
	slices.Sort(values)
	return values
}
