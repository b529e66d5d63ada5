package informer

import (
	"iter"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/trace"
)

// Key names an object within its collection: namespace and name. The namespace of a cluster-scoped
// object is empty.
//
// client-go's keys are strings, "namespace/name". A caller builds one for every lookup, and a
// receiver splits it again. A struct costs no allocation, and there's nothing to parse.
type Key = types.NamespacedName

// KeyOf returns the object's key. It shares the object's strings.
func KeyOf[T Object](object T) Key {
	return Key{Namespace: object.GetNamespace(), Name: object.GetName()}
}

// Store keeps objects by key and by index. It's the cache that controllers read from, and knows
// nothing of the network.
//
// Guarantees: all methods may be called from any goroutine. A write is seen by every read that
// begins after it returns. An iteration shows one moment: the contents of the store when it began,
// whatever is written meanwhile, even by the body of the loop. Reads wait for a single write, never
// for a Replace or an AddIndex. Get allocates nothing; an iteration allocates one slice of
// pointers.
//
// Caveats: objects are shared, not copied. Don't change an object that is or was in a store; copy
// it first. An object that is changed all the same may stay in an index until the next Replace.
// Iterations come in no particular order. Index functions run while the store is locked, so they
// must not use it.
//
// client-go's thread-safe store holds its lock while it rebuilds all indices, so its readers wait
// for a relist. Here Replace builds new maps beside the old ones.
type Store[T Object] struct {
	options StoreOptions

	writing sync.Mutex // held by a writer from beginning to end

	mu     sync.RWMutex // guards what follows; changed only with writing held, too
	stored *contents[T]
}

// StoreOptions are the options of a Store. You can leave every field empty.
type StoreOptions struct {
	// Recorder records every change; nil is off.
	Recorder *trace.Recorder
	// Kind is the objects' kind, for the recorder.
	Kind string
}

// contents are the contents of a store.
type contents[T Object] struct {
	objects map[Key]T
	indices map[string]*index[T]
}

// NewStore returns an empty store without indices.
func NewStore[T Object](options StoreOptions) *Store[T] {
	return &Store[T]{options: options,
		stored: &contents[T]{objects: map[Key]T{}, indices: map[string]*index[T]{}}}
}

// Get returns the object with that key.
func (s *Store[T]) Get(key Key) (object T, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	object, ok = s.stored.objects[key]
	return object, ok
}

// Len is the number of objects.
func (s *Store[T]) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.stored.objects)
}

// All iterates over the objects as they are when the loop begins.
func (s *Store[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		s.mu.RLock()
		objects := slices.AppendSeq(make([]T, 0, len(s.stored.objects)), maps.Values(s.stored.objects))
		s.mu.RUnlock()
		slices.Values(objects)(yield)
	}
}

// Put adds the object. If there's one with the same key, Put replaces it, and returns the old one.
func (s *Store[T]) Put(object T) (old T, existed bool) {
	s.writing.Lock()
	defer s.writing.Unlock()
	key := KeyOf(object)
	s.stored.prepareOld(key)
	s.stored.prepareNew(object)
	s.mu.Lock()
	old, existed = s.stored.put(key, object)
	count := len(s.stored.objects)
	s.mu.Unlock()
	if s.options.Recorder.On() {
		op := "add"
		if existed {
			op = "update"
		}
		s.record(op, key, object.GetResourceVersion(), count)
	}
	return old, existed
}

// Delete removes the object with that key, and returns it.
func (s *Store[T]) Delete(key Key) (old T, existed bool) {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.stored.prepareOld(key)
	s.mu.Lock()
	old, existed = s.stored.delete(key)
	count := len(s.stored.objects)
	s.mu.Unlock()
	if existed && s.options.Recorder.On() {
		s.record("delete", key, "", count) // the deletion's own version isn't known here
	}
	return old, existed
}

// Replace makes the store hold exactly these objects. Readers see all of the old ones or all of the
// new ones. If a key occurs twice, the last object counts.
//
// The new contents are built beside the old ones, so for a moment both exist. Readers wait only
// until a pointer is exchanged.
func (s *Store[T]) Replace(objects []T) {
	fresh := make(map[Key]T, len(objects))
	for _, object := range objects {
		fresh[KeyOf(object)] = object
	}
	s.exchange(fresh)
}

// exchange is Replace with a map, which then belongs to the store. It's a new one even if nothing
// has changed, because a Go map never shrinks.
func (s *Store[T]) exchange(objects map[Key]T) {
	s.writing.Lock()
	defer s.writing.Unlock()
	fresh := &contents[T]{objects: objects, indices: map[string]*index[T]{}}
	for name, index := range s.stored.indices {
		fresh.indices[name] = newIndex(index.function, objects)
	}
	s.mu.Lock()
	s.stored = fresh
	s.mu.Unlock()
	if s.options.Recorder.On() {
		s.record("replace", Key{}, "", len(objects))
	}
}

func (s *Store[T]) record(op string, key Key, version string, count int) {
	s.options.Recorder.Record(trace.Event{
		Kind: trace.Index, Layer: "store", Object: s.options.Kind, Op: op,
		Namespace: key.Namespace, Name: key.Name, Version: version, Count: count,
	})
}

// prepareOld calls the index functions for the object that put or delete will remove. A
// function may take its time, or panic: readers aren't locked out yet, and nothing has
// changed.
func (c *contents[T]) prepareOld(key Key) {
	old, existed := c.objects[key]
	for _, index := range c.indices {
		if index.was = index.was[:0]; existed {
			index.was = index.function(index.was, old)
		}
	}
}

// prepareNew does the same for the object that put will add.
func (c *contents[T]) prepareNew(object T) {
	for _, index := range c.indices {
		index.next = index.function(index.next[:0], object)
	}
}

// put uses was and next of each index, which prepareOld and prepareNew have set.
func (c *contents[T]) put(key Key, object T) (old T, existed bool) {
	old, existed = c.objects[key]
	c.objects[key] = object
	for _, index := range c.indices {
		if existed {
			index.remove(old, index.was)
		}
		index.add(object, index.next)
	}
	return old, existed
}

func (c *contents[T]) delete(key Key) (old T, existed bool) {
	old, existed = c.objects[key]
	if existed {
		delete(c.objects, key)
		for _, index := range c.indices {
			index.remove(old, index.was)
		}
	}
	return old, existed
}
