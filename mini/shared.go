package mini

import (
	"context"
	"strconv"
	"sync"
	"time"
)

// SharedInformer is one watch and one store for many handlers.
//
// Guarantees: a handler gets every object in the store, even if you add it late, and
// after that every change, once and in order. Each handler has its own goroutine, so a
// slow one delays no other. When a handler is called, the store already has the change,
// and perhaps later ones.
//
// Caveats: the changes that a slow handler hasn't seen yet all stay in memory.
type SharedInformer struct {
	*Informer
	// ResyncPeriod is how often all handlers get all objects again, as changes whose Old
	// and New are the same object. 0 means never.
	ResyncPeriod time.Duration

	// mu guards all below. It's held from before a change enters the store until the
	// change is in each handler's queue. So a handler added at that moment finds the
	// change in the store or in its queue, but never in both.
	mu       sync.Mutex
	handlers []*Registration
	synced   bool          // the first list is in the store
	newest   uint64        // the version that the store has reached
	rewinds  int           // how often a list had an older version than the store
	moved    chan struct{} // sawLocked closes and replaces it after each change
	running  bool
	work     sync.WaitGroup // the goroutines that Run waits for
}

// NewSharedInformer returns an informer without handlers. It starts with Run.
func NewSharedInformer(source ListerWatcher, indexers Indexers) *SharedInformer {
	s := &SharedInformer{moved: make(chan struct{})}
	s.Informer = NewInformer(source, indexers, s.distributeLocked)
	return s
}

// Run keeps the store up to date and calls the handlers until ctx ends, and then returns
// nil. When it returns, no handler is running any more, and the changes left in their
// queues are dropped. Run can run once.
func (s *SharedInformer) Run(ctx context.Context) error {
	s.mu.Lock()
	s.running = true
	for _, r := range s.handlers {
		s.work.Go(r.run)
	}
	s.mu.Unlock()
	if s.ResyncPeriod > 0 {
		s.work.Go(func() { s.resync(ctx) })
	}
	err := (&Reflector{Source: s.Source, Sink: s, Trace: s.Trace}).Run(ctx)
	s.mu.Lock()
	s.running = false
	for _, r := range s.handlers {
		r.stop()
	}
	s.mu.Unlock()
	s.work.Wait()
	return err
}

// resync is for handlers that compare an object with something that can't be watched. It
// doesn't send anything to the API server.
func (s *SharedInformer) resync(ctx context.Context) {
	for sleep(ctx, s.ResyncPeriod) {
		s.mu.Lock()
		for _, obj := range s.List() {
			s.distributeLocked(Change{Old: obj, New: obj})
		}
		s.mu.Unlock()
	}
}

// Update makes the informer a Sink.
func (s *SharedInformer) Update(obj Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Informer.Update(obj)
	s.sawLocked(obj.GetResourceVersion())
}

// Delete makes the informer a Sink.
func (s *SharedInformer) Delete(obj Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Informer.Delete(obj)
	s.sawLocked(obj.GetResourceVersion())
}

// Replace makes the informer a Sink.
func (s *SharedInformer) Replace(items []Object, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Informer.Replace(items, version)
	if !s.synced {
		s.synced = true
		for _, r := range s.handlers {
			r.add(r.markSynced)
		}
	}
	if number, _ := strconv.ParseUint(version, 10, 64); number < s.newest {
		s.newest = 0 // the API server was restored from a backup
		s.rewinds++
	}
	s.sawLocked(version)
}

// distributeLocked is the OnChange of the Informer, whose methods run with mu held.
func (s *SharedInformer) distributeLocked(change Change) {
	for _, r := range s.handlers {
		r.add(func() { r.handle(change) })
	}
}

// sawLocked notes the version of a change or a list, and wakes WaitFor. The API server
// numbers its writes, so a newer version is a greater number.
func (s *SharedInformer) sawLocked(version string) {
	number, _ := strconv.ParseUint(version, 10, 64)
	s.newest = max(s.newest, number)
	close(s.moved)
	s.moved = make(chan struct{})
}

// AddHandler makes the informer call handle with every object and every change from now
// on, one call at a time. You can add a handler before Run or while it runs.
func (s *SharedInformer) AddHandler(handle func(Change)) *Registration {
	r := &Registration{handle: handle, synced: make(chan struct{})}
	r.wake = sync.NewCond(&r.mu)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers = append(s.handlers, r)
	if s.synced {
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

// HasSynced returns true once the first list is in the store. Until then, an object may
// exist although the store doesn't have it.
func (s *SharedInformer) HasSynced() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.synced
}

// Version returns the newest resourceVersion that the store shows, or 0 before the first
// list.
func (s *SharedInformer) Version() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newest
}

// Rewinds returns how often a list was older than the version that the store had reached.
// You can't compare a version from before such a list with one from after it.
func (s *SharedInformer) Rewinds() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rewinds
}

// WaitFor blocks until done returns true. It calls done at once, and again after every
// change of the store. If ctx ends first, it returns the cause.
func (s *SharedInformer) WaitFor(ctx context.Context, done func() bool) error {
	for {
		s.mu.Lock()
		moved := s.moved // before done, to not miss a change during the call
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

// Registration is one handler of a SharedInformer, with the queue of its calls.
type Registration struct {
	handle func(Change)
	synced chan struct{} // run closes it by calling markSynced

	mu      sync.Mutex // guards all below
	wake    *sync.Cond
	pending []func() // unbounded: the informer must never wait for a handler
	stopped bool
}

// WaitForSync blocks until the handler has returned from the last object of the first
// list. If ctx ends first, it returns the cause.
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

// run makes the calls, one after the other, until stop.
func (r *Registration) run() {
	for {
		call := r.next()
		if call == nil {
			return
		}
		call()
	}
}

// next blocks until there is a call. It returns nil after stop.
func (r *Registration) next() (call func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.pending) == 0 && !r.stopped {
		r.wake.Wait()
	}
	if r.stopped {
		return nil
	}
	call, r.pending = r.pending[0], r.pending[1:]
	return call
}
