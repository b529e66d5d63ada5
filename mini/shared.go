package mini

import (
	"context"
	"strconv"
	"sync"
	"time"
)

// SharedInformer is one watch and one store for many handlers.
//
// Guarantees: a handler is told of every object that is in the store, also if it is
// added late, and then of every change, once, in order. Each handler has a goroutine of
// its own: a slow one delays nobody else.
//
// Caveats: a handler that stays behind keeps all changes that it has not seen in memory.
type SharedInformer struct {
	*Informer
	Resync time.Duration // tell all handlers of all objects so often; 0 is never

	// mu is held while a change is stored and given to the handlers' queues, so that a
	// handler that is added at that moment gets it exactly once. It guards all below.
	mu       sync.Mutex
	handlers []*Registration
	version  uint64        // the newest that was seen; 0 before the first list
	moved    chan struct{} // closed, and replaced, when version moves
	running  bool
	work     sync.WaitGroup // the handlers' goroutines
}

// NewSharedInformer returns an informer without handlers. It does nothing until Run.
func NewSharedInformer(source ListerWatcher, indexers Indexers) *SharedInformer {
	s := &SharedInformer{moved: make(chan struct{})}
	s.Informer = NewInformer(source, indexers, s.distribute)
	return s
}

// Run keeps the store up to date and the handlers informed until ctx ends. When it
// returns, no handler is running. Changes that a handler has not been told of are
// dropped.
func (s *SharedInformer) Run(ctx context.Context) error {
	s.mu.Lock()
	s.running = true
	for _, r := range s.handlers {
		s.work.Go(r.run)
	}
	s.mu.Unlock()
	defer s.work.Wait()
	defer s.stopHandlers()
	if s.Resync > 0 {
		s.work.Go(func() { s.resync(ctx) })
	}
	return (&Reflector{Source: s.Source, Sink: s, Trace: s.Trace}).Run(ctx)
}

func (s *SharedInformer) stopHandlers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = false
	for _, r := range s.handlers {
		r.stop()
	}
}

// resync tells the handlers of all objects again. It asks the API server for nothing:
// it is for handlers that compare an object with something that cannot be watched.
func (s *SharedInformer) resync(ctx context.Context) {
	tick := time.NewTicker(s.Resync)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.mu.Lock()
			for _, obj := range s.List() {
				s.distribute(Change{Old: obj, New: obj})
			}
			s.mu.Unlock()
		}
	}
}

// Update is called by the reflector.
func (s *SharedInformer) Update(obj Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Informer.Update(obj)
	s.sawLocked(obj.GetResourceVersion())
}

// Delete is called by the reflector.
func (s *SharedInformer) Delete(obj Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Informer.Delete(obj)
	s.sawLocked(obj.GetResourceVersion())
}

// Replace is called by the reflector.
func (s *SharedInformer) Replace(items []Object, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Informer.Replace(items, version)
	if s.version == 0 {
		for _, r := range s.handlers {
			r.add(r.markSynced)
		}
	}
	s.sawLocked(version)
}

// distribute is the informer's OnChange: it runs under mu.
func (s *SharedInformer) distribute(change Change) {
	for _, r := range s.handlers {
		r.add(func() { r.handle(change) })
	}
}

// sawLocked notes the newest version. Versions are numbers that grow with every write
// to the API server, whatever the kind.
func (s *SharedInformer) sawLocked(version string) {
	number, _ := strconv.ParseUint(version, 10, 64)
	s.version = max(s.version, number, 1)
	close(s.moved)
	s.moved = make(chan struct{})
}

// AddHandler has handle called with every object and every change from now on, from one
// goroutine. It may be called before and during Run.
func (s *SharedInformer) AddHandler(handle func(Change)) *Registration {
	r := &Registration{handle: handle, synced: make(chan struct{})}
	r.wake = sync.NewCond(&r.mu)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers = append(s.handlers, r)
	if s.version > 0 {
		for _, obj := range s.List() {
			r.add(func() { handle(Change{New: obj}) })
		}
		r.add(r.markSynced)
	}
	if s.running {
		s.work.Go(r.run)
	}
	return r
}

// HasSynced returns true when the first list is in the store. Until then "not found"
// means nothing.
func (s *SharedInformer) HasSynced() bool { return s.Version() > 0 }

// Version is the newest resourceVersion that the store shows, or 0 before the first list.
func (s *SharedInformer) Version() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

// WaitFor blocks until done returns true. It asks again after every change of the
// store. If ctx ends first, it returns the cause.
func (s *SharedInformer) WaitFor(ctx context.Context, done func() bool) error {
	for {
		s.mu.Lock()
		moved := s.moved
		s.mu.Unlock()
		if done() {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Registration is one handler: a queue without a bound, and the goroutine that empties
// it.
type Registration struct {
	handle func(Change)
	synced chan struct{} // closed by the goroutine, once

	mu      sync.Mutex // guards all below
	wake    *sync.Cond
	pending []func()
	stopped bool
}

// WaitForSync blocks until the handler has been told of all objects of the first list.
func (r *Registration) WaitForSync(ctx context.Context) error {
	select {
	case <-r.synced:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (r *Registration) markSynced() { close(r.synced) }

func (r *Registration) add(call func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending = append(r.pending, call)
	r.wake.Signal()
}

func (r *Registration) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	r.wake.Signal()
}

func (r *Registration) run() {
	for {
		r.mu.Lock()
		for len(r.pending) == 0 && !r.stopped {
			r.wake.Wait()
		}
		if r.stopped {
			r.mu.Unlock()
			return
		}
		batch := r.pending
		r.pending = nil
		r.mu.Unlock()
		for _, call := range batch {
			call()
		}
	}
}
