package informer

import "time"

// Handler is told what changes in a collection.
//
// Guarantees: calls come from one goroutine, one after the other. For each key
// they are a legal history: OnAdd first; then OnUpdate, each with the state that
// was told before; OnDelete last; and then perhaps OnAdd again, for another
// object. A handler that is added late gets an OnAdd for each object that is there.
// Every state that the watch brings since is told, in the order of the watch, also across keys:
// somebody may have written it, or read it in the store, and acted on it. So a handler that wakes
// an object's owner also wakes one who had the object for a moment. HandlerOptions.Coalesce gives
// that up.
//
// Caveats: objects are shared with the store and with other handlers: copy before
// changing. While a watch is interrupted, an object may change twice, and the list that follows
// shows the second state only. The store may be ahead of what a handler was told. A call that
// never returns keeps the informer's Run from returning. A panic crashes the process, see
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
	// Coalesce merges what the handler has not heard yet of a key: any number of updates
	// become one, from the state that it was told to the newest. It is for handlers that look at
	// nothing but the key, such as one that adds it to a queue. Their backlog is then bounded by
	// the number of keys with news, whatever happens to each. It saves memory, and no time: each
	// key that waits has an entry in a map.
	//
	// The price: states that others may have written, or read in the store, are not told. A handler
	// that wakes an object's owner loses one: if the object goes from owner A to B and on to C
	// while the handler is late, it is told of A and C, and B, who may have counted the
	// object, never hears that it is gone. The same holds for a handler that compares both
	// states of an update. What is told even then is that an object has come or gone: one
	// that came and went is an OnAdd and an OnDelete, both with the last state. Of several such
	// objects of one name, it is the first.
	Coalesce bool
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
	Pending int    // notifications that were not delivered; one whose call is under way counts
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

// Backlog measures how far the handler is behind. By default a notification is one change,
// so that the backlog of a handler that hangs grows with every change. With Coalesce it is all
// news of a key, in up to three calls. The key of the call that is under way may count twice then.
func (r *Registration) Backlog() BacklogStats { return r.measure() }
