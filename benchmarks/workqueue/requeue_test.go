package workqueue

import (
	"testing"
	"time"

	upstream "k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/loopwright/loopwright/workqueue"
)

type retrying = upstream.TypedRateLimitingInterface[request]

// The ladders begin at an hour, so that nothing comes due while we measure.
var retryingPeers = []struct {
	name string
	make func() retrying
}{
	{"ours", func() retrying {
		return workqueue.NewRateLimiting(&workqueue.Exponential[request]{Base: time.Hour, Limit: time.Hour}, workqueue.Options[request]{})
	}},
	{"client-go", func() retrying {
		return upstream.NewTypedRateLimitingQueue(upstream.NewTypedItemExponentialFailureRateLimiter[request](time.Hour, time.Hour))
	}},
	{"controller-runtime", func() retrying {
		return priorityqueue.New("", func(o *priorityqueue.Opts[request]) {
			o.RateLimiter = upstream.NewTypedItemExponentialFailureRateLimiter[request](time.Hour, time.Hour)
		})
	}},
}

// BenchmarkRequeue has one of 10,000 items fail, and forgets its failure. One
// operation is both.
func BenchmarkRequeue(b *testing.B) {
	keys := Requests(10_000)
	for _, peer := range retryingPeers {
		b.Run(peer.name, func(b *testing.B) {
			q := peer.make()
			defer q.ShutDown()
			for _, key := range keys {
				q.AddRateLimited(key)
			}
			takenIn(q)
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				q.AddRateLimited(keys[i%len(keys)])
				q.Forget(keys[i%len(keys)])
			}
			takenIn(q)
		})
	}
}
