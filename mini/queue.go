package mini

import (
	"sync"
	"time"

	"github.com/loopwright/loopwright/trace"
)

// Queue holds requests that wait for a worker.
//
// Guarantees: a request waits at most once, however often it is added, and is with at
// most one worker at a time. One that is added while a worker has it waits again when
// the worker is done: no change is lost. Requests come out in the order in which they
// were added first.
type Queue struct {
	Name  string
	Trace *trace.Recorder // nil records nothing

	mu         sync.Mutex // guards all below
	changed    *sync.Cond
	waiting    []Request             // in order: all are dirty, none is being processed
	dirty      map[Request]time.Time // all that need a worker, and since when
	processing map[Request]bool      // all that a worker has
	shutDown   bool
}

// NewQueue returns an empty queue.
func NewQueue(name string) *Queue {
	q := &Queue{
		Name: name, dirty: map[Request]time.Time{}, processing: map[Request]bool{},
	}
	q.changed = sync.NewCond(&q.mu)
	return q
}

// Add asks for a worker. After ShutDown it does nothing.
func (q *Queue) Add(req Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.shutDown {
		return
	}
	if _, ok := q.dirty[req]; ok {
		q.record(trace.Enqueue, req, trace.Deduplicated)
		return
	}
	q.dirty[req] = time.Now()
	if q.processing[req] {
		q.record(trace.Enqueue, req, trace.Deferred)
		return // Done will make it wait
	}
	q.record(trace.Enqueue, req, 0)
	q.waiting = append(q.waiting, req)
	q.changed.Signal()
}

// Get waits for a request. The worker must call Done when it is finished with it. After
// ShutDown it returns what is still waiting, and then shutdown.
func (q *Queue) Get() (req Request, shutdown bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) == 0 && !q.shutDown {
		q.changed.Wait()
	}
	if len(q.waiting) == 0 {
		return Request{}, true
	}
	req, q.waiting = q.waiting[0], q.waiting[1:]
	q.Trace.Record(trace.Event{
		Layer: q.Name, Kind: trace.Dequeue, Namespace: req.Namespace, Name: req.Name,
		Took: time.Since(q.dirty[req]),
	})
	delete(q.dirty, req) // before the work begins: what changes from now on asks for more work
	q.processing[req] = true
	return req, false
}

// Done gives a request back. If it was added in the meantime, it waits again.
func (q *Queue) Done(req Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.processing, req)
	q.record(trace.Done, req, 0)
	if _, ok := q.dirty[req]; ok {
		q.waiting = append(q.waiting, req)
	}
	q.changed.Broadcast() // to a worker in Get, and to ShutDownWithDrain
}

// Len returns how many requests wait. Those that a worker has do not count.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// ShutDown refuses what is added from now on. Workers get the rest, and then the end.
func (q *Queue) ShutDown() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.shutDown = true
	q.changed.Broadcast()
}

// ShutDownWithDrain is ShutDown, and waits until workers are done with all that was
// added.
func (q *Queue) ShutDownWithDrain() {
	q.ShutDown()
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting)+len(q.processing) > 0 {
		q.changed.Wait()
	}
}

func (q *Queue) record(kind trace.Kind, req Request, outcome trace.Outcome) {
	q.Trace.Record(trace.Event{
		Layer: q.Name, Kind: kind, Namespace: req.Namespace, Name: req.Name, Outcome: outcome,
	})
}
