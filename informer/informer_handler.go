package informer

import "time"

// Handler is told what changes in a collection.
//
// Guarantees: calls come from one goroutine, one after the other. For each key
// they are a legal history: OnAdd first; then OnUpdate, each with the state that
// was told before; OnDelete last; and then perhaps OnAdd again, for another
// object. A handler that is added late gets an OnAdd for each object that is there.
//
// Caveats: objects are shared with the store and with other handlers: copy before
// changing. A handler that is slow misses states in between, never the newest. The
// store may be ahead of what a handler was told. A call that never returns keeps the
// informer's Run from returning. A panic crashes the process, see
// InformerOptions.RecoverPanics.
type Handler[T Object] interface {
	// OnAdd is for an object that the handler does not know. initial marks those
	// that were there when it began to listen.
	OnAdd(object T, initial bool)
	// OnUpdate is for a new state of an object. If old and object are the same,
	// it is a resync: nothing happened.
	OnUpdate(old, object T)
	// OnDelete is for the end of an object. finalStateUnknown says that nobody
	// saw it, and that object is the last known state.
	OnDelete(object T, finalStateUnknown bool)
}

// HandlerFuncs is a Handler of functions; nil ones are not called.
type HandlerFuncs[T Object] struct {
	Add    func(object T, initial bool)
	Update func(old, object T)
	Delete func(object T, finalStateUnknown bool)
}

func (h HandlerFuncs[T]) OnAdd(object T, initial bool) {
	if h.Add != nil {
		h.Add(object, initial)
	}
}

func (h HandlerFuncs[T]) OnUpdate(old, object T) {
	if h.Update != nil {
		h.Update(old, object)
	}
}

func (h HandlerFuncs[T]) OnDelete(object T, finalStateUnknown bool) {
	if h.Delete != nil {
		h.Delete(object, finalStateUnknown)
	}
}

// HandlerOptions may be left empty.
type HandlerOptions struct {
	// Name is for the flight recorder, for reports of panics and for metrics.
	Name string
	// Resync is how often all objects are handed to OnUpdate again; 0 is never.
	// It is for handlers that look at something besides the objects. A period below
	// one second is raised to that.
	Resync time.Duration
}

// Registration is a handler that was added to an informer.
type Registration struct {
	synced  <-chan struct{}
	done    <-chan struct{}
	remove  func()
	measure func() BacklogStats
}

// BacklogStats is how far a handler is behind.
type BacklogStats struct {
	Keys    int    // objects with news that it has not been told; one whose call is under way counts
	Deepest int    // the most there ever were
	Told    uint64 // notifications that were delivered
	Panics  uint64
}

// Synced is closed when the handler has been told the whole initial list, and has
// returned from the last call. If the handler ends before that, Synced stays open: wait
// for Done as well.
func (r *Registration) Synced() <-chan struct{} { return r.synced }

// HasSynced reports whether Synced is closed.
func (r *Registration) HasSynced() bool {
	select {
	case <-r.synced:
		return true
	default:
		return false
	}
}

// Remove stops the handler, even if its informer does not run yet. A call that is under
// way is not interrupted; Done is closed when it has returned. Remove may be called more
// than once, and from the handler itself.
func (r *Registration) Remove() { r.remove() }

// Done is closed when the handler is not called any more, because it was removed
// or its informer has stopped.
func (r *Registration) Done() <-chan struct{} { return r.done }

// Backlog measures how far the handler is behind. It is bounded by the number of
// objects: those that the handler knows, and those that there are. Up to 64 of them
// may count twice: they were taken out of the backlog for the next calls, and have
// changed since.
func (r *Registration) Backlog() BacklogStats { return r.measure() }
