// Bug: an object that came and went gets the mark of the one that took its name.
package informer

func (n *notification[T]) deliver(handler Handler[T]) {
	if n.deleted {
		switch {
		case !n.known:
			handler.OnAdd(n.last, n.initial)
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
