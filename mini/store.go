package mini

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Request names one object of a kind. It's the key in stores and queues, and what a
// Reconciler will get.
type Request = types.NamespacedName

// KeyOf returns the namespace and name of obj.
func KeyOf(obj Object) Request {
	return Request{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// IndexFunc returns the values under which an index files an object: none, one or
// several. It must always return the same values for the same object. It must not call
// the store, which is locked while it runs.
type IndexFunc func(Object) []string

// Indexers maps the name of each index to its function.
type Indexers map[string]IndexFunc

// index has the objects of each value. It drops a value that has no objects left.
type index map[string]map[Request]Object

// Store is a map of objects with indices. It may be used from several goroutines.
//
// Caveats: it doesn't copy objects. All readers share them, so call DeepCopyObject and
// change the copy.
type Store struct {
	indexers Indexers

	mu      sync.RWMutex // guards objects and indices
	objects map[Request]Object
	indices map[string]index
}

// NewStore returns an empty store with these indices.
func NewStore(indexers Indexers) *Store {
	s := &Store{
		indexers: indexers, objects: map[Request]Object{}, indices: map[string]index{},
	}
	for name := range indexers {
		s.indices[name] = index{}
	}
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

// ByIndex returns the objects that have this value in the index, sorted by key. It
// returns an error if the store has no such index.
func (s *Store) ByIndex(name, value string) ([]Object, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	found, ok := s.indices[name]
	if !ok {
		return nil, fmt.Errorf("the store has no index %q", name)
	}
	return sorted(found[value]), nil
}

// Update stores the object. It returns the one that it replaces, or nil.
func (s *Store) Update(obj Object) (old Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := KeyOf(obj)
	old = s.deleteLocked(key)
	s.objects[key] = obj
	for name, values := range s.indexers {
		byValue := s.indices[name]
		for _, value := range values(obj) {
			if byValue[value] == nil {
				byValue[value] = map[Request]Object{}
			}
			byValue[value][key] = obj
		}
	}
	return old
}

// Delete removes the object with this key. It returns the object, or nil if there is
// none.
func (s *Store) Delete(key Request) (old Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deleteLocked(key)
}

// deleteLocked finds the object in each index by the values of its old state, because the
// new state may have different ones.
func (s *Store) deleteLocked(key Request) (old Object) {
	old = s.objects[key]
	if old == nil {
		return nil
	}
	delete(s.objects, key)
	for name, values := range s.indexers {
		byValue := s.indices[name]
		for _, value := range values(old) {
			delete(byValue[value], key)
			if len(byValue[value]) == 0 {
				delete(byValue, value) // or the index would keep every value it ever had
			}
		}
	}
	return old
}

// Replace makes items the only objects, in one step: a reader sees either all old objects
// or all new ones. It returns the old ones.
func (s *Store) Replace(items []Object) (old map[Request]Object) {
	next := NewStore(s.indexers)
	for _, obj := range items {
		next.Update(obj)
	}
	s.mu.Lock() // until now, readers saw the old objects
	defer s.mu.Unlock()
	old = s.objects
	s.objects, s.indices = next.objects, next.indices
	return old
}

// sorted returns the objects in the order of their keys. A map alone would return them in
// a different order each time.
func sorted(objects map[Request]Object) []Object {
	keys := slices.SortedFunc(maps.Keys(objects), func(a, b Request) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	all := make([]Object, len(keys))
	for i, key := range keys {
		all[i] = objects[key]
	}
	return all
}
