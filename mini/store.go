package mini

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Request names one object of one kind. It is the key of stores and queues, and what a
// Reconciler is asked for.
type Request = types.NamespacedName

// KeyOf returns the namespace and name of obj.
func KeyOf(obj Object) Request {
	return Request{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// IndexFunc returns the values under which an object is found. It may return none.
type IndexFunc func(Object) []string

// Indexers are the indices of a store, by name.
type Indexers map[string]IndexFunc

// index finds objects by a value. A value that no object has any more is not in it.
type index map[string]map[Request]Object

// Store is a map of objects with indices. It may be used from any goroutine.
//
// Caveats: it does not copy. Many goroutines share the objects that it returns: copy an
// object with DeepCopyObject before you change it.
type Store struct {
	indexers Indexers

	mu      sync.RWMutex // guards objects and indices
	objects map[Request]Object
	indices map[string]index
}

// NewStore returns an empty store with these indices.
func NewStore(indexers Indexers) *Store {
	s := &Store{indexers: maps.Clone(indexers)}
	s.resetLocked(0)
	return s
}

// Get returns the object with this key, or nil if there is none.
func (s *Store) Get(key Request) Object {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.objects[key]
}

// List returns all objects, sorted by key.
func (s *Store) List() []Object {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return sorted(s.objects)
}

// ByIndex returns the objects that have this value in the index, sorted by key.
func (s *Store) ByIndex(name, value string) ([]Object, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	index, ok := s.indices[name]
	if !ok {
		return nil, fmt.Errorf("there is no index %q: add it before the store is filled", name)
	}
	return sorted(index[value]), nil
}

// Update stores the object, and returns the one that was there before, or nil.
func (s *Store) Update(obj Object) (old Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old = s.deleteLocked(KeyOf(obj))
	s.addLocked(obj)
	return old
}

// Delete removes the object with this key, and returns it, or nil if there was none.
func (s *Store) Delete(key Request) (old Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deleteLocked(key)
}

// Replace makes these the only objects, in one step: a reader sees all of the old ones
// or all of the new. It returns the old ones.
func (s *Store) Replace(items []Object) (old map[Request]Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old = s.objects
	s.resetLocked(len(items))
	for _, obj := range items {
		s.addLocked(obj)
	}
	return old
}

func (s *Store) resetLocked(size int) {
	s.objects, s.indices = make(map[Request]Object, size), map[string]index{}
	for name := range s.indexers {
		s.indices[name] = index{}
	}
}

func (s *Store) addLocked(obj Object) {
	key := KeyOf(obj)
	s.objects[key] = obj
	for name, values := range s.indexers {
		for _, value := range values(obj) {
			if s.indices[name][value] == nil {
				s.indices[name][value] = map[Request]Object{}
			}
			s.indices[name][value][key] = obj
		}
	}
}

func (s *Store) deleteLocked(key Request) (old Object) {
	old, ok := s.objects[key]
	if !ok {
		return nil
	}
	delete(s.objects, key)
	for name, values := range s.indexers {
		for _, value := range values(old) {
			delete(s.indices[name][value], key)
			if len(s.indices[name][value]) == 0 {
				delete(s.indices[name], value)
			}
		}
	}
	return old
}

// sorted makes every run take the same order: Go's maps do not.
func sorted(objects map[Request]Object) []Object {
	return slices.SortedFunc(maps.Values(objects), func(a, b Object) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()),
			cmp.Compare(a.GetName(), b.GetName()))
	})
}
