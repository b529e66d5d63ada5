package mini

import (
	"sync"
	"time"

	"github.com/loopwright/loopwright/trace"
)

// DelayQueue is a Queue to which you can add requests after a delay.
//
// Guarantees: a request has at most one alarm, at the earliest of the times that you've
// given. Add and Get don't touch the alarm, so it still rings.
type DelayQueue struct {
	*Queue

	mu     sync.Mutex // guards alarms
	alarms map[Request]alarm
}

// alarm adds a request when its time has come. After ShutDown it still rings, but Add
// does nothing.
type alarm struct {
	at    time.Time
	timer *time.Timer
}

// NewDelayQueue returns an empty queue.
func NewDelayQueue(name string) *DelayQueue {
	return &DelayQueue{Queue: NewQueue(name), alarms: map[Request]alarm{}}
}

// AddAfter adds the request when the delay is over. If the request already has an alarm,
// the earlier of the two counts.
func (q *DelayQueue) AddAfter(req Request, delay time.Duration) {
	if delay <= 0 {
		q.Add(req)
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	var outcome trace.Outcome
	at := time.Now().Add(delay)
	if old, exists := q.alarms[req]; exists {
		if !at.Before(old.at) {
			return
		}
		old.timer.Stop() // if this is too late, both ring: one reconcile too many
		outcome = trace.Replaced
	}
	q.alarms[req] = alarm{at, time.AfterFunc(delay, func() { q.ring(req) })}
	q.record(trace.Delay, req, outcome, delay)
}

func (q *DelayQueue) ring(req Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.alarms, req)
	q.Add(req)
}

// RetryQueue is a DelayQueue that counts failures. The delay before a retry doubles with
// each failure of the same request in a row.
type RetryQueue struct {
	*DelayQueue
	Backoff Backoff // set it before the first use

	mu       sync.Mutex      // guards failures
	failures map[Request]int // in a row
}

// NewRetryQueue returns an empty queue with delays from 5 ms to 1000 s.
func NewRetryQueue(name string) *RetryQueue {
	return &RetryQueue{
		DelayQueue: NewDelayQueue(name),
		Backoff:    Backoff{Base: 5 * time.Millisecond, Max: 1000 * time.Second},
		failures:   map[Request]int{},
	}
}

// AddRateLimited counts a failure of the request, and adds the request after a delay that
// grows with the number of failures.
func (q *RetryQueue) AddRateLimited(req Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.failures[req]++
	q.AddAfter(req, q.Backoff.After(q.failures[req]))
}

// Forget sets the request's count of failures back to 0. Call it after a success, or if
// you won't retry: otherwise the request stays in memory forever.
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
