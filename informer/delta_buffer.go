package informer

// deltaBuffer is the delta queue without its lock: what was coalesced for each key, in
// the order in which the keys first had news. With everyEvent, an event of a watch coalesces
// with nothing, and its entry is behind all that came before it.
type deltaBuffer[T Object] struct {
	everyEvent    bool
	queue         keyedQueue[bufferedDelta[T]]
	pushed        int    // entries that there ever were
	version       string // the collection's version that the reflector has reached
	handedVersion string // and the consumer

	lists        uint64 // how many there were
	initialLeft  int    // entries of the first list that are still in the queue
	syncLeft     int    // entries in the queue that a resync asked for
	syncReported bool   // a batch has said that the first list is complete

	// vanished and resync ask for a walk through what the consumer has, see compare.
	vanished, resync bool
	resyncing        bool // no batch has said yet that a resync is complete
}

// bufferedDelta is what was coalesced for a key, and the last list that named it. before and
// ahead are about other entries of its key, which only everyEvent allows.
type bufferedDelta[T Object] struct {
	coalesced[T]
	alone  bool  // it is one event, and takes in nothing else
	ahead  int32 // of the newest: how many there are before it
	list   uint64
	number int // entries are numbered as they come, from 1
	before int // the number of the one before it, if that was in the queue when this one came
}

// entryFor returns the node that takes in news of the key, from an event of a watch or from a
// list: the newest that there is, or a new one at the end.
func (d *deltaBuffer[T]) entryFor(key Key, event bool) *queueNode[Key, bufferedDelta[T]] {
	newest := d.queue.find(key)
	alone := event && d.everyEvent
	if newest != nil && !alone && !newest.value.alone {
		return newest
	}
	node := d.push(key)
	node.value.alone = alone
	if newest != nil {
		node.value.before, node.value.ahead = newest.value.number, newest.value.ahead+1
	}
	return node
}

func (d *deltaBuffer[T]) push(key Key) *queueNode[Key, bufferedDelta[T]] {
	node := d.queue.push(key)
	d.pushed++
	node.value.number = d.pushed
	return node
}

// put notes an event: an object is there. created says that it was not there before,
// according to the watch. A watch may say so twice; see DeltaQueue.checkFreshLocked.
func (d *deltaBuffer[T]) put(object T, created bool) {
	entry := &d.entryFor(KeyOf(object), true).value
	if !entry.exists && !entry.ended { // it is new
		entry.fresh = created && !entry.alone
	}
	entry.put(object)
}

// remove notes an event: an object is gone.
func (d *deltaBuffer[T]) remove(last T) {
	d.end(d.entryFor(KeyOf(last), true), last, false)
}

// end notes in an entry that the object is gone.
func (d *deltaBuffer[T]) end(node *queueNode[Key, bufferedDelta[T]], last T, unseen bool) {
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
		entry := &d.entryFor(KeyOf(object), false).value
		entry.put(object)
		entry.list = d.lists
		if d.lists == 1 && !entry.initial {
			entry.initial = true
			d.initialLeft++
		}
	}
	for node := d.queue.front; node != nil; {
		next := node.next
		if entry := &node.value; entry.list != d.lists && entry.exists && d.queue.find(node.key) == node {
			d.end(d.entryFor(node.key, false), entry.now, true)
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
		node = d.push(key)
		node.value.remove(object, true)
	case resync:
		node = d.push(key)
		node.value.put(object)
	}
	if node != nil && resync && !node.value.sync {
		node.value.sync = true
		d.syncLeft++
	}
}

// count is how many deltas the key will lead to, at most.
func (d *deltaBuffer[T]) count(key Key) int {
	node := d.queue.find(key)
	if node == nil {
		return 0
	}
	count := int(node.value.ahead)
	for _, one := range []bool{node.value.changed, node.value.ended, node.value.exists} {
		if one {
			count++
		}
	}
	return count
}

// take moves up to most entries out of the queue, to an empty slice.
func (d *deltaBuffer[T]) take(to []takenDelta[T], most int) []takenDelta[T] {
	for first := 0; len(to) < most && d.queue.front != nil; {
		front := d.queue.front
		if first == 0 {
			first = front.value.number
		}
		to = append(to, takenDelta[T]{key: front.key, coalesced: front.value.coalesced, behind: front.value.before >= first})
		d.drop(front)
	}
	return to
}

// takenDelta is an entry that has left the queue. behind says that another one of its key has
// left with it, and comes before it.
type takenDelta[T Object] struct {
	key Key
	coalesced[T]
	behind bool
}

func (d *deltaBuffer[T]) drop(node *queueNode[Key, bufferedDelta[T]]) {
	if node.value.initial {
		d.initialLeft--
	}
	if node.value.sync {
		d.syncLeft--
	}
	if newer := d.queue.remove(node); newer != nil {
		newer.value.ahead--
	}
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
