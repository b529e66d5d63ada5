package informer

import (
	"iter"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/trace"
)

// DeltaQueue stands between the reflector, which must not wait, and the consumer, which
// applies the changes. It is the Sink of the first, and hands batches of deltas to the
// second.
//
// Guarantees: applied in order to what the consumer has, the deltas lead to what
// the server has, and each is legal: nothing is added that is known, or updated or
// deleted that is not, and an object never turns into another one of the same
// name without a Deleted in between. The queue holds at most one entry for each
// key, however far the consumer is behind: an object that has changed comes once, in
// its newest state, and one that was created and deleted meanwhile does not come at
// all. One that the consumer has, and that changed and was deleted meanwhile, comes as an
// Updated, to its last state, and a Deleted. So a key takes three deltas at most, the third
// for another object of its name. Keys come in the order in which they first had news.
// With EveryEvent nothing of a watch merges, and the queue has no such bound.
//
// Caveats: there is one consumer. It must apply a batch to what it has before it takes
// the next one, because the queue looks up what it has.
//
// client-go's RealFIFO keeps every event of every key, as this one does with EveryEvent, so
// a key that changes a thousand times while the consumer is busy costs a thousand entries.
// Its older DeltaFIFO keeps as many, sorted by key.
type DeltaQueue[T Object] struct {
	options DeltaQueueOptions
	known   KnownObjects[T]
	ready   chan struct{}   // sent to by the sink's methods, received by the consumer; one, because "there is news" need not be said twice
	scratch []takenDelta[T] // used by the consumer only

	mu        sync.Mutex // guards what follows
	buffer    deltaBuffer[T]
	lastBatch []Key // what the last batch was made of; the consumer may be about to apply it
}

// KnownObjects is what the consumer has. A [Store] is one. Get is called from the sink's
// goroutine as well, with the queue's lock held; so the loop over All must not run
// under a lock that Get takes.
type KnownObjects[T Object] interface {
	Get(key Key) (T, bool)
	All() iter.Seq[T]
}

// DeltaQueueOptions may be left empty.
type DeltaQueueOptions struct {
	// BatchSize is the most entries in a batch; the default is 256.
	BatchSize int
	// EveryEvent hands over each event of a watch, in the order of the watch, across all
	// keys. It is for a consumer behind which somebody knows states that the consumer was
	// not shown, such as a controller that wrote one. Lists and resyncs still take one entry
	// for each key, behind the events that were there before them.
	//
	// The price: while the consumer is busy, the queue grows with every event.
	EveryEvent bool
	// Recorder records every change that is queued; nil is off.
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
	// Synced says that the whole first list has been handed over, with this batch
	// or before.
	Synced bool
	// Resynced says that all that Resync asked for has been handed over.
	Resynced bool
}

// NewDeltaQueue returns an empty queue for a consumer that has what known says.
func NewDeltaQueue[T Object](known KnownObjects[T], options DeltaQueueOptions) *DeltaQueue[T] {
	if options.BatchSize <= 0 {
		options.BatchSize = 256
	}
	return &DeltaQueue[T]{
		options: options, known: known, ready: make(chan struct{}, 1),
		buffer: deltaBuffer[T]{everyEvent: options.EveryEvent},
	}
}

// Ready receives when there may be something to Pop.
func (q *DeltaQueue[T]) Ready() <-chan struct{} { return q.ready }

// Len is the number of entries: of keys with something pending, if all that happens to a key
// is one entry.
func (q *DeltaQueue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.buffer.queue.len()
}

// Replace queues a whole list.
func (q *DeltaQueue[T]) Replace(items []T, resourceVersion string) {
	q.change(resourceVersion, func(d *deltaBuffer[T]) { d.replace(items) })
}

// Progress queues the news that nothing else happened up to resourceVersion.
func (q *DeltaQueue[T]) Progress(resourceVersion string) {
	q.change(resourceVersion, func(*deltaBuffer[T]) {})
}

// Resync asks for all that the consumer has to be handed over again, as Sync
// deltas. What is pending comes as what it is.
func (q *DeltaQueue[T]) Resync() {
	q.change("", func(d *deltaBuffer[T]) { d.resync, d.resyncing = true, true })
}

// Apply queues an event of a watch.
func (q *DeltaQueue[T]) Apply(event Event[T]) {
	q.mu.Lock()
	switch event.Type {
	case watch.Added, watch.Modified:
		q.buffer.put(event.Object, event.Type == watch.Added)
	case watch.Deleted:
		q.checkFreshLocked(KeyOf(event.Object))
		q.buffer.remove(event.Object)
	}
	if event.ResourceVersion != "" {
		q.buffer.version = event.ResourceVersion
	}
	if q.options.Recorder.On() {
		q.recordLocked(event) // before the consumer can take it, and records what it does
	}
	q.mu.Unlock()
	q.wake()
}

func (q *DeltaQueue[T]) recordLocked(event Event[T]) {
	key := KeyOf(event.Object)
	q.options.Recorder.Record(trace.Event{
		Kind: trace.Delta, Layer: "deltas", Object: q.options.Kind, Op: string(event.Type), Version: event.ResourceVersion,
		Namespace: key.Namespace, Name: key.Name, Count: q.buffer.count(key),
	})
}

// checkFreshLocked makes sure that an object that was called new, and is gone now, may
// come and go unseen. A watch may report an addition twice, and so call something new
// that the consumer has, or is about to have. To forget its end would leave it there
// forever. In between nothing of this key leaves the queue, so the answer stays true.
func (q *DeltaQueue[T]) checkFreshLocked(key Key) {
	node := q.buffer.queue.find(key)
	if node == nil || !node.value.fresh {
		return
	}
	_, has := q.known.Get(key)
	node.value.fresh = !has && !slices.Contains(q.lastBatch, key)
}

func (q *DeltaQueue[T]) change(resourceVersion string, change func(*deltaBuffer[T])) {
	q.mu.Lock()
	change(&q.buffer)
	if resourceVersion != "" {
		q.buffer.version = resourceVersion
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

// Pop fills the batch, and reports whether there was any news. It does not wait;
// Ready does. The batch's slice is cleared and used again.
func (q *DeltaQueue[T]) Pop(batch *Batch[T]) bool {
	clear(batch.Deltas) // lets go of the objects
	*batch = Batch[T]{Deltas: batch.Deltas[:0]}
	q.lockCompared()
	q.lastBatch = q.lastBatch[:0]
	if !q.buffer.hasNews() {
		q.mu.Unlock()
		return false
	}
	q.scratch = q.buffer.take(q.scratch[:0], q.options.BatchSize)
	for i := range q.scratch {
		q.lastBatch = append(q.lastBatch, q.scratch[i].key)
	}
	batch.Synced, batch.Resynced, batch.ResourceVersion = q.buffer.milestones()
	more := q.buffer.hasNews()
	q.mu.Unlock()
	for i := range q.scratch {
		entry := &q.scratch[i]
		known, has := q.knownBefore(entry, batch.Deltas)
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

// knownBefore returns what the consumer has when it comes to the entry: what the last of the
// deltas before it in the batch leads to, and else what the consumer has now.
func (q *DeltaQueue[T]) knownBefore(entry *takenDelta[T], deltas []Delta[T]) (T, bool) {
	if entry.behind {
		for i := len(deltas) - 1; i >= 0; i-- {
			if delta := &deltas[i]; delta.Key == entry.key {
				return delta.Object, delta.Type != DeltaDeleted
			}
		}
	}
	return q.known.Get(entry.key)
}

// lockCompared goes through what the consumer knows, if a list or a resync asked
// for it, and returns with mu held. This is the consumer's goroutine, and it has
// applied all that it was given. If another list comes meanwhile, that must be
// compared, too, before anything leaves the queue.
//
// client-go makes this comparison on the consumer's side as well: a list is one
// delta of its queue, ReplacedAll. Before its gate AtomicFIFO, the reflector's
// goroutine made it when the list came, and the queue's lock was held while the
// consumer worked, so that its store did not change.
func (q *DeltaQueue[T]) lockCompared() {
	q.mu.Lock()
	for q.buffer.vanished || q.buffer.resync {
		vanished, resync := q.buffer.vanished, q.buffer.resync
		q.buffer.vanished, q.buffer.resync = false, false
		q.mu.Unlock()
		for object := range q.known.All() {
			q.mu.Lock()
			q.buffer.compare(object, vanished, resync)
			q.mu.Unlock()
		}
		q.mu.Lock()
	}
}

// recordTombstones records the deletions that no watch has reported.
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
