package informer

// deltas is the delta queue without its lock: what is pending for each key, in
// the order in which the keys first had news.
type deltas[T Object] struct {
	queue   fifo[noted[T]]
	version string // how far in the history the sink was told
	handed  string // and how far the consumer

	lists       uint64 // how many there were
	initialLeft int    // keys of the first list that are still in the queue
	syncLeft    int    // keys in the queue to be handed over again
	told        bool   // the consumer was told that the first list is complete

	// vanished and resync ask for a walk through what the consumer knows, see known.
	vanished, resync bool
	resyncing        bool // the consumer has not been told the end of a resync
}

// noted is what is pending for a key, and the list that named it last.
type noted[T Object] struct {
	pending[T]
	list uint64
}

// put notes that an object is there. created says that it was not there before,
// according to the watch. A watch may say so twice; see DeltaQueue.checkFreshLocked.
func (d *deltas[T]) put(object T, created bool) *noted[T] {
	key := KeyOf(object)
	place := d.queue.find(key)
	if place == nil {
		place = d.queue.push(key)
		place.value.fresh = created
	}
	place.value.put(object)
	return &place.value
}

// remove notes that an object is gone.
func (d *deltas[T]) remove(last T, unseen bool) {
	key := KeyOf(last)
	place := d.queue.find(key)
	if place == nil {
		place = d.queue.push(key)
	}
	if !place.value.remove(last, unseen) {
		d.drop(place)
	}
}

// replace notes a whole list. What is pending and not in it has vanished. What
// the consumer knows and is not in it has vanished as well, but what it knows can
// only be asked on its own goroutine: before the next batch, see known.
func (d *deltas[T]) replace(items []T) {
	d.lists++
	for _, object := range items {
		entry := d.put(object, false)
		entry.list, entry.listed = d.lists, true
		if d.lists == 1 && !entry.initial {
			entry.initial = true
			d.initialLeft++
		}
	}
	for place := d.queue.front; place != nil; {
		next := place.after
		if entry := &place.value; entry.list != d.lists && !entry.gone && !entry.remove(entry.object, true) {
			d.drop(place)
		}
		place = next
	}
	d.vanished = true
}

// known is told of an object that the consumer has. Since the list that asked for
// it, nothing has left the queue; so what has no place in it was not in the list.
func (d *deltas[T]) known(object T, vanished, resync bool) {
	key := KeyOf(object)
	place := d.queue.find(key)
	switch {
	case place != nil:
		place.value.fresh = false // the name is not new to the consumer
	case vanished:
		place = d.queue.push(key)
		place.value.remove(object, true)
	case resync:
		place = d.queue.push(key)
		place.value.put(object)
		place.value.listed = true // nothing happened
	}
	if place != nil && resync && !place.value.sync {
		place.value.sync = true
		d.syncLeft++
	}
}

// count is how many deltas the key has pending, at most.
func (d *deltas[T]) count(key Key) int {
	switch place := d.queue.find(key); {
	case place == nil:
		return 0
	case place.value.reborn:
		return 2
	default:
		return 1
	}
}

// take moves up to most entries out of the queue.
func (d *deltas[T]) take(to []taken[T], most int) []taken[T] {
	for range most {
		front := d.queue.front
		if front == nil {
			break
		}
		to = append(to, taken[T]{key: front.key, pending: front.value.pending})
		d.drop(front)
	}
	return to
}

type taken[T Object] struct {
	key Key
	pending[T]
}

func (d *deltas[T]) drop(place *queued[Key, noted[T]]) {
	if place.value.initial {
		d.initialLeft--
	}
	if place.value.sync {
		d.syncLeft--
	}
	d.queue.remove(place)
}

// milestones are what a batch says besides its deltas, after they were taken.
func (d *deltas[T]) milestones() (synced, resynced bool, version string) {
	synced = d.lists > 0 && d.initialLeft == 0
	d.told = synced
	if resynced = d.resyncing && !d.resync && d.syncLeft == 0; resynced {
		d.resyncing = false
	}
	if d.queue.len() == 0 && !d.vanished {
		version, d.handed = d.version, d.version
	}
	return synced, resynced, version
}

// news tells whether there is anything to hand over.
func (d *deltas[T]) news() bool {
	return d.queue.len() > 0 || d.version != d.handed || !d.told && d.lists > 0 || d.resyncing
}
