package workqueue

import (
	"testing"
	"time"

	"github.com/loopwright/loopwright/trace"
)

func cycle(b *testing.B, q *Queue[int]) {
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		q.Add(i)
		item, _ := q.Get()
		q.Done(item)
	}
}

// BenchmarkQueue is add, get and done of one item. It allocates once: the piece of work.
func BenchmarkQueue(b *testing.B) { cycle(b, New(Options[int]{})) }

// BenchmarkQueueRecorded is the same with the flight recorder on: three events.
func BenchmarkQueueRecorded(b *testing.B) {
	key := func(int) (string, string) { return "default", "web" }
	cycle(b, New(Options[int]{Recorder: trace.New(0), Key: key}))
}

// BenchmarkAddAfter puts 10,000 items off, each an hour or so, and cancels
// them when all are in. One operation is one item.
func BenchmarkAddAfter(b *testing.B) {
	q := NewDelaying(Options[int]{})
	defer q.ShutDown()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%20_000 < 10_000 {
			q.AddAfter(i%10_000, time.Hour+time.Duration(i*7919%1000)*time.Second)
		} else {
			q.Cancel(i % 10_000)
		}
	}
}

// BenchmarkPriority is BenchmarkQueue with the order of a priority queue.
func BenchmarkPriority(b *testing.B) { cycle(b, &NewPriority(PriorityOptions[int]{}).Queue) }

// BenchmarkPriorityGroups is the same with groups.
func BenchmarkPriorityGroups(b *testing.B) {
	names := []string{"a", "b", "c"}
	cycle(b, &NewPriority(PriorityOptions[int]{Group: func(item int) string { return names[item%3] }}).Queue)
}
