package controller

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/manager/metrics"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// The tests of this package run in a synctest bubble: time passes when everybody waits, and a
// goroutine that is left at the end fails the test.

func req(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: name}}
}

// running is a controller that runs, and what the test needs of it.
type running struct {
	t *testing.T
	*controlLoop[reconcile.Request]
	queue chan workqueue.TypedRateLimitingInterface[reconcile.Request] // what its source was given
	stop  context.CancelFunc
	ended chan error // Start's answer
}

// start starts a controller that has the test's name and one source. It is stopped at the end of
// the test at the latest.
func start(t *testing.T, options Options) (*running, workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	t.Helper()
	r := prepare(t, options)
	r.begin()
	synctest.Wait()
	return r, <-r.queue
}

func prepare(t *testing.T, options Options) *running {
	t.Helper()
	if options.Logger.GetSink() == nil {
		options.Logger = logr.FromSlogHandler(slog.NewTextHandler(io.Discard, nil))
	}
	for _, metric := range []interface{ DeletePartialMatch(prometheus.Labels) int }{
		reconcileTotal, reconcileErrors, terminalErrors, reconcilePanics, reconcileTimeouts, maxConcurrent, activeWorkers, reconcileTime, givenUp,
	} {
		metric.DeletePartialMatch(prometheus.Labels{"controller": t.Name()}) // of an earlier run of the test
	}
	c, err := NewUnmanaged(t.Name(), options)
	require.NoError(t, err)
	r := &running{t: t, controlLoop: c.(*controlLoop[reconcile.Request]), queue: make(chan workqueue.TypedRateLimitingInterface[reconcile.Request], 1), ended: make(chan error, 1)}
	require.NoError(t, c.Watch(sourceFunc(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		r.queue <- queue
		return nil
	})))
	return r
}

func (r *running) begin() {
	ctx, stop := context.WithCancel(r.t.Context())
	r.stop = stop
	go func() { r.ended <- r.Start(ctx) }()
}

// end stops the controller, and returns Start's answer.
func (r *running) end() error {
	r.stop()
	return <-r.ended
}

type sourceFunc func(context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request]) error

func (f sourceFunc) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	return f(ctx, queue)
}

// calls collects the names of the requests for which a reconciler was called.
type calls struct {
	mu    sync.Mutex
	names []string
}

func (c *calls) add(request reconcile.Request) (before int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range c.names {
		if name == request.Name {
			before++
		}
	}
	c.names = append(c.names, request.Name)
	return before
}

func (c *calls) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.names)
}

// answering is a reconciler that writes down its calls, and gives the answers in turn; the last
// one from then on.
func (c *calls) answering(answers ...returns) reconcile.Func {
	return func(_ context.Context, request reconcile.Request) (reconcile.Result, error) {
		n := min(c.add(request), len(answers)-1)
		if n < 0 {
			return reconcile.Result{}, nil
		}
		return answers[n].Result, answers[n].Err
	}
}

// measured returns the values of a metric of the test's controller, as "labels value", sorted;
// labels are those besides the name. Histograms are counted.
func measured(t *testing.T, metric string) []string {
	t.Helper()
	families, err := metrics.Registry.Gather()
	require.NoError(t, err)
	var found []string
	for _, family := range families {
		if family.GetName() != metric {
			continue
		}
		for _, m := range family.GetMetric() {
			labels := map[string]string{}
			for _, pair := range m.GetLabel() {
				labels[pair.GetName()] = pair.GetValue()
			}
			if labels["controller"] != t.Name() {
				continue
			}
			delete(labels, "controller")
			delete(labels, "name")
			parts := slices.Sorted(maps.Values(labels))
			value := m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			found = append(found, strings.TrimSpace(fmt.Sprint(strings.Join(parts, " "), " ", value)))
		}
	}
	slices.Sort(found)
	return found
}

// returns is what a reconciler returns for a request.
type returns struct {
	Result reconcile.Result
	Err    error
}

// Source is a source as most controllers have it.
type Source = TypedSource[reconcile.Request]

// requestQueue is a queue with the methods of client-go's, such as NewQueue returns.
type requestQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]
