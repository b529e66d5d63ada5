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

	StopTimeout time.Duration // for all parts together; 0 is 30 s

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
	all := &failures{stop: stop}
	lead := RunnableFunc(func(ctx context.Context) error {
		work := func(ctx context.Context) error {
			controllers := start(ctx, all, m.controllers...)
			<-ctx.Done() // told to stop, or the lease is lost
			<-controllers.done
			return nil
		}
		if m.Elector == nil {
			return work(ctx)
		}
		return m.Elector.Run(ctx, work)
	})
	// The groups outlive ctx: each is told to stop when its turn has come. Controllers
	// need the cache until their last reconcile, and the cache may need a webhook of
	// this process.
	outlive := context.WithoutCancel(ctx)
	groups := []*group{
		start(outlive, all, m.servers...),
		start(outlive, all, m.Cache),
		start(outlive, all, lead),
	}
	<-ctx.Done()
	timeout := m.StopTimeout
	if timeout == 0 {
		timeout = 30 * time.Second
	}
	patience, giveUp := context.WithTimeout(outlive, timeout)
	defer giveUp()
	for _, g := range slices.Backward(groups) {
		g.stop()
		select {
		case <-g.done:
		case <-patience.Done(): // also for the groups that come after this one
			all.add(fmt.Errorf("a part is still running %s after it was told to stop", timeout))
		}
	}
	return all.join()
}

// group is a number of parts that are told to stop together.
type group struct {
	stop context.CancelFunc
	done chan struct{} // closed when all parts have returned
}

// start runs each part in a goroutine of its own.
func start(ctx context.Context, all *failures, parts ...Runnable) *group {
	ctx, stop := context.WithCancel(ctx)
	g := &group{stop: stop, done: make(chan struct{})}
	var running sync.WaitGroup
	for _, part := range parts {
		running.Go(func() { all.add(part.Run(ctx)) })
	}
	go func() {
		running.Wait()
		close(g.done)
	}()
	return g
}

// failures are the errors of all parts. The first one stops the manager.
type failures struct {
	stop context.CancelFunc

	mu   sync.Mutex // guards errs
	errs []error
}

func (f *failures) add(err error) {
	if err == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errs = append(f.errs, err)
	f.stop()
}

func (f *failures) join() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(f.errs...)
}
