package workqueue

import (
	"testing"

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

// BenchmarkQueue is add, get and done of one item. No allocation.
func BenchmarkQueue(b *testing.B) { cycle(b, New(Options[int]{})) }

// BenchmarkQueueRecorded is the same with the flight recorder on: three events.
func BenchmarkQueueRecorded(b *testing.B) {
	key := func(int) (string, string) { return "default", "web" }
	cycle(b, New(Options[int]{Recorder: trace.New(0), Key: key}))
}
