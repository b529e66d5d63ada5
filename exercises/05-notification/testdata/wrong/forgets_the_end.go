// Bug: when another object takes the name, the end of the first is forgotten.
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
		n.exists, n.object, n.initial, n.deleted, n.known = true, delta.Object, delta.Initial, false, false
	default:
		n.exists, n.object = true, delta.Object
	}
	return n.deleted || n.exists
}
