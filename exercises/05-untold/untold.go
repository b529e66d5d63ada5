package informer

// untold is what a listener has not been told yet about a key. Whatever happens
// until it listens again, this is all it takes: the end of what it knows, the
// beginning of what is there, or the way from one to the other.
//
// It is the delta queue's idea once more, see pending. It is simpler here, because
// what the listener knows is what it was told.
type untold[T Object] struct {
	knows   bool // the listener was told of an object of this name,
	old     T    // in this state
	gone    bool // which is no longer there;
	last    T    // this was its last state,
	unseen  bool // or the last that is known
	there   bool // there is an object now,
	object  T    // in this state
	initial bool // which was there when the listener began to listen
}

// note takes in a delta, and tells whether there is anything left to tell. If
// not, the object came and went, and the listener never heard of it.
func (u *untold[T]) note(delta Delta[T]) bool {
	return true // TODO: take the delta in. Is anything left to tell?
}

// tell calls the handler. The object that is gone comes first.
func (u *untold[T]) tell(handler Handler[T]) {
	// TODO: OnDelete, OnAdd or OnUpdate, or two of them
}
