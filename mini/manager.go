package mini

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Runnable is a part of a program. Run returns when ctx has ended and everything that it
// started is over. It may return earlier: with an error, or with nil if its work is
// finished.
type Runnable interface {
	Run(ctx context.Context) error
}

// RunnableFunc makes a Runnable of a function.
type RunnableFunc func(ctx context.Context) error

// Run calls f.
func (f RunnableFunc) Run(ctx context.Context) error { return f(ctx) }

// Manager starts the parts of a program in order, and stops them in reverse order.
type Manager struct {
	Cluster *Cluster
	Cache   *Cache
	Client  *CachedClient
	Elector *Elector // nil: this process always leads

	servers     []Runnable
	controllers []Runnable
	err         error // of Informer
}

// NewManager returns a manager with a cache and a client, and nothing to run yet.
func NewManager(cluster *Cluster) *Manager {
	cache := NewCache(cluster)
	return &Manager{Cluster: cluster, Cache: cache, Client: NewCachedClient(cache)}
}

// Informer returns the cache's informer for the type of like. If the scheme doesn't know
// the type, it returns one that stays empty, and remembers the error for Err and Run.
func (m *Manager) Informer(like Object) *SharedInformer {
	informer, err := m.Cache.Informer(like)
	if err != nil {
		m.err = errors.Join(m.err, err)
		return NewSharedInformer(nil, nil) // it never runs
	}
	return informer
}

// Err returns the errors of all calls of Informer, which can't return them itself.
func (m *Manager) Err() error { return m.err }

// NewController returns a controller with this many workers, which writes to the
// cluster's flight recorder. Give it its watches, and then pass it to AddController.
func (m *Manager) NewController(name string, workers int, r Reconciler) *Controller {
	c := NewController(name, r)
	c.Workers, c.Trace, c.Queue.Trace = workers, m.Cluster.Trace, m.Cluster.Trace
	return c
}

// AddServer adds a part that others need before they can work, such as a webhook: for
// custom resources with a conversion webhook, the API server has to call it before the
// cache can list. Servers start first, stop last, and don't wait for the lease.
func (m *Manager) AddServer(r Runnable) { m.servers = append(m.servers, r) }

// AddController adds a part that only the leader runs.
func (m *Manager) AddController(r Runnable) { m.controllers = append(m.controllers, r) }

// stopTimeout is how long each group has to end. Kubernetes kills a Pod 30 s after
// telling it to stop, and the last group needs some of that time as well.
const stopTimeout = 20 * time.Second

// Run starts the servers, then the cache, and then, when it has the lease, the
// controllers. It ends when ctx does or a part fails, and returns all errors; being told
// to stop isn't one. If Err has an error, Run returns it and starts nothing, because a
// controller would wait forever for an informer that stays empty.
func (m *Manager) Run(ctx context.Context) error {
	if m.err != nil {
		return m.err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	r := &run{stop: stop}
	lead := func(ctx context.Context) error { return m.lead(ctx, r) }
	// The groups outlive ctx, because each stops when its turn comes. Controllers need
	// the cache until their last reconcile, and the cache may need a webhook of this
	// process.
	outlive := context.WithoutCancel(ctx)
	groups := []*group{
		r.begin(outlive, "servers", m.servers...),
		r.begin(outlive, "cache", m.Cache),
		r.begin(outlive, "controllers", RunnableFunc(lead)),
	}
	<-ctx.Done()
	for _, g := range slices.Backward(groups) {
		g.stop()
		select {
		case <-g.done:
		case <-time.After(stopTimeout): // the others still get their turn
			r.failed(fmt.Errorf("%s: still running %s after the stop",
				g.name, stopTimeout))
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.errs...)
}

// lead runs the controllers for as long as this process leads.
func (m *Manager) lead(ctx context.Context, r *run) error {
	// First the lists: a process that can't list would hold the lease and do nothing.
	if err := m.Cache.WaitForSync(ctx); err != nil {
		return nil // stopped while waiting: not a failure
	}
	work := func(ctx context.Context) error {
		r.all(ctx, m.controllers)
		<-ctx.Done() // even without a controller, this process leads
		return nil
	}
	if m.Elector == nil {
		return work(ctx)
	}
	return m.Elector.Run(ctx, work)
}

// run is one call of Manager.Run. The first error stops it.
type run struct {
	stop context.CancelFunc

	mu   sync.Mutex // guards errs
	errs []error
}

// group is a set of parts that are told to stop at the same time.
type group struct {
	name string
	stop context.CancelFunc
	done chan struct{} // closed by the group's goroutine when all parts have ended
}

// begin starts a group.
func (r *run) begin(ctx context.Context, name string, parts ...Runnable) *group {
	ctx, stop := context.WithCancel(ctx)
	g := &group{name: name, stop: stop, done: make(chan struct{})}
	go func() {
		defer close(g.done)
		r.all(ctx, parts)
	}()
	return g
}

// all runs each part in its own goroutine, and waits for all of them.
func (r *run) all(ctx context.Context, parts []Runnable) {
	var running sync.WaitGroup
	for _, part := range parts {
		running.Go(func() {
			err := part.Run(ctx)
			if ctx.Err() != nil && errors.Is(err, context.Canceled) {
				return // it only says that it was told to stop
			}
			r.failed(err)
		})
	}
	running.Wait()
}

func (r *run) failed(err error) {
	if err == nil {
		return // the part has finished: no reason to stop the others
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs = append(r.errs, err)
	r.stop()
}
