// Package manager measures Loopwright's controllers beside controller-runtime's: from a request
// in the queue to the reconcile. Sources that watch a cluster are not part of it.
package manager

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	upstreamqueue "k8s.io/client-go/util/workqueue"
	upstreamcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	upstream "sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/workqueue"
)

// Names are requests as a controller has them.
func Names(n int) []types.NamespacedName {
	names := make([]types.NamespacedName, n)
	for i := range names {
		names[i] = types.NamespacedName{
			Namespace: fmt.Sprintf("namespace-%d", i%50), Name: fmt.Sprintf("deployment-%d-7c5ddbdf54-x2x4q", i)}
	}
	return names
}

// Start makes a controller and starts it. Its one source adds the names that are there at the
// start. Its settings are the defaults: one worker, and both sides have their metrics on.
// Start returns when the source has been started.
type Start func(there []types.NamespacedName, reconcile func(context.Context, types.NamespacedName)) Running

// Running is a controller that runs.
type Running struct {
	Add  func(types.NamespacedName)
	Stop func() error
}

// Peer is one of the sides. Its Name is a sub-benchmark's.
type Peer struct {
	Name  string
	Start Start
}

// Kinds are the queues that a controller may have; the first is the default of both sides.
var Kinds = []struct {
	Name  string
	Peers []Peer
}{
	{"priority-queue", []Peer{{Name: "ours", Start: ours(true)}, {Name: "controller-runtime", Start: theirs(true)}}},
	{"plain-queue", []Peer{
		{Name: "ours", Start: ours(false)},
		{Name: "mini", Start: minis},
		{Name: "controller-runtime", Start: theirs(false)},
	}},
}

func ours(priorities bool) Start {
	return func(there []types.NamespacedName, do func(context.Context, types.NamespacedName)) Running {
		c, err := controller.NewUnmanaged("measured", controller.Options{
			Reconciler: reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
				do(ctx, r.NamespacedName)
				return reconcile.Result{}, nil
			}),
			UsePriorityQueue: &priorities, SkipNameValidation: new(true), Logger: logr.New(silence{}),
		})
		must(err)
		queues := make(chan workqueue.TypedRateLimitingInterface[reconcile.Request], 1) // from the source, once
		must(c.Watch(ourSource(func(queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			for _, name := range there {
				queue.Add(reconcile.Request{NamespacedName: name})
			}
			queues <- queue
		})))
		stop := run(c.Start)
		queue := <-queues
		return Running{Add: func(name types.NamespacedName) { queue.Add(reconcile.Request{NamespacedName: name}) }, Stop: stop}
	}
}

type ourSource func(workqueue.TypedRateLimitingInterface[reconcile.Request])

func (s ourSource) Start(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	s(queue)
	return nil
}

// minis is the controller of the course. It has no metrics.
func minis(there []types.NamespacedName, do func(context.Context, types.NamespacedName)) Running {
	c := mini.NewController("measured", mini.ReconcilerFunc(func(ctx context.Context, r mini.Request) (mini.Result, error) {
		do(ctx, r)
		return mini.Result{}, nil
	}))
	for _, name := range there {
		c.Queue.Add(name)
	}
	return Running{Add: c.Queue.Add, Stop: run(c.Run)}
}

func theirs(priorities bool) Start {
	return func(there []types.NamespacedName, do func(context.Context, types.NamespacedName)) Running {
		c, err := upstreamcontroller.NewUnmanaged("measured", upstreamcontroller.Options{
			Reconciler: upstream.Func(func(ctx context.Context, r upstream.Request) (upstream.Result, error) {
				do(ctx, r.NamespacedName)
				return upstream.Result{}, nil
			}),
			UsePriorityQueue: &priorities, SkipNameValidation: new(true), Logger: logr.New(silence{}),
		})
		must(err)
		queues := make(chan upstreamqueue.TypedRateLimitingInterface[upstream.Request], 1) // from the source, once
		must(c.Watch(source.Func(func(_ context.Context, queue upstreamqueue.TypedRateLimitingInterface[upstream.Request]) error {
			for _, name := range there {
				queue.Add(upstream.Request{NamespacedName: name})
			}
			queues <- queue
			return nil
		})))
		stop := run(c.Start)
		queue := <-queues
		return Running{Add: func(name types.NamespacedName) { queue.Add(upstream.Request{NamespacedName: name}) }, Stop: stop}
	}
}

// run starts a controller, and returns what stops it and waits for it.
func run(start func(context.Context) error) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1) // from the goroutine, once
	go func() { ended <- start(ctx) }()
	return func() error {
		cancel()
		return <-ended
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// silence is a logger that is off. Any other would be measured as well, and more than once for
// each reconcile: both sides give each call a logger with the request's name.
type silence struct{}

func (silence) Init(logr.RuntimeInfo)            {}
func (silence) Enabled(int) bool                 { return false }
func (silence) Info(int, string, ...any)         {}
func (silence) Error(error, string, ...any)      {}
func (s silence) WithValues(...any) logr.LogSink { return s }
func (s silence) WithName(string) logr.LogSink   { return s }
