package informer

// deltaBuffer is the delta queue without its lock: what was coalesced for each key, in
// the order in which the keys first had news.
type deltaBuffer[T Object] struct {
	queue         keyedQueue[bufferedDelta[T]]
	version       string // the collection's version that the reflector has reached
	handedVersion string // and the consumer

	lists        uint64 // how many there were
	initialLeft  int    // keys of the first list that are still in the queue
	syncLeft     int    // keys in the queue that a resync asked for
	syncReported bool   // a batch has said that the first list is complete

	// vanished and resync ask for a walk through what the consumer has, see compare.
	vanished, resync bool
	resyncing        bool // no batch has said yet that a resync is complete
}

// bufferedDelta is what was coalesced for a key, and the last list that named it.
type bufferedDelta[T Object] struct {
	coalesced[T]
	list uint64
}

// put notes that an object is there. created says that it was not there before,
// according to the watch. A watch may say so twice; see DeltaQueue.checkFreshLocked.
func (d *deltaBuffer[T]) put(object T, created bool) *bufferedDelta[T] {
	key := KeyOf(object)
	node := d.queue.find(key)
	if node == nil {
		node = d.queue.push(key)
		node.value.fresh = created
	}
	node.value.put(object)
	return &node.value
}

// remove notes that an object is gone.
func (d *deltaBuffer[T]) remove(last T, unseen bool) {
	key := KeyOf(last)
	node := d.queue.find(key)
	if node == nil {
		node = d.queue.push(key)
	}
	if !node.value.remove(last, unseen) {
		d.drop(node)
	}
}

// replace notes a whole list. What is in the queue and not in the list has vanished.
// So has what the consumer has and the list has not; but that can only be looked up
// on the consumer's goroutine, before the next batch, see compare.
func (d *deltaBuffer[T]) replace(items []T) {
	d.lists++
	for _, object := range items {
		entry := d.put(object, false)
		entry.list = d.lists
		if d.lists == 1 && !entry.initial {
			entry.initial = true
			d.initialLeft++
		}
	}
	for node := d.queue.front; node != nil; {
		next := node.next
		if entry := &node.value; entry.list != d.lists && entry.exists && !entry.remove(entry.now, true) {
			d.drop(node)
		}
		node = next
	}
	d.vanished = true
}

// compare notes an object that the consumer has. Since the list that asked for the
// comparison nothing has left the queue; so a key that is not in the queue was not in
// the list.
func (d *deltaBuffer[T]) compare(object T, vanished, resync bool) {
	key := KeyOf(object)
	node := d.queue.find(key)
	switch {
	case node != nil:
		node.value.fresh = false
	case vanished:
		node = d.queue.push(key)
		node.value.remove(object, true)
	case resync:
		node = d.queue.push(key)
		node.value.put(object)
	}
	if node != nil && resync && !node.value.sync {
		node.value.sync = true
		d.syncLeft++
	}
}

// count is how many deltas the key will lead to, at most.
func (d *deltaBuffer[T]) count(key Key) int {
	switch node := d.queue.find(key); {
	case node == nil:
		return 0
	case node.value.ended && node.value.exists:
		return 2
	default:
		return 1
	}
}

// take moves up to most entries out of the queue.
func (d *deltaBuffer[T]) take(to []takenDelta[T], most int) []takenDelta[T] {
	for range most {
		front := d.queue.front
		if front == nil {
			break
		}
		to = append(to, takenDelta[T]{key: front.key, coalesced: front.value.coalesced})
		d.drop(front)
	}
	return to
}

// takenDelta is what was coalesced for a key that has left the queue.
type takenDelta[T Object] struct {
	key Key
	coalesced[T]
}

func (d *deltaBuffer[T]) drop(node *queueNode[Key, bufferedDelta[T]]) {
	if node.value.initial {
		d.initialLeft--
	}
	if node.value.sync {
		d.syncLeft--
	}
	d.queue.remove(node)
}

// milestones is what a batch says besides its deltas, after they were taken.
func (d *deltaBuffer[T]) milestones() (synced, resynced bool, version string) {
	synced = d.lists > 0 && d.initialLeft == 0
	d.syncReported = synced
	if resynced = d.resyncing && !d.resync && d.syncLeft == 0; resynced {
		d.resyncing = false
	}
	if d.queue.len() == 0 && !d.vanished {
		version, d.handedVersion = d.version, d.version
	}
	return synced, resynced, version
}

// hasNews reports whether there is anything to hand over.
func (d *deltaBuffer[T]) hasNews() bool {
	return d.queue.len() > 0 || d.version != d.handedVersion || !d.syncReported && d.lists > 0 || d.resyncing
}
