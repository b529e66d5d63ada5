package informer

// pending is what happened to a key since the consumer was last told of it,
// boiled down: what there is now, and whether another object had the name before.
// It is the same size after a thousand updates as after one.
//
// It says nothing of what the consumer knows, which is asked for when the consumer
// comes, and not before: in between, it changes.
type pending[T Object] struct {
	object  T    // the newest state; the last one if it is gone
	begun   bool // there is something to say at all
	gone    bool // the object was deleted,
	unseen  bool // and nobody saw it
	fresh   bool // it was made since: the consumer has never heard of it
	sync    bool // to be handed over also if nothing happened
	listed  bool // the newest state came with a list, and may be no news
	initial bool // it was in the first list

	// former is the last state of an earlier object with the same name, which the
	// consumer may know. There is one if reborn is set.
	former       T
	reborn       bool
	formerUnseen bool
}

// put notes that the object is there: it was added, changed or listed. Updates
// coalesce: what was not handed over is not missed.
func (p *pending[T]) put(object T) {
	// TODO: what is there now? Did another object have the name before?
	p.object, p.begun = object, true
}

// remove notes that the object is gone; unseen says that this is a conclusion. It
// returns false if the consumer need not be told at all: the object came and
// went behind its back.
func (p *pending[T]) remove(last T, unseen bool) bool {
	return true // TODO: what is there to tell, and about which object?
}

// deltas appends what the consumer must be told if it has the known object, or
// none: nothing, one delta, or two, if another object has taken the name.
func (p *pending[T]) deltas(to []Delta[T], key Key, known T, has bool) []Delta[T] {
	return to // TODO: nothing, one delta, or two
}
