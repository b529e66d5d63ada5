// Bug: an object that came and went is told as a change.
package informer

func (n *notification[T]) deliver(handler Handler[T]) {
	if n.deleted {
		if n.changed {
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
