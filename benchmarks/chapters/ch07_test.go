package chapters

import (
	"testing"
	"time"

	upstream "k8s.io/client-go/util/workqueue"

	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/workqueue"
)

// delayQueue is a queue whose items can wait for their time.
type delayQueue interface {
	queue
	AddAfter(req mini.Request, delay time.Duration)
}

// mini sets one of Go's timers for each item that's put off. Does a million of them make the next one slow?
func Benchmark07(b *testing.B) {
	measure := func(b *testing.B, q delayQueue, n int) {
		defer q.ShutDown()
		items := requests(n)
		for i, item := range items {
			q.AddAfter(item, time.Hour+time.Duration(i)*time.Millisecond)
		}
		takenIn(q)
		// In no order, and each a little earlier than before: an item keeps its earliest time.
		for i := 0; b.Loop(); i++ {
			q.AddAfter(items[i*7919%n], time.Hour-time.Duration(i)*20*time.Microsecond)
		}
	}
	compare(b, "AddAfter beside those that wait", "waiting", []int{1_000, 1_000_000},
		peer{"mini", func(b *testing.B, n int) { measure(b, mini.NewDelayQueue("bench"), n) }},
		peer{"library", func(b *testing.B, n int) { measure(b, workqueue.NewDelaying(workqueue.Options[mini.Request]{}), n) }},
		peer{"client-go", func(b *testing.B, n int) { measure(b, upstream.NewTypedDelayingQueue[mini.Request](), n) }},
	)
}

// takenIn waits until a queue in which nothing is due has all that it was given: client-go's hands delays to its goroutine
// through a channel, in order.
func takenIn(q delayQueue) {
	q.AddAfter(mini.Request{}, time.Nanosecond)
	last, _ := q.Get()
	q.Done(last)
}
