package mini

import (
	"sync"
	"time"

	"github.com/loopwright/loopwright/trace"
)

// Queue holds requests until a worker takes them.
//
// Guarantees: a request is in the queue at most once, and only one worker has it at a
// time. If you add it while a worker has it, it goes back into the queue when that worker
// is done, so no change is lost. Requests come out in the order they went in.
type Queue struct {
	Name  string
	Trace *trace.Recorder // nil records nothing

	mu         sync.Mutex // guards all below
	changed    *sync.Cond
	waiting    []Request             // in order; all dirty, none processing
	dirty      map[Request]time.Time // the requests that need work, and since when
	processing map[Request]bool      // the requests that workers have
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

// Add puts a request into the queue unless it's there already. After ShutDown, Add does
// nothing.
func (q *Queue) Add(req Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.shutDown {
		return
	}
	if _, ok := q.dirty[req]; ok {
		q.record(trace.Enqueue, req, trace.Deduplicated, 0)
		return
	}
	q.dirty[req] = time.Now()
	if q.processing[req] {
		q.record(trace.Enqueue, req, trace.Deferred, 0)
		return // Done puts it into the queue
	}
	q.record(trace.Enqueue, req, 0, 0)
	q.waiting = append(q.waiting, req)
	q.changed.Signal()
}

// Get blocks until there's a request to work on. The worker must call Done when it has
// finished. After ShutDown, Get still hands out the rest of the queue; after that,
// shutdown is true.
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
	q.record(trace.Dequeue, req, 0, time.Since(q.dirty[req]))
	delete(q.dirty, req) // now, not in Done: a change during the work means more work
	q.processing[req] = true
	return req, false
}

// Done says that the worker has finished with the request. If it was added in the
// meantime, it goes back into the queue. For a request that no worker has, Done does
// nothing.
func (q *Queue) Done(req Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.processing[req] {
		return // it may be waiting, and must not wait twice
	}
	delete(q.processing, req)
	q.record(trace.Done, req, 0, 0)
	if _, ok := q.dirty[req]; ok {
		q.waiting = append(q.waiting, req)
	}
	q.changed.Broadcast() // wakes a worker in Get, or all in ShutDownWithDrain
}

// Len returns how many requests wait. It doesn't count those that workers have.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// ShutDown makes Add do nothing from now on. Workers get the rest of the queue, and then
// Get tells them that it's the end.
func (q *Queue) ShutDown() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.shutDown = true
	q.changed.Broadcast()
}

// ShutDownWithDrain does what ShutDown does, and then blocks until workers have finished
// all requests, including those that Done puts back into the queue.
func (q *Queue) ShutDownWithDrain() {
	q.ShutDown()
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting)+len(q.processing) > 0 {
		q.changed.Wait()
	}
}

func (q *Queue) record(
	kind trace.Kind, req Request, outcome trace.Outcome, took time.Duration,
) {
	q.Trace.Record(trace.Event{
		Layer: q.Name, Kind: kind, Namespace: req.Namespace, Name: req.Name,
		Outcome: outcome, Took: took,
	})
}
