// Bug: a resync is not told.
package informer

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
	case n.exists && any(n.old) != any(n.object):
		handler.OnUpdate(n.old, n.object)
	}
}
