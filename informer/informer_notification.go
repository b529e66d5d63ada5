package informer

// notification is what a handler has not heard yet: one delta, or, for a handler that asks for
// HandlerOptions.Coalesce, all those of a key. Whatever happens until the handler has time, this is
// all it takes: the first object, which the handler knows in some state, or not at all; that
// object's end; and the object that is there.
//
// It is the delta queue's idea once more, see coalesced. It is simpler here, because
// what the handler knows is what it was told.
type notification[T Object] struct {
	old    T // the object that the handler knows, in the state that it was told
	last   T // the last state of the first object, once it is gone
	object T // what is there now

	known   bool // there was an old
	deleted bool // there is a last,
	changed bool // it comes after a change that the handler has not heard,
	unseen  bool // and nobody saw the end
	exists  bool // there is an object

	lastInitial bool // the one that is gone was there when the handler was added,
	initial     bool // and so was the one that is there
}

// add takes in a delta.
func (n *notification[T]) add(delta Delta[T]) {
	if !n.deleted && !n.exists { // nothing noted so far
		n.known = delta.Type != DeltaAdded
		n.old = delta.Old
	}
	switch delta.Type {
	case DeltaDeleted:
		var none T
		if !n.deleted {
			n.deleted, n.last, n.unseen, n.lastInitial = true, delta.Object, delta.FinalStateUnknown, n.initial
			n.changed = n.exists && any(n.old) != any(n.object) // they are one after a Sync
			if !n.changed {
				n.old = none
			}
		}
		n.object, n.exists = none, false // lets go of a state that nobody will hear of
	case DeltaAdded:
		n.exists, n.object, n.initial = true, delta.Object, delta.Initial
	default:
		n.exists, n.object = true, delta.Object
	}
}

// deliver calls the handler. The object that is gone comes first. Its end is told even if it came
// and went: somebody may have seen it in the store. And it is told after a change that came before
// it: whoever it belonged to, as far as the handler knows, must hear that it no longer does.
func (n *notification[T]) deliver(handler Handler[T]) {
	if n.deleted {
		switch {
		case !n.known:
			handler.OnAdd(n.last, n.lastInitial)
		case n.changed:
			handler.OnUpdate(n.old, n.last)
		}
		handler.OnDelete(n.last, n.unseen)
	}
	switch {
	case n.exists && (n.deleted || !n.known):
		handler.OnAdd(n.object, n.initial)
	case n.exists:
		handler.OnUpdate(n.old, n.object)
	}
}
