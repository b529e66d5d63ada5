// Package start measures whole programs: a manager with three controllers and 20,000 objects, from its
// New to the first reconciles, what it holds when all is done, and how large its binary is.
package start

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	upstream "sigs.k8s.io/controller-runtime"
	upstreamclient "sigs.k8s.io/controller-runtime/pkg/client"
	upstreamconfig "sigs.k8s.io/controller-runtime/pkg/config"
	upstreamlog "sigs.k8s.io/controller-runtime/pkg/log"
	upstreamserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	upstreamreconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"

	ctrl "github.com/loopwright/loopwright"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/manager/metrics/server"
	"github.com/loopwright/loopwright/manager/reconcile"
)

// Kinds are those of the controllers.
var Kinds = []string{"pods", "configmaps", "services"}

// Peer is one of the sides. Its Name is a sub-benchmark's.
type Peer struct {
	Name string
	// Run makes a manager with a controller for each kind, and starts it. Each reconcile reads its object
	// from the cache, and calls seen. The function that it returns stops the manager, and waits for it.
	Run func(config *rest.Config, seen func(kind string)) (stop func() error)
}

// Peers are both sides.
var Peers = []Peer{{"ours", ours}, {"controller-runtime", theirs}}

func init() { // a log would end up in the middle of a benchmark's line
	log.SetLogger(logr.Discard())
	upstreamlog.SetLogger(logr.Discard())
}

func ours(c *rest.Config, seen func(kind string)) func() error {
	m, err := ctrl.NewManager(c, ctrl.Options{
		Metrics: server.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: new(true)},
	})
	must(err)
	for kind, object := range map[string]client.Object{"pods": &corev1.Pod{}, "configmaps": &corev1.ConfigMap{}, "services": &corev1.Service{}} {
		must(ctrl.NewControllerManagedBy(m).For(object).Complete(reconcile.Func(func(ctx context.Context, r ctrl.Request) (ctrl.Result, error) {
			found := object.DeepCopyObject().(client.Object)
			must(m.GetClient().Get(ctx, r.NamespacedName, found))
			seen(kind)
			return ctrl.Result{}, nil
		})))
	}
	return run(m.Start)
}

func theirs(c *rest.Config, seen func(kind string)) func() error {
	m, err := upstream.NewManager(c, upstream.Options{
		Metrics: upstreamserver.Options{BindAddress: "0"}, Controller: upstreamconfig.Controller{SkipNameValidation: new(true)},
	})
	must(err)
	for kind, object := range map[string]upstreamclient.Object{"pods": &corev1.Pod{}, "configmaps": &corev1.ConfigMap{}, "services": &corev1.Service{}} {
		must(upstream.NewControllerManagedBy(m).For(object).Complete(upstreamreconcile.Func(func(ctx context.Context, r upstream.Request) (upstream.Result, error) {
			found := object.DeepCopyObject().(upstreamclient.Object)
			must(m.GetClient().Get(ctx, r.NamespacedName, found))
			seen(kind)
			return upstream.Result{}, nil
		})))
	}
	return run(m.Start)
}

func run(start func(context.Context) error) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- start(ctx) }()
	return func() error { cancel(); return <-ended }
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// Progress waits for reconciles.
type Progress struct {
	ready, done chan struct{} // closed when each kind was seen, and when all objects were
	left        atomic.Int64

	mu      sync.Mutex // guards missing
	missing map[string]bool
}

// NewProgress is for this many objects.
func NewProgress(objects int) *Progress {
	p := &Progress{ready: make(chan struct{}), done: make(chan struct{}), missing: map[string]bool{}}
	p.left.Store(int64(objects))
	for _, kind := range Kinds {
		p.missing[kind] = true
	}
	return p
}

// Seen counts a reconcile.
func (p *Progress) Seen(kind string) {
	select {
	case <-p.ready:
	default:
		p.first(kind)
	}
	if p.left.Add(-1) == 0 {
		close(p.done)
	}
}

func (p *Progress) first(kind string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.missing[kind] {
		return
	}
	delete(p.missing, kind)
	if len(p.missing) == 0 {
		close(p.ready)
	}
}
