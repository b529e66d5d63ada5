// Bug: once an object was initial, every other one of that name is.

package informer

type untold[T Object] struct {
	old    T // the object that the listener knows, as it was told of it,
	last   T // and its last state, if it is gone
	object T // what is there now

	knows   bool // there is an old
	gone    bool // there is a last,
	unseen  bool // and nobody saw the end
	there   bool // there is an object,
	initial bool // and it was there when the listener began to listen
}

func (u *untold[T]) note(delta Delta[T]) bool {
	if !u.gone && !u.there {
		u.knows = delta.Type != DeltaAdded
		u.old = delta.Old
	}
	switch delta.Type {
	case DeltaDeleted:
		u.there = false
		if u.knows && !u.gone {
			u.gone, u.last, u.unseen = true, delta.Object, delta.FinalStateUnknown
		}
	case DeltaAdded:
		u.there, u.object, u.initial = true, delta.Object, u.initial || delta.Initial
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
