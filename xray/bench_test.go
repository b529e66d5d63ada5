package xray_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/trace"
	"github.com/loopwright/loopwright/workqueue"
	"github.com/loopwright/loopwright/xray"
)

// BenchmarkSteady is a controller that gets 1,000 requests a second, and does nothing with them:
// the machinery is all that there is. It reports the processor time of a request, and how long
// the slowest of a hundred waits for its reconcile. A viewer reads in the same process, so its
// processor time counts, too.
//
//	go test -run '^$' -bench Steady -benchtime 5000x -count 6 ./xray
func BenchmarkSteady(b *testing.B) {
	b.Run("off", func(b *testing.B) { steady(b, nil, 0) })
	b.Run("recorded", func(b *testing.B) { steady(b, trace.New(0), 0) })
	b.Run("viewed", func(b *testing.B) { steady(b, trace.New(0), 1) })
}

func steady(b *testing.B, recorder *trace.Recorder, viewers int) {
	ctx, stop := context.WithCancel(b.Context())
	var running sync.WaitGroup
	if viewers > 0 {
		server := httptest.NewServer(xray.New(recorder))
		defer server.Close()
		for range viewers {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/events", nil)
			must(b, err)
			response, err := http.DefaultClient.Do(request)
			must(b, err)
			running.Go(func() { _, _ = io.Copy(io.Discard, response.Body) })
		}
	}
	added, waited := make([]time.Time, b.N), make([]time.Duration, b.N)
	var left sync.WaitGroup
	left.Add(b.N)
	c, err := controller.NewUnmanaged("measured", controller.Options{
		Recorder: recorder, Kind: "Website", Logger: logr.Discard(), SkipNameValidation: new(true),
		Reconciler: reconcile.Func(func(
			_ context.Context, r reconcile.Request,
		) (reconcile.Result, error) {
			var i int
			_, _ = fmt.Sscan(r.Name, &i)
			waited[i] = time.Since(added[i])
			left.Done()
			return reconcile.Result{}, nil
		}),
	})
	must(b, err)
	queues := make(chan workqueue.TypedRateLimitingInterface[reconcile.Request], 1)
	must(b, c.Watch(source(func(q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		queues <- q
	})))
	running.Go(func() { _ = c.Start(ctx) })
	queue := <-queues

	before, begin := processorTime(b), time.Now()
	for i := range b.N {
		time.Sleep(time.Until(begin.Add(time.Duration(i) * time.Millisecond)))
		added[i] = time.Now()
		queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: fmt.Sprint(i)}})
	}
	left.Wait()
	b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns")
	slices.Sort(waited)
	b.ReportMetric(float64(waited[b.N*99/100]), "p99-ns")
	b.ReportMetric(0, "ns/op")
	stop()
	running.Wait()
}

type source func(workqueue.TypedRateLimitingInterface[reconcile.Request])

func (s source) Start(
	_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) error {
	s(queue)
	return nil
}

// processorTime is what the process has used so far.
func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
