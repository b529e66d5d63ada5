// Bug: old is the last state that the store had, not the one that the handler was told.
package informer

func (n *notification[T]) add(delta Delta[T]) bool {
	if !n.deleted && !n.exists {
		n.known = delta.Type != DeltaAdded
		n.old = delta.Old
	}
	if delta.Type == DeltaUpdated {
		n.old = delta.Old
	}
	switch delta.Type {
	case DeltaDeleted:
		n.exists = false
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
