package informer

import "time"

// Handler hears of the changes in a collection.
//
// Guarantees: calls come from one goroutine, one after another. For each key they're a legal
// history: OnAdd first; then OnUpdate, each with the previous state; OnDelete last; and then maybe
// OnAdd again, for another object. A handler that is added late gets an OnAdd for each existing
// object. It hears of every state that the watch brings after that, in the order of the watch, also
// across keys: somebody may have written it, or read it in the store, and acted on it. So a handler
// that wakes an object's owner also wakes an owner that had the object for a moment.
// HandlerOptions.Coalesce gives that up.
//
// Caveats: objects are shared with the store and with other handlers: copy before changing. While a
// watch is interrupted, an object may change twice, and the list that follows shows only the second
// state. The store may be ahead of the handler. A call that never returns keeps the informer's Run
// from returning. A panic crashes the process, see InformerOptions.RecoverPanics.
type Handler[T Object] interface {
	// OnAdd is for an object that the handler doesn't know. initial marks objects that existed when
	// the handler was added.
	OnAdd(object T, initial bool)
	// OnUpdate is for a new state of an object. If old and object are the same, it's a resync:
	// nothing happened.
	OnUpdate(old, object T)
	// OnDelete is for an object that was deleted. finalStateUnknown says that the watch missed the
	// deletion, and object is the last known state.
	OnDelete(object T, finalStateUnknown bool)
}

// LeaveHandler is a Handler that also hears of objects that leave the informer's shard; see
// Informer.Keep. If such an object comes back, that's an OnAdd.
type LeaveHandler[T Object] interface {
	Handler[T]
	// OnLeave is for an object that exists, and is no longer kept. It's the last state that was.
	OnLeave(object T)
}

// HandlerFuncs is a Handler made of functions; nil ones aren't called.
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

// HandlerOptions are the options of a handler. You can leave every field empty.
type HandlerOptions struct {
	// Name is the handler's name in the flight recorder, in reports of panics and in metrics.
	Name string
	// Resync is how often OnUpdate gets all objects again; 0 means never. It's for handlers that
	// depend on more than the objects. A period below one second is raised to that.
	Resync time.Duration
	// Coalesce merges the news of a key that the handler hasn't heard yet: any number of updates
	// become one, from the state that it was told to the newest. Use it for handlers that look only
	// at the key, such as one that adds it to a queue. It bounds their backlog by the number of
	// keys with news, whatever happens to each. It saves memory, but no time: each key that waits
	// has an entry in a map.
	//
	// The price: the handler doesn't hear of states that others may have written, or read in the
	// store. A handler that wakes an object's owner loses one: if the object goes from owner A to B
	// and on to C while the handler is late, it hears of A and C. B, who may have counted the
	// object, never hears that it's gone. The same holds for a handler that compares both states of
	// an update. Even then, the handler always hears that an object has come or gone: an object
	// that came and went is an OnAdd and an OnDelete, both with the last state. If there were
	// several such objects of one name, it's the first.
	Coalesce bool
}

// Registration is a handler that was added to an informer.
type Registration struct {
	synced  <-chan struct{}
	done    <-chan struct{}
	remove  func()
	measure func() BacklogStats
}

// BacklogStats says how far a handler is behind.
type BacklogStats struct {
	Pending int    // notifications that weren't delivered, including one whose call is running
	Deepest int    // the most there have ever been
	Told    uint64 // notifications that were delivered
	Panics  uint64
}

// Synced is closed when the handler has had the whole initial list, and has returned from the last
// call. If the handler ends before that, Synced stays open, so wait for Done as well.
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

// Remove stops the handler, even if its informer doesn't run yet. It doesn't interrupt a running
// call; Done is closed when that has returned. You can call Remove more than once, even from the
// handler itself.
func (r *Registration) Remove() { r.remove() }

// Done is closed when the handler is no longer called, because it was removed or its informer has
// stopped.
func (r *Registration) Done() <-chan struct{} { return r.done }

// Backlog measures how far the handler is behind. By default a notification is one change, so the
// backlog of a handler that hangs grows with every change. With Coalesce it's all news of a key, in
// up to three calls. The key of the running call may then count twice.
func (r *Registration) Backlog() BacklogStats { return r.measure() }
