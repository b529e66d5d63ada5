package workqueue

// fairLanes gives each group of items its turn. Every group has a lane, which is first-in
// first-out; the lanes stand in a ring, and each turn takes one item from the
// first and sends it to the end. So a group with ten thousand items and one with a
// single item are served alike: an item at the head of its lane waits for one
// item of each other group at most.
//
// Source: J. Nagle, On packet switches with infinite storage, RFC 970, 1985
// (round robin over one queue for each source). API Priority and Fairness, in the
// API server, does the same for requests.
//
// It is a value without lock or clock.
type fairLanes[T comparable] struct {
	// waiting finds the lane of a group. It is the queue's table, because it gives the memory
	// of a hundred thousand groups back when most of them are gone.
	waiting     itemTable[string, lane[T], *lane[T]] // no lane is empty
	first, last *lane[T]                             // the ring, cut open before the next turn
}

type lane[T comparable] struct {
	tableKey[string, lane[T]] // whose item is the group
	entryList[T]
	prev, next *lane[T]
}

// push puts an entry at the end of its group's lane.
func (l *fairLanes[T]) push(e *entry[T]) {
	hash := hashOf(e.group)
	in := l.waiting.find(e.group, hash)
	if in == nil {
		in = l.waiting.of(e.group, hash)
		l.link(in)
	}
	in.append(e)
}

// pop takes the next entry from the lane whose turn it is.
func (l *fairLanes[T]) pop() *entry[T] {
	in := l.first
	e := in.entryList.first
	in.remove(e)
	l.unlink(in)
	if in.entryList.first == nil {
		l.waiting.remove(in)
	} else {
		l.link(in)
	}
	return e
}

// remove takes out an entry that is somewhere in its group's lane.
func (l *fairLanes[T]) remove(e *entry[T]) {
	in := l.waiting.find(e.group, hashOf(e.group))
	in.remove(e)
	if in.entryList.first == nil {
		l.unlink(in)
		l.waiting.remove(in)
	}
}

func (l *fairLanes[T]) link(in *lane[T]) {
	in.prev, in.next = l.last, nil
	if l.last == nil {
		l.first = in
	} else {
		l.last.next = in
	}
	l.last = in
}

func (l *fairLanes[T]) unlink(in *lane[T]) {
	if in.prev == nil {
		l.first = in.next
	} else {
		in.prev.next = in.next
	}
	if in.next == nil {
		l.last = in.prev
	} else {
		in.next.prev = in.prev
	}
	in.prev, in.next = nil, nil
}
