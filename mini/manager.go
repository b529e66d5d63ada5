package mini

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Runnable is a part of a program. Run returns when ctx has ended and all that it
// started is over, or earlier: with an error, or with nil if its work is finished.
type Runnable interface {
	Run(ctx context.Context) error
}

// RunnableFunc is a function as a Runnable.
type RunnableFunc func(ctx context.Context) error

// Run calls f.
func (f RunnableFunc) Run(ctx context.Context) error { return f(ctx) }

// Manager starts the parts of a program in order, and stops them in the opposite order.
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

// Informer returns the cache's informer for the type of like. If the scheme does not know
// the type, it returns one that stays empty, and the manager remembers the error: Err
// returns it, and so does Run.
func (m *Manager) Informer(like Object) *SharedInformer {
	informer, err := m.Cache.Informer(like)
	if err != nil {
		m.err = errors.Join(m.err, err)
		return NewSharedInformer(nil, nil) // nothing runs it
	}
	return informer
}

// Err returns the errors that Informer has not returned.
func (m *Manager) Err() error { return m.err }

// NewController returns a controller that writes to the cluster's flight recorder, with
// this many workers. It needs its watches, and AddController.
func (m *Manager) NewController(name string, workers int, r Reconciler) *Controller {
	c := NewController(name, r)
	c.Workers, c.Trace, c.Queue.Trace = workers, m.Cluster.Trace, m.Cluster.Trace
	return c
}

// AddServer adds a part that others need before they can work, like a webhook: the API
// server calls a conversion webhook before the cache can list. Servers are started
// first and stopped last, and do not wait for the lease.
func (m *Manager) AddServer(r Runnable) { m.servers = append(m.servers, r) }

// AddController adds a part that only the leader runs.
func (m *Manager) AddController(r Runnable) { m.controllers = append(m.controllers, r) }

// stopTimeout is how long each group has to end. Kubernetes kills a Pod 30 s after it
// was told to stop: the last group needs some of that, too.
const stopTimeout = 20 * time.Second

// Run starts the servers, then the cache, then, with the lease, the controllers. It ends
// when ctx does, or when a part fails, and returns all errors. That it was told to stop
// is not one of them. If Err has one, it starts nothing: a controller would wait forever
// for an informer that stays empty.
func (m *Manager) Run(ctx context.Context) error {
	if m.err != nil {
		return m.err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	r := &run{stop: stop}
	lead := func(ctx context.Context) error { return m.lead(ctx, r) }
	// The groups outlive ctx: each is told to stop when its turn has come. Controllers
	// need the cache until their last reconcile, and the cache may need a webhook of
	// this process.
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
		case <-time.After(stopTimeout): // the others are stopped all the same
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
	// A process that cannot list would hold the lease and do nothing.
	if err := m.Cache.WaitForSync(ctx); err != nil {
		return nil // told to stop while waiting: not a failure
	}
	work := func(ctx context.Context) error {
		r.all(ctx, m.controllers)
		<-ctx.Done() // without a controller, this process leads all the same
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

// group is parts that are told to stop at the same time.
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

// all runs each part in a goroutine of its own, and waits for all of them.
func (r *run) all(ctx context.Context, parts []Runnable) {
	var running sync.WaitGroup
	for _, part := range parts {
		running.Go(func() {
			err := part.Run(ctx)
			if ctx.Err() != nil && errors.Is(err, context.Canceled) {
				return // it only repeats that it was told to stop
			}
			r.failed(err)
		})
	}
	running.Wait()
}

func (r *run) failed(err error) {
	if err == nil {
		return // the part is finished: no reason to stop the others
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs = append(r.errs, err)
	r.stop()
}
