// Bug: an update that the handler has not heard is lost when the object goes.
package informer

func (n *notification[T]) deliver(handler Handler[T]) {
	if n.deleted {
		if !n.known {
			handler.OnAdd(n.last, n.lastInitial)
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
