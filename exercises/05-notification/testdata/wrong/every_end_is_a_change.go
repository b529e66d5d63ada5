// Bug: an update is told before every end.
package informer

func (n *notification[T]) deliver(handler Handler[T]) {
	if n.deleted {
		switch {
		case !n.known:
			handler.OnAdd(n.last, n.lastInitial)
		default:
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
