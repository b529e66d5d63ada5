// Bug: when another object takes the name of one that came and went, the first is forgotten.
package informer

func (n *notification[T]) add(delta Delta[T]) {
	if !n.deleted && !n.exists {
		n.known = delta.Type != DeltaAdded
		n.old = delta.Old
	}
	switch delta.Type {
	case DeltaDeleted:
		var none T
		if !n.deleted {
			n.deleted, n.last, n.unseen, n.lastInitial = true, delta.Object, delta.FinalStateUnknown, n.initial
			n.changed = n.exists && any(n.old) != any(n.object)
			if !n.changed {
				n.old = none
			}
		}
		n.object, n.exists = none, false
	case DeltaAdded:
		n.deleted = n.deleted && n.known
		n.exists, n.object, n.initial = true, delta.Object, delta.Initial
	default:
		n.exists, n.object = true, delta.Object
	}
}
