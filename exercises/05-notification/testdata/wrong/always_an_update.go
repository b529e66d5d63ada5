// Bug: an addition that was updated before it was told is told as an update.
package informer

func (n *notification[T]) add(delta Delta[T]) bool {
	if !n.deleted && !n.exists {
		n.known = delta.Type != DeltaAdded
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
		n.exists, n.object, n.known = true, delta.Object, true
	}
	return n.deleted || n.exists
}
