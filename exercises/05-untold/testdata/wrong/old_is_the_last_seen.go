// Bug: old is the last state that the store had, not the one that the listener was told.

package informer

type untold[T Object] struct {
	knows   bool
	old     T
	gone    bool
	last    T
	unseen  bool
	there   bool
	object  T
	initial bool
}

func (u *untold[T]) note(delta Delta[T]) bool {
	if !u.gone && !u.there {
		u.knows = delta.Type != DeltaAdded
		u.old = delta.Old
	}
	if delta.Type == DeltaUpdated {
		u.old = delta.Old
	}
	switch delta.Type {
	case DeltaDeleted:
		u.there = false
		if u.knows && !u.gone {
			u.gone, u.last, u.unseen = true, delta.Object, delta.FinalStateUnknown
		}
	case DeltaAdded:
		u.there, u.object, u.initial = true, delta.Object, delta.Initial
	default:
		u.there, u.object = true, delta.Object
	}
	return u.gone || u.there
}
func (u *untold[T]) tell(handler Handler[T]) {
	if u.gone {
		handler.OnDelete(u.last, u.unseen)
	}
	switch {
	case u.there && (u.gone || !u.knows):
		handler.OnAdd(u.object, u.initial)
	case u.there:
		handler.OnUpdate(u.old, u.object)
	}
}
