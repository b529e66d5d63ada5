package informer

// notification is what a handler has not heard yet about a key. Whatever happens
// until the handler returns, this is all it takes: the end of the object that it knows,
// the beginning of the one that is there, or the way from one state to another.
//
// It is the delta queue's idea once more, see coalesced. It is simpler here, because
// what the handler knows is what it was told.
type notification[T Object] struct {
	old    T // the object that the handler knows, in the state that it was told, while it is there
	last   T // its last state, once it is gone
	object T // what is there now

	known   bool // there is an old
	deleted bool // there is a last,
	unseen  bool // and nobody saw the end
	exists  bool // there is an object,
	initial bool // and it was there when the handler was added
}

// add takes in a delta, and reports whether there is anything left to deliver. If
// not, the object came and went, and the handler never heard of it.
func (n *notification[T]) add(delta Delta[T]) bool {
	if !n.deleted && !n.exists { // nothing noted so far
		n.known = delta.Type != DeltaAdded
		n.old = delta.Old
	}
	switch delta.Type {
	case DeltaDeleted:
		var none T // lets go of the states that nobody will hear of
		n.old, n.object, n.exists = none, none, false
		if n.known && !n.deleted {
			n.deleted, n.last, n.unseen = true, delta.Object, delta.FinalStateUnknown
		}
	case DeltaAdded:
		n.exists, n.object, n.initial = true, delta.Object, delta.Initial
	default:
		n.exists, n.object = true, delta.Object
	}
	return n.deleted || n.exists
}

// deliver calls the handler. The object that is gone comes first.
func (n *notification[T]) deliver(handler Handler[T]) {
	if n.deleted {
		handler.OnDelete(n.last, n.unseen)
	}
	switch {
	case n.exists && (n.deleted || !n.known):
		handler.OnAdd(n.object, n.initial)
	case n.exists:
		handler.OnUpdate(n.old, n.object)
	}
}
