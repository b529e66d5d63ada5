package informer

// coalesced is what happened to a key since the consumer last took its deltas, in
// three lanes: what the server has now, what it had before, and what the consumer
// must hear beyond that. It is the same size after a thousand updates as after one.
//
// It does not say what the consumer has. That is looked up when the consumer takes
// its deltas, and not before: in between, it changes.
type coalesced[T Object] struct {
	// The server: the newest state of the object that is there now.
	now    T
	exists bool

	// Before: the last state of the first object that went in the meantime. It is the
	// one that the consumer may have; the consumer never hears about those that came
	// and went after it. unseen: nobody saw it go, a list or another UID proves it.
	// changed: it was there, perhaps in a new state, before it went, and the consumer may
	// not know that state.
	last    T
	ended   bool
	unseen  bool
	changed bool

	// The consumer.
	fresh   bool // it cannot have an object of this key: the first was created meanwhile
	initial bool // the object was in the first list
	sync    bool // it must be handed the object even if nothing happened
}

// put notes that the object is there: it was added, changed or listed. The consumer
// has seen none of the states in between, and misses nothing without them.
func (c *coalesced[T]) put(object T) {
	if c.exists && c.now.GetUID() != object.GetUID() {
		// Another object has the name: the UID proves that the first was deleted, even
		// if nobody saw it. To the consumer it must not look like a change.
		c.end(c.now, true)
	}
	c.now, c.exists = object, true
}

// remove notes that the object is gone; unseen says that nobody saw it go. It returns
// false if there is nothing to hand over: the consumer has never heard of the object.
func (c *coalesced[T]) remove(last T, unseen bool) bool {
	c.end(last, unseen)
	var none T
	c.now, c.exists = none, false
	return c.ended
}

// end notes the end of an object that the consumer may have. If the object exists, then it
// was put since the consumer looked.
func (c *coalesced[T]) end(last T, unseen bool) {
	if !c.fresh && !c.ended {
		c.last, c.ended, c.unseen, c.changed = last, true, unseen, c.exists
	}
}

// deltas appends what leads a consumer from the object that it has, or none, to what
// the server has: nothing, or up to three deltas, if an object has changed, has gone, and
// another one has taken its name.
//
// A change before the end is told, though the object is gone. Say that a Pod gets another
// owner and is deleted. The last state names only the new owner, but it is the former one
// that misses a Pod. The consumer knows it from Old.
func (c *coalesced[T]) deltas(to []Delta[T], key Key, known T, has bool) []Delta[T] {
	added := Delta[T]{Type: DeltaAdded, Key: key, Object: c.now, Initial: c.initial}
	switch {
	case !has && c.exists:
		return append(to, added)
	case !has: // it came and went
		return to
	case c.ended || c.now.GetUID() != known.GetUID():
		// Even if the same object returned: whoever watches with a selector sees the end
		// of an object that leaves it, and the beginning when it comes back.
		gone := Delta[T]{Type: DeltaDeleted, Key: key, Object: known, Old: known, FinalStateUnknown: true}
		if c.ended && c.last.GetUID() == known.GetUID() {
			if c.changed && !isSame(known, c.last) {
				to = append(to, Delta[T]{Type: DeltaUpdated, Key: key, Object: c.last, Old: known})
				gone.Old = c.last
			}
			gone.Object, gone.FinalStateUnknown = c.last, c.unseen
		}
		if to = append(to, gone); c.exists {
			to = append(to, added)
		}
		return to
	case !isSame(known, c.now):
		return append(to, Delta[T]{Type: DeltaUpdated, Key: key, Object: c.now, Old: known, Initial: c.initial})
	case c.sync:
		return append(to, Delta[T]{Type: DeltaSync, Key: key, Object: known, Old: known})
	default:
		return to
	}
}
