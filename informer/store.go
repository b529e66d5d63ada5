package informer

import (
	"iter"
	"sync"
	"sync/atomic"

	"github.com/loopwright/loopwright/trace"
)

// Store keeps objects by key and by index. It is the cache from which
// controllers read, and knows nothing of the network.
//
// Guarantees: all methods may be called from any goroutine. A write is seen by
// every read that begins after it returns. An iteration shows one moment: what
// the store held when it began, whatever is written meanwhile, even by the body
// of the loop. Reads wait for a single write, never for a Replace, an AddIndex or
// another read; a write never waits for an iteration. Iteration is in the order
// of slots: the same history of writes gives the same order. Memory and the cost
// of an iteration follow the number of objects, down as well as up; each write
// does a small part of the work, and none does all of it.
//
// Caveats: objects are shared, not copied. Nobody may change an object that is
// or was in a store; copy it first. While an iteration is under way, the first
// write to each chunk of 64 objects copies the chunk, and the first deletion that
// changes the list of an index value copies the list: 4 bytes for each of its
// objects. Index functions run while other writers wait, so they must not write to
// the store.
//
// client-go's thread-safe store holds its lock while it rebuilds all indices and
// while it copies a list. So its readers wait for a relist, and its writer waits for
// the readers.
type Store[T Object] struct {
	options StoreOptions

	writing sync.Mutex // held by a writer from beginning to end; guards scratch
	scratch [][]string // index values of the object that is being written

	mu         sync.RWMutex        // guards what follows; changed only with writing held, too
	now        *generation[T]      // what readers see
	indexFuncs []namedIndexFunc[T] // their position is the one in table.indices
}

// StoreOptions may be left empty.
type StoreOptions struct {
	// Recorder records every change; nil is off.
	Recorder *trace.Recorder
	// Kind is the objects' kind, for the recorder.
	Kind string
}

// generation is a table together with the number of its readers that hold no lock.
//
// A reader counts itself in readers, and marks the generation as seen. A writer
// that finds no readers changes the table in place, with epoch 0. Otherwise, if
// it was seen since the epoch began, a new epoch begins: everything that exists now
// belongs to readers, and is copied once, before it changes.
type generation[T Object] struct {
	*objectTable[T]
	readers atomic.Int64
	seen    atomic.Bool
	epoch   uint64 // guarded by Store.mu
}

// NewStore returns an empty store without indices.
func NewStore[T Object](options StoreOptions) *Store[T] {
	return &Store[T]{options: options, now: &generation[T]{objectTable: newObjectTable[T](0, 0)}}
}

// Get returns the object of that key.
func (s *Store[T]) Get(key Key) (object T, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.now.get(key)
}

// Len is the number of objects.
func (s *Store[T]) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.now.len()
}

// All iterates over the objects as they are when the loop begins.
func (s *Store[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) { s.walk(yield) }
}

func (s *Store[T]) walk(yield func(T) bool) {
	s.mu.RLock()
	from, chunks, count := s.now.join(), s.now.chunks, s.now.len()
	s.mu.RUnlock()
	defer from.leave() // even when the body of the loop panics
	each(chunks, count, yield)
}

// Put adds the object. If there is one with the same key, Put replaces it, and
// returns the old one.
func (s *Store[T]) Put(object T) (old T, existed bool) {
	s.writing.Lock()
	defer s.writing.Unlock()
	key, values := KeyOf(object), s.valuesWriting(object)
	s.mu.Lock()
	old, existed = s.now.put(key, object, values, s.now.epochLocked())
	count := s.now.len()
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

// Delete removes the object of that key, and returns it.
func (s *Store[T]) Delete(key Key) (old T, existed bool) {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	old, existed = s.now.delete(key, s.now.epochLocked())
	count := s.now.len()
	s.mu.Unlock()
	if existed && s.options.Recorder.On() {
		s.record("delete", key, "", count) // the deletion's own version is not known here
	}
	return old, existed
}

// Replace makes the store hold exactly these objects. Readers see all of the old
// ones or all of the new ones. If a key comes twice, the last object counts.
//
// The new table is built beside the old one, so for a moment there are two. Readers
// wait only until a pointer is exchanged.
func (s *Store[T]) Replace(objects []T) {
	s.writing.Lock()
	defer s.writing.Unlock()
	fresh := &generation[T]{objectTable: newObjectTable[T](len(objects), len(s.indexFuncs))}
	for _, object := range objects {
		fresh.put(KeyOf(object), object, s.valuesWriting(object), 0)
	}
	s.mu.Lock()
	s.now = fresh
	s.mu.Unlock()
	if s.options.Recorder.On() {
		s.record("replace", Key{}, "", fresh.len())
	}
}

// valuesWriting calls the index functions, with slices that are used again for
// the next object. It is called with writing held.
func (s *Store[T]) valuesWriting(object T) [][]string {
	for i, indexer := range s.indexFuncs {
		s.scratch[i] = indexer.values(s.scratch[i][:0], object)
	}
	return s.scratch
}

// join is called with mu held, for reading at least.
func (g *generation[T]) join() *generation[T] {
	g.readers.Add(1)
	if !g.seen.Load() {
		g.seen.Store(true)
	}
	return g
}

func (g *generation[T]) leave() { g.readers.Add(-1) }

// epochLocked is the epoch for a write: what is older must be copied.
func (g *generation[T]) epochLocked() uint64 {
	if g.readers.Load() == 0 {
		return 0
	}
	if g.seen.Swap(false) {
		g.epoch++
	}
	return g.epoch
}

func (s *Store[T]) record(op string, key Key, version string, count int) {
	s.options.Recorder.Record(trace.Event{
		Kind: trace.Index, Layer: "store", Object: s.options.Kind, Op: op,
		Namespace: key.Namespace, Name: key.Name, Version: version, Count: count,
	})
}
