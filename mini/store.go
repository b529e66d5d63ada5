package mini

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Request names one object of a kind. It is the key in stores and queues, and later the
// argument of a Reconciler.
type Request = types.NamespacedName

// KeyOf returns the namespace and name of obj.
func KeyOf(obj Object) Request {
	return Request{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// IndexFunc returns the values under which an index finds an object: none, one or more.
// It must always return the same values for the same object, and must not call the
// store, which is locked at that time.
type IndexFunc func(Object) []string

// Indexers has the function of each index, by the index's name.
type Indexers map[string]IndexFunc

// index has the objects of each value. A value without objects is not in it.
type index map[string]map[Request]Object

// Store is a map of objects with indices. It may be used from several goroutines.
//
// Caveats: it does not copy objects. All readers share them, so copy an object with
// DeepCopyObject before you change it.
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

// ByIndex returns the objects that have this value in the index, sorted by key. It is an
// error if the store has no index of that name.
func (s *Store) ByIndex(name, value string) ([]Object, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	found, ok := s.indices[name]
	if !ok {
		return nil, fmt.Errorf("the store has no index %q", name)
	}
	return sorted(found[value]), nil
}

// Update stores the object, and returns the one that it replaces, or nil.
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

// Delete removes the object with this key, and returns it, or nil if there is none.
func (s *Store) Delete(key Request) (old Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deleteLocked(key)
}

// deleteLocked finds the object's place in each index by the values of the old state:
// the new one may have others.
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
				delete(byValue, value) // or it would keep every value that ever was
			}
		}
	}
	return old
}

// Replace makes items the only objects, in one step: a reader sees all old objects or
// all new ones. It returns the old ones.
func (s *Store) Replace(items []Object) (old map[Request]Object) {
	next := NewStore(s.indexers)
	for _, obj := range items {
		next.Update(obj)
	}
	s.mu.Lock() // readers had the old objects until now
	defer s.mu.Unlock()
	old = s.objects
	s.objects, s.indices = next.objects, next.indices
	return old
}

// sorted puts objects in the order of their keys. A map would return them in a different
// order each time.
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
