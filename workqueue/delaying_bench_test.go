package workqueue

import (
	"testing"
	"time"
)

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
