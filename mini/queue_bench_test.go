package mini_test

import (
	"testing"

	"github.com/loopwright/loopwright/mini"
)

// One request through the queue: what each reconcile pays at least.
func BenchmarkQueue(b *testing.B) {
	q := mini.NewQueue("bench")
	req := request("a")
	b.ReportAllocs()
	for b.Loop() {
		q.Add(req)
		q.Get()
		q.Done(req)
	}
}

// An Add of a request that waits already: what a busy object's changes cost.
func BenchmarkQueueDeduplicates(b *testing.B) {
	q := mini.NewQueue("bench")
	req := request("a")
	q.Add(req)
	b.ReportAllocs()
	for b.Loop() {
		q.Add(req)
	}
}
