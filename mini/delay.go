package mini

import (
	"sync"
	"time"

	"github.com/loopwright/loopwright/trace"
)

// DelayQueue is a Queue with alarm clocks.
type DelayQueue struct {
	*Queue

	mu      sync.Mutex // guards all below
	alarms  map[Request]*alarm
	stopped bool
}

// alarm will add a request at a time.
type alarm struct {
	at    time.Time
	timer *time.Timer
}

// NewDelayQueue returns an empty queue.
func NewDelayQueue(name string) *DelayQueue {
	return &DelayQueue{Queue: NewQueue(name), alarms: map[Request]*alarm{}}
}

// AddAfter adds the request when the delay is over. A request has one alarm, the
// earliest that was asked for; an Add in the meantime does not take it away.
func (q *DelayQueue) AddAfter(req Request, delay time.Duration) {
	if delay <= 0 {
		q.Add(req)
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	at, earlier := time.Now().Add(delay), q.alarms[req]
	if q.stopped || earlier != nil && !at.Before(earlier.at) {
		return
	}
	event := trace.Event{
		Layer: q.Name, Kind: trace.Delay, Namespace: req.Namespace, Name: req.Name, Took: delay,
	}
	if earlier != nil {
		earlier.timer.Stop() // if it is too late for that, ring finds another alarm in its place
		event.Outcome = trace.Replaced
	}
	q.Trace.Record(event)
	a := &alarm{at: at}
	a.timer = time.AfterFunc(delay, func() { q.ring(req, a) })
	q.alarms[req] = a
}

func (q *DelayQueue) ring(req Request, a *alarm) {
	q.mu.Lock()
	current := q.alarms[req] == a
	if current {
		delete(q.alarms, req)
	}
	q.mu.Unlock()
	if current {
		q.Add(req)
	}
}

// ShutDown stops all alarms, and shuts the queue down.
func (q *DelayQueue) ShutDown() {
	q.mu.Lock()
	q.stopped = true
	for _, a := range q.alarms {
		a.timer.Stop()
	}
	clear(q.alarms)
	q.mu.Unlock()
	q.Queue.ShutDown()
}

// RetryQueue is a DelayQueue that counts failures: each one of a request makes its next
// delay longer.
type RetryQueue struct {
	*DelayQueue
	Backoff Backoff // set it before the first use

	mu       sync.Mutex      // guards failures
	failures map[Request]int // in a row, of each request
}

// NewRetryQueue returns an empty queue whose delays double from 5 ms to 1000 s.
func NewRetryQueue(name string) *RetryQueue {
	return &RetryQueue{
		DelayQueue: NewDelayQueue(name),
		Backoff:    Backoff{Base: 5 * time.Millisecond, Max: 1000 * time.Second},
		failures:   map[Request]int{},
	}
}

// AddRateLimited counts a failure, and adds the request after the delay that follows
// from all of its failures so far.
func (q *RetryQueue) AddRateLimited(req Request) {
	q.mu.Lock()
	q.failures[req]++
	delay := q.Backoff.After(q.failures[req])
	q.mu.Unlock()
	q.AddAfter(req, delay)
}

// Forget says that the request has succeeded: its next failure is the first one again.
func (q *RetryQueue) Forget(req Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.failures, req)
}

// NumRequeues returns how many times in a row the request has failed.
func (q *RetryQueue) NumRequeues(req Request) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.failures[req]
}
