// Bug: the change is told after the end that it came before.
package informer

func (n *notification[T]) deliver(handler Handler[T]) {
	if n.deleted {
		if !n.known {
			handler.OnAdd(n.last, n.lastInitial)
		}
		handler.OnDelete(n.last, n.unseen)
		if n.known && n.changed {
			handler.OnUpdate(n.old, n.last)
		}
	}
	switch {
	case n.exists && (n.deleted || !n.known):
		handler.OnAdd(n.object, n.initial)
	case n.exists:
		handler.OnUpdate(n.old, n.object)
	}
}
