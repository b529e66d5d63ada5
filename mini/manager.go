package mini

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// Runnable is a part of a program. Run returns when ctx has ended and all that it
// started is over, or earlier with an error.
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

	// StopTimeout is how long Run waits for the controllers to end, then for the cache,
	// and then for the servers; 0 is 30 s.
	StopTimeout time.Duration

	servers     []Runnable
	controllers []Runnable
}

// NewManager returns a manager with a cache and a client, and nothing to run yet.
func NewManager(cluster *Cluster) *Manager {
	cache := NewCache(cluster)
	return &Manager{Cluster: cluster, Cache: cache, Client: NewCachedClient(cache)}
}

// AddServer adds a part that others need before they can work, like a webhook: the API
// server calls a conversion webhook before the cache can list. Servers are started
// first and stopped last, and do not wait for the lease.
func (m *Manager) AddServer(r Runnable) { m.servers = append(m.servers, r) }

// AddController adds a part that only the leader runs.
func (m *Manager) AddController(r Runnable) { m.controllers = append(m.controllers, r) }

// Run starts servers, then the cache, then, with the lease, the controllers. It ends
// when ctx does, or when a part fails, and returns all errors. A part that returns nil
// is finished: no reason to stop the others.
func (m *Manager) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	r := &run{stop: stop, running: map[string]int{}}
	// The groups outlive ctx: each is told to stop when its turn has come. Controllers
	// need the cache until their last reconcile, and the cache may need a webhook of
	// this process.
	outlive := context.WithoutCancel(ctx)
	groups := []*group{
		begin(outlive, func(ctx context.Context) { r.parts(ctx, m.servers...) }),
		begin(outlive, func(ctx context.Context) { r.parts(ctx, m.Cache) }),
		begin(outlive, func(ctx context.Context) { r.failed(m.lead(ctx, r)) }),
	}
	<-ctx.Done()
	timeout := cmp.Or(m.StopTimeout, 30*time.Second)
	for _, g := range slices.Backward(groups) {
		g.stop()
		select {
		case <-g.done:
		case <-time.After(timeout): // the others are stopped all the same
		}
	}
	return r.result(timeout)
}

// lead runs the controllers for as long as this process leads.
func (m *Manager) lead(ctx context.Context, r *run) error {
	// A process that cannot list would hold the lease and do nothing.
	if err := m.Cache.WaitForSync(ctx); err != nil {
		return nil // told to stop while waiting: not a failure
	}
	work := func(ctx context.Context) error {
		r.parts(ctx, m.controllers...)
		<-ctx.Done() // told to stop, or the lease is lost
		return nil
	}
	if m.Elector == nil {
		return work(ctx)
	}
	return m.Elector.Run(ctx, work)
}

// group is what is told to stop at one time.
type group struct {
	stop context.CancelFunc
	done chan struct{} // closed by the group's goroutine when it ends
}

func begin(ctx context.Context, f func(context.Context)) *group {
	ctx, stop := context.WithCancel(ctx)
	g := &group{stop: stop, done: make(chan struct{})}
	go func() {
		defer close(g.done)
		f(ctx)
	}()
	return g
}

// run is what happens during one call of Run. The first error stops it.
type run struct {
	stop context.CancelFunc

	mu      sync.Mutex // guards all below
	errs    []error
	running map[string]int // how many parts of each name have not returned
}

// parts runs each part in a goroutine of its own, and waits for all of them.
func (r *run) parts(ctx context.Context, parts ...Runnable) {
	var all sync.WaitGroup
	for _, part := range parts {
		name := partName(part)
		r.count(name, 1)
		all.Go(func() {
			err := part.Run(ctx)
			r.count(name, -1)
			if ctx.Err() == nil || !errors.Is(err, context.Canceled) {
				r.failed(err) // unless it only repeats that it was told to stop
			}
		})
	}
	all.Wait()
}

func (r *run) count(name string, change int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running[name] += change; r.running[name] == 0 {
		delete(r.running, name)
	}
}

func (r *run) failed(err error) {
	if err == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs = append(r.errs, err)
	r.stop()
}

// result returns all errors. A part that is still running is one of them.
func (r *run) result(timeout time.Duration) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	errs := slices.Clone(r.errs)
	for _, name := range slices.Sorted(maps.Keys(r.running)) {
		errs = append(errs,
			fmt.Errorf("%s is still running %s after the stop", name, timeout))
	}
	return errors.Join(errs...)
}

func partName(part Runnable) string {
	if c, ok := part.(*Controller); ok {
		return "controller " + c.Name
	}
	return fmt.Sprintf("%T", part)
}
