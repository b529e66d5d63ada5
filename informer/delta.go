package informer

// deltaType says what a change means to the store's copy of the collection. The watch's own types
// don't say that: client-go's consumer looks into its store to find out whether an "Added" is new.
type deltaType uint8

const (
	deltaAdded   deltaType = iota + 1 // the store had no object with that key
	deltaUpdated                      // it had an older state of the same object
	deltaDeleted                      // it had an object that no longer exists
	deltaLeft                         // it had an object that exists, but isn't kept any more; see Informer.Keep
	// nothing happened: the handler gets the object again, see HandlerOptions.Resync
	deltaSync
)

// delta is one change of the store.
type delta[T Object] struct {
	kind deltaType
	// object is the object as it is now, and for deltaDeleted its last known state.
	object T
	// old is the object that the store had; the zero T for deltaAdded.
	old T
	// unseen makes a deltaDeleted a tombstone: the watch missed the deletion. The object
	// disappeared while there was no watch, and its last known state may be old.
	unseen bool
	// initial marks objects that existed when the handler was added.
	initial bool
}

// notification is news that a handler hasn't heard yet: one delta, or, with
// HandlerOptions.Coalesce, all those of a key. Package source sets that if all events of an object
// make the same request, and no predicate has to see each of them. Whatever happens until the handler
// has time, this is all that it takes: the first object, which the handler knows in some state or not
// at all; the end of that object; and the object that exists now.
type notification[T Object] struct {
	old    T // the object that the handler knows, in the state that it was told
	last   T // the last state of the first object, once it's deleted
	object T // the object that exists now

	known   bool // the handler was told old
	deleted bool // the first object ended, as last
	left    bool // it didn't end: it isn't kept any more
	changed bool // before it ended it changed, and the handler wasn't told
	unseen  bool // the watch missed its end
	exists  bool // there is such an object

	lastInitial bool // last existed when the handler was added
	initial     bool // object existed when the handler was added
}

// add adds a delta.
func (n *notification[T]) add(d delta[T]) {
	if !n.deleted && !n.exists { // nothing noted so far
		n.known = d.kind != deltaAdded
		n.old = d.old
	}
	switch d.kind {
	case deltaDeleted, deltaLeft:
		var none T
		if !n.deleted {
			n.deleted, n.last, n.unseen, n.lastInitial = true, d.object, d.unseen, n.initial
			n.left = d.kind == deltaLeft
			n.changed = n.exists && any(n.old) != any(n.object) // they are one after a Sync
			if !n.changed {
				n.old = none
			}
		}
		n.object, n.exists = none, false // lets go of a state that the handler won't hear of
	case deltaAdded:
		n.exists, n.object, n.initial = true, d.object, d.initial
	default:
		n.exists, n.object = true, d.object
	}
}

// deliver calls the handler. A single delta is one call: OnAdd for deltaAdded, OnUpdate for
// deltaUpdated and deltaSync, OnDelete for deltaDeleted, OnLeave for deltaLeft.
//
// If there are several deltas, those of the deleted object come first. The handler hears of its end
// even if it came and went, because a reader may have seen it in the store. And it hears of it
// after a change that came before: the owner that the handler knows of must hear that it no longer
// has the object.
func (n *notification[T]) deliver(handler Handler[T]) {
	if n.deleted {
		switch {
		case !n.known:
			handler.OnAdd(n.last, n.lastInitial)
		case n.changed:
			handler.OnUpdate(n.old, n.last)
		}
		if !n.left {
			handler.OnDelete(n.last, n.unseen)
		} else if leaves, ok := handler.(LeaveHandler[T]); ok {
			leaves.OnLeave(n.last)
		}
	}
	switch {
	case n.exists && (n.deleted || !n.known):
		handler.OnAdd(n.object, n.initial)
	case n.exists:
		handler.OnUpdate(n.old, n.object)
	}
}

// calls names the calls that deliver makes, for the flight recorder, and returns the object that
// they're about.
func (n *notification[T]) calls() (op string, object T) {
	end := "delete"
	if n.left {
		end = "leave"
	}
	switch {
	case !n.exists && !n.known:
		return "add and " + end, n.last
	case !n.exists && n.changed:
		return "update and " + end, n.last
	case !n.exists:
		return end, n.last
	case n.deleted && !n.known:
		return "add, " + end + " and add", n.object
	case n.changed:
		return "update, " + end + " and add", n.object
	case n.deleted:
		return end + " and add", n.object
	case !n.known:
		return "add", n.object
	default:
		return "update", n.object
	}
}

// initials returns how many objects of the initial list it adds.
func (n *notification[T]) initials() (count int) {
	if n.lastInitial {
		count++
	}
	if n.exists && n.initial {
		count++
	}
	return count
}

// pendingNotifications is a queue of the notifications that one handler hasn't had yet.
//
// By default each delta is one, in the order in which they came. If the queue coalesces, there's
// one for each key, in the order in which the keys first had news. Then the queue is never longer
// than the number of keys, however slow the handler is.
//
// It has no lock and no goroutine.
//
// client-go has the same after its store: the buffer of a processorListener, which keeps every
// notification. Before its store it has a RealFIFO (once a DeltaFIFO); we have nothing there.
type pendingNotifications[T Object] struct {
	coalesces bool
	waiting   []*notification[T]
	of        map[Key]*notification[T] // only if it coalesces
	initial   int                      // objects of the initial list in it
}

func (q *pendingNotifications[T]) len() int { return len(q.waiting) }

// add adds a delta.
func (q *pendingNotifications[T]) add(d delta[T]) {
	n := q.of[KeyOf(d.object)]
	if n == nil {
		n = &notification[T]{}
		q.waiting = append(q.waiting, n)
		if q.coalesces {
			if q.of == nil {
				q.of = map[Key]*notification[T]{}
			}
			q.of[KeyOf(d.object)] = n
		}
	}
	q.initial -= n.initials()
	n.add(d)
	q.initial += n.initials()
}

// take removes the first notification, or returns nil if there is none.
func (q *pendingNotifications[T]) take() *notification[T] {
	if len(q.waiting) == 0 {
		q.of, q.waiting = nil, nil // a Go map never shrinks, and a slice keeps what was before it
		return nil
	}
	n := q.waiting[0]
	q.waiting[0] = nil
	q.waiting = q.waiting[1:]
	q.initial -= n.initials()
	if q.coalesces {
		_, object := n.calls()
		delete(q.of, KeyOf(object))
	}
	return n
}
