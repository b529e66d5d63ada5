package informer

// untold is what a listener has not been told yet about a key. Whatever happens
// until it listens again, this is all it takes: the end of what it knows, the
// beginning of what is there, or the way from one to the other.
//
// It is the delta queue's idea once more, see pending. It is simpler here, because
// what the listener knows is what it was told.
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

// note takes in a delta, and tells whether there is anything left to tell. If
// not, the object came and went, and the listener never heard of it.
func (u *untold[T]) note(delta Delta[T]) bool {
	return true // TODO: take the delta in. Is anything left to tell?
}

// tell calls the handler. The object that is gone comes first.
func (u *untold[T]) tell(handler Handler[T]) {
	// TODO: OnDelete, OnAdd or OnUpdate, or two of them
}
