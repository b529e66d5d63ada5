package informer

import (
	"fmt"
	"iter"
	"maps"
	"slices"
)

// IndexFunc appends the values under which the object can be found: none, one or several. It must
// be pure: the same object always has the same values.
//
// It appends to the given slice, as strconv.AppendInt does, so that the caller can use one slice
// for all objects. client-go's returns a new slice, which is an allocation for each object, each
// index and each change.
type IndexFunc[T Object] func(values []string, object T) []string

// IndexNamespace finds objects by namespace. Its name in a store is NamespaceIndex.
func IndexNamespace[T Object](values []string, object T) []string {
	return append(values, object.GetNamespace())
}

// NamespaceIndex is the name of the index that finds objects by namespace.
const NamespaceIndex = "namespace"

// Index finds the objects of a store by a value. It belongs to its store and is up to date whenever
// the store is. After RemoveIndices it finds nothing, until an index with that name is added again.
//
// client-go's indices are known by name only, so every lookup may fail with "index doesn't exist",
// and every caller must handle that. Here a caller looks up the name once.
type Index[T Object] struct {
	store *Store[T]
	name  string
}

// AddIndex adds an index function under a new name. Existing objects are indexed before AddIndex
// returns. Meanwhile writers wait, and readers don't.
func (s *Store[T]) AddIndex(name string, values IndexFunc[T]) (*Index[T], error) {
	if err := s.AddIndices(map[string]IndexFunc[T]{name: values}); err != nil {
		return nil, err
	}
	return &Index[T]{store: s, name: name}, nil
}

// AddIndices adds several index functions, by name. It adds all of them, or none if
// a name is taken or a function is nil.
func (s *Store[T]) AddIndices(functions map[string]IndexFunc[T]) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	// Reads of s.stored need no other lock here: it changes only with writing held.
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		if s.stored.indices[name] != nil {
			return fmt.Errorf("adding index %q: the store has an index of that name", name)
		}
		if functions[name] == nil {
			return fmt.Errorf("adding index %q: its function is nil", name)
		}
	}
	indices := maps.Clone(s.stored.indices)
	for name, values := range functions {
		indices[name] = newIndex(values, s.stored.objects)
	}
	s.mu.Lock()
	s.stored.indices = indices
	s.mu.Unlock()
	return nil
}

// RemoveIndices removes indices by name, and ignores names that don't exist. It's for an informer
// with several users, when one of them leaves.
//
// client-go's indices stay as long as their store.
func (s *Store[T]) RemoveIndices(names ...string) {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		delete(s.stored.indices, name)
	}
}

// Index returns the index with that name.
func (s *Store[T]) Index(name string) (*Index[T], bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.stored.indices[name] == nil {
		return nil, false
	}
	return &Index[T]{store: s, name: name}, true
}

// Name is the index's name in its store.
func (x *Index[T]) Name() string { return x.name }

// Lookup iterates over the objects that have the value when the loop begins.
func (x *Index[T]) Lookup(value string) iter.Seq[T] {
	return func(yield func(T) bool) {
		x.store.mu.RLock()
		set := x.setLocked(value)
		objects := make([]T, 0, len(set))
		for object := range set {
			objects = append(objects, object.(T))
		}
		x.store.mu.RUnlock()
		slices.Values(objects)(yield)
	}
}

// Count is the number of objects that have the value.
func (x *Index[T]) Count(value string) int {
	x.store.mu.RLock()
	defer x.store.mu.RUnlock()
	return len(x.setLocked(value))
}

// Values returns all values that some object has, sorted.
func (x *Index[T]) Values() (values []string) {
	x.store.mu.RLock()
	if index := x.store.stored.indices[x.name]; index != nil {
		values = slices.AppendSeq(slices.Grow(values, len(index.sets)), maps.Keys(index.sets))
	}
	x.store.mu.RUnlock()
	slices.Sort(values)
	return values
}

// setLocked returns the objects that have the value.
func (x *Index[T]) setLocked(value string) objectSet {
	if index := x.store.stored.indices[x.name]; index != nil {
		return index.sets[value]
	}
	return nil
}

// index has the objects by the values of one index function. As in client-go, the function is
// called again for an old object, to find out where it is.
type index[T Object] struct {
	function IndexFunc[T]
	sets     map[string]objectSet // by value; never holds an empty one

	next, was []string // results of the function, in slices that are used again
}

// objectSet is a set of pointers: a fifth of the size of a map by key.
type objectSet map[Object]struct{}

func newIndex[T Object](function IndexFunc[T], objects map[Key]T) *index[T] {
	x := &index[T]{function: function, sets: map[string]objectSet{}}
	for _, object := range objects {
		x.next = function(x.next[:0], object)
		x.add(object, x.next)
	}
	return x
}

func (x *index[T]) add(object T, values []string) {
	for _, value := range values {
		if x.sets[value] == nil {
			x.sets[value] = objectSet{}
		}
		x.sets[value][object] = struct{}{}
	}
}

func (x *index[T]) remove(old T, values []string) {
	for _, value := range values {
		set := x.sets[value]
		if delete(set, old); len(set) == 0 {
			delete(x.sets, value)
		}
	}
}
