// Bug: a change of the second object counts as one of the first.
package informer

func (n *notification[T]) add(delta Delta[T]) {
	if !n.deleted && !n.exists {
		n.known = delta.Type != DeltaAdded
		n.old = delta.Old
	}
	switch delta.Type {
	case DeltaDeleted:
		var none T
		n.changed = n.changed || n.exists && any(n.old) != any(n.object)
		if !n.deleted {
			n.deleted, n.last, n.unseen, n.lastInitial = true, delta.Object, delta.FinalStateUnknown, n.initial
			if !n.changed {
				n.old = none
			}
		}
		n.object, n.exists = none, false
	case DeltaAdded:
		n.exists, n.object, n.initial = true, delta.Object, delta.Initial
	default:
		n.exists, n.object = true, delta.Object
	}
}
