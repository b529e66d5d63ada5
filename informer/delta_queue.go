package informer

import (
	"iter"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/trace"
)

// DeltaQueue stands between the reflector, which must not wait, and the one who
// applies the changes. It is the Sink of the first, and hands batches of deltas to
// the second.
//
// Guarantees: applied in order to what the consumer has, the deltas lead to what
// the server has, and each is legal: nothing is added that is known, or updated or
// deleted that is not, and an object never turns into another one of the same
// name without a Deleted in between. The queue holds at most one entry for each
// key, however far the consumer is behind: what it has not been told of, it is
// told of once, in its newest state. What came and went meanwhile, it is not told
// of at all. Keys come in the order in which they first had news.
//
// Caveats: there is one consumer. It must apply a batch to what it knows before
// it takes the next one, because the queue asks it what it knows.
//
// client-go's RealFIFO keeps every event of every key, so a key that changes a
// thousand times while the consumer is busy costs a thousand entries. Its older
// DeltaFIFO keeps as many, sorted by key.
type DeltaQueue[T Object] struct {
	options DeltaQueueOptions
	known   Known[T]
	ready   chan struct{} // sent to by the sink's methods, received by the consumer; one, because "there is news" need not be said twice
	scratch []taken[T]    // used by the consumer only

	mu     sync.Mutex // guards what follows
	deltas deltas[T]
	handed []Key // what the last batch was made of; the consumer may be about to apply it
}

// Known is what the consumer has. A [Store] is one. Get is called from the sink's
// goroutine as well, with the queue's lock held; so the loop over All must not run
// under a lock that Get takes.
type Known[T Object] interface {
	Get(key Key) (T, bool)
	All() iter.Seq[T]
}

// DeltaQueueOptions may be left empty.
type DeltaQueueOptions struct {
	// BatchSize is the most keys in a batch; the default is 256.
	BatchSize int
	// Recorder is told about every change that is queued; nil is off.
	Recorder *trace.Recorder
	// Kind is the objects' kind, for the recorder.
	Kind string
}

// Batch is what Pop hands over.
type Batch[T Object] struct {
	Deltas []Delta[T]
	// ResourceVersion is the moment that the consumer has reached when it has
	// applied the batch. It is empty if there is more to come.
	ResourceVersion string
	// Synced tells that the whole first list has been handed over, with this batch
	// or before.
	Synced bool
	// Resynced tells that all that Resync asked for has been handed over.
	Resynced bool
}

// NewDeltaQueue returns an empty queue for a consumer that has what known says.
func NewDeltaQueue[T Object](known Known[T], options DeltaQueueOptions) *DeltaQueue[T] {
	if options.BatchSize <= 0 {
		options.BatchSize = 256
	}
	return &DeltaQueue[T]{options: options, known: known, ready: make(chan struct{}, 1)}
}

// Ready receives when there may be something to Pop.
func (q *DeltaQueue[T]) Ready() <-chan struct{} { return q.ready }

// Len is the number of keys with something pending.
func (q *DeltaQueue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.deltas.queue.len()
}

// Replace queues a whole list.
func (q *DeltaQueue[T]) Replace(items []T, resourceVersion string) {
	q.change(resourceVersion, func(d *deltas[T]) { d.replace(items) })
}

// Progress queues the news that nothing else happened up to resourceVersion.
func (q *DeltaQueue[T]) Progress(resourceVersion string) {
	q.change(resourceVersion, func(*deltas[T]) {})
}

// Resync asks for all that the consumer has to be handed over again, as Sync
// deltas. What is pending comes as what it is.
func (q *DeltaQueue[T]) Resync() {
	q.change("", func(d *deltas[T]) { d.resync, d.resyncing = true, true })
}

// Apply queues an event of a watch.
func (q *DeltaQueue[T]) Apply(event Event[T]) {
	q.mu.Lock()
	switch event.Type {
	case watch.Added, watch.Modified:
		q.deltas.put(event.Object, event.Type == watch.Added)
	case watch.Deleted:
		q.checkFreshLocked(KeyOf(event.Object))
		q.deltas.remove(event.Object, false)
	}
	if event.ResourceVersion != "" {
		q.deltas.version = event.ResourceVersion
	}
	pending := 0
	if q.options.Recorder.On() {
		pending = q.deltas.count(KeyOf(event.Object))
	}
	q.mu.Unlock()
	q.wake()
	if q.options.Recorder.On() {
		q.options.Recorder.Record(trace.Event{
			Kind: trace.Delta, Layer: "deltas", Object: q.options.Kind, Op: string(event.Type), Version: event.ResourceVersion,
			Namespace: event.Object.GetNamespace(), Name: event.Object.GetName(), Count: pending,
		})
	}
}

// checkFreshLocked makes sure that an object that was called new, and is gone now, may
// come and go unseen. A watch that is told twice calls something new that the
// consumer has, or is about to have; to forget its end would leave it there for ever.
// In between nothing of this key leaves the queue, so the answer stays true.
func (q *DeltaQueue[T]) checkFreshLocked(key Key) {
	place := q.deltas.queue.find(key)
	if place == nil || !place.value.fresh {
		return
	}
	_, has := q.known.Get(key)
	place.value.fresh = !has && !slices.Contains(q.handed, key)
}

func (q *DeltaQueue[T]) change(resourceVersion string, change func(*deltas[T])) {
	q.mu.Lock()
	change(&q.deltas)
	if resourceVersion != "" {
		q.deltas.version = resourceVersion
	}
	q.mu.Unlock()
	q.wake()
}

func (q *DeltaQueue[T]) wake() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// Pop fills the batch, and tells whether there was anything to fill in. It does
// not wait; Ready does. The batch's slice is cleared and used again.
func (q *DeltaQueue[T]) Pop(batch *Batch[T]) bool {
	clear(batch.Deltas) // lets go of the objects
	*batch = Batch[T]{Deltas: batch.Deltas[:0]}
	q.lockCompared()
	q.handed = q.handed[:0]
	if !q.deltas.news() {
		q.mu.Unlock()
		return false
	}
	q.scratch = q.deltas.take(q.scratch[:0], q.options.BatchSize)
	for i := range q.scratch {
		q.handed = append(q.handed, q.scratch[i].key)
	}
	batch.Synced, batch.Resynced, batch.ResourceVersion = q.deltas.milestones()
	more := q.deltas.news()
	q.mu.Unlock()
	for i := range q.scratch {
		entry := &q.scratch[i]
		known, has := q.known.Get(entry.key)
		batch.Deltas = entry.deltas(batch.Deltas, entry.key, known, has)
	}
	clear(q.scratch) // lets go of the objects
	if q.options.Recorder.On() {
		q.recordTombstones(batch.Deltas)
	}
	if more {
		q.wake()
	}
	return true
}

// lockCompared goes through what the consumer knows, if a list or a resync asked
// for it, and returns with mu held. This is the consumer's goroutine, and it has
// applied all that it was given. If another list comes meanwhile, that must be
// compared, too, before anything leaves the queue.
//
// client-go makes this comparison on the consumer's side as well: a list is one
// delta of its queue, ReplacedAll. Before its gate AtomicFIFO, the reflector's
// goroutine made it when the list came, and the queue's lock was held while the
// consumer worked, so that its store stood still.
func (q *DeltaQueue[T]) lockCompared() {
	q.mu.Lock()
	for q.deltas.vanished || q.deltas.resync {
		vanished, resync := q.deltas.vanished, q.deltas.resync
		q.deltas.vanished, q.deltas.resync = false, false
		q.mu.Unlock()
		for object := range q.known.All() {
			q.mu.Lock()
			q.deltas.known(object, vanished, resync)
			q.mu.Unlock()
		}
		q.mu.Lock()
	}
}

// recordTombstones tells of the deletions that no watch has told of.
func (q *DeltaQueue[T]) recordTombstones(deltas []Delta[T]) {
	for _, delta := range deltas {
		if delta.FinalStateUnknown {
			q.options.Recorder.Record(trace.Event{
				Kind: trace.Delta, Layer: "deltas", Object: q.options.Kind, Op: "tombstone", Version: delta.Object.GetResourceVersion(),
				Namespace: delta.Key.Namespace, Name: delta.Key.Name, Count: 1,
			})
		}
	}
}
