package workqueue

// lanes gives each group of items its turn. Every group has a lane, which is first-in
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
type lanes[T comparable] struct {
	known       map[string]*lane[T] // none of them is empty
	first, last *lane[T]            // the ring, cut open before the next turn
	peak        int                 // the most that were known at once
	spare       *lane[T]            // to use again, chained by next
	spares      int                 // how many
}

// keepLanes is for how many groups memory is held ready when no item waits.
const keepLanes = 1 << 10

type lane[T comparable] struct {
	list[T]
	group      string
	prev, next *lane[T]
}

// push puts an entry at the end of its group's lane.
func (l *lanes[T]) push(e *entry[T]) {
	in := l.known[e.group]
	if in == nil {
		in = l.open(e.group)
	}
	in.append(e)
}

// pop takes an entry from the lane whose turn it is.
func (l *lanes[T]) pop() *entry[T] {
	in := l.first
	e := in.list.first
	in.remove(e)
	l.unlink(in)
	if in.list.first == nil {
		l.close(in)
	} else {
		l.link(in)
	}
	return e
}

// remove takes an entry out that is somewhere in its group's lane.
func (l *lanes[T]) remove(e *entry[T]) {
	in := l.known[e.group]
	in.remove(e)
	if in.list.first == nil {
		l.unlink(in)
		l.close(in)
	}
}

// open makes a lane for a group, at the end of the ring.
func (l *lanes[T]) open(group string) *lane[T] {
	in := l.spare
	if in == nil {
		in = new(lane[T])
	} else {
		l.spare, in.next = in.next, nil
		l.spares--
	}
	if l.known == nil {
		l.known = map[string]*lane[T]{}
	}
	in.group = group
	l.known[group] = in
	l.peak = max(l.peak, len(l.known))
	l.link(in)
	return in
}

// close gives up a lane that is empty, and is in the ring no more.
func (l *lanes[T]) close(in *lane[T]) {
	delete(l.known, in.group)
	in.group = ""
	if l.spares < keepLanes {
		in.next, l.spare = l.spare, in
		l.spares++
	}
	if l.peak > keepLanes && len(l.known) == 0 {
		l.known, l.peak = nil, 0 // a map keeps the room that it has grown to
	}
}

func (l *lanes[T]) link(in *lane[T]) {
	in.prev, in.next = l.last, nil
	if l.last == nil {
		l.first = in
	} else {
		l.last.next = in
	}
	l.last = in
}

func (l *lanes[T]) unlink(in *lane[T]) {
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
