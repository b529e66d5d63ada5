package informer

// backlog is what a listener has not been told yet: a place for each object with
// news, in the order in which they first had some. It is as long as there are
// objects that the listener knows and objects that there are, at most.
//
// A place is found by the slot that the object has in the informer's store: one
// look into an array. With ten listeners, maps from keys would be asked thirty
// times for each change, about a third of what a change costs. The array takes 8
// bytes for each object, and stays.
//
// The zero backlog is empty. It has no lock and no goroutine.
type backlog[T Object] struct {
	line[slot, untold[T]]
	pages   []*[pageSize]*queued[slot, untold[T]] // the places, by slot
	initial int                                   // objects of the initial list in it
}

// note takes in what happened to the object that has, or had until now, the slot.
func (b *backlog[T]) note(at slot, delta Delta[T]) {
	found := b.at(at)
	if *found == nil || (*found).value.isEndOfAnother(delta) {
		*found = b.push(at)
	}
	place := *found
	before := place.value.isInitial()
	left := place.value.note(delta)
	b.count(before, place.value.isInitial())
	if !left {
		b.leave(place)
	}
}

// take moves up to most of what is untold to a batch.
func (b *backlog[T]) take(batch []untold[T], most int) []untold[T] {
	for len(batch) < most && b.front != nil {
		front := b.front
		batch = append(batch, front.value)
		b.count(front.value.isInitial(), false)
		b.leave(front)
	}
	return batch
}

// at is where the slot's place is kept.
func (b *backlog[T]) at(s slot) **queued[slot, untold[T]] {
	for int(s/pageSize) >= len(b.pages) {
		b.pages = append(b.pages, new([pageSize]*queued[slot, untold[T]]))
	}
	return &b.pages[s/pageSize][s%pageSize]
}

// leave takes a place out. Its slot may have another one already: the store gives
// the slot of a deleted object to the next.
func (b *backlog[T]) leave(place *queued[slot, untold[T]]) {
	if found := b.at(place.key); *found == place {
		*found = nil
	}
	b.remove(place)
}

func (b *backlog[T]) count(before, after bool) {
	if before {
		b.initial--
	}
	if after {
		b.initial++
	}
}

// isEndOfAnother tells whether this is about an object that is gone, and the delta
// about one of another name, which has got its slot.
func (u *untold[T]) isEndOfAnother(delta Delta[T]) bool {
	return delta.Type == DeltaAdded && u.gone && KeyOf(u.last) != delta.Key
}

// isInitial tells whether it is about an object of the initial list.
func (u *untold[T]) isInitial() bool { return u.there && u.initial }
