package workqueue

// levels is the line of a priority queue. What has a higher priority comes first;
// but no level waits for ever, and within a level each group has its turn.
//
// Guarantees: within a level and a group, it is first-in first-out. A level that is
// not empty has a turn at least once in patience+n pops, where n is the number of
// levels that are not empty. In a level, an item at the head of its group waits for
// one item of each other group at most.
//
// Caveats: each level below the highest takes one pop in patience+1. With more than
// patience of them nothing is left for the highest, and the levels take turns as if they
// were equal. Priorities are for a few classes of work, well below patience.
//
// It is a value without lock or clock; it counts pops instead of time. A waiting
// item that grew more important with time, as other schedulers have it, would have
// to be moved again and again, and its bound would depend on how fast work is done.
type levels[T comparable] struct {
	grouped bool // or else all items are one group
	// patience is how many items of higher levels may overtake a level that waits.
	patience uint64

	busy  []*level[T] // those that are not empty, the highest priority first
	pops  uint64
	spare []*level[T] // to use again
	// The busy levels again, in the order of their last turn: stalest first.
	stalest, freshest *level[T]
}

// level holds the waiting items of one priority.
type level[T comparable] struct {
	priority int
	n        int     // how many items
	all      list[T] // if there are no groups
	lanes    lanes[T]
	// turn is the pop that served the level last, or before which it became busy.
	turn            uint64
	staler, fresher *level[T]
}

// push puts an entry at the end of its group, in the level of its priority.
func (l *levels[T]) push(e *entry[T]) {
	place, found := l.find(e.priority)
	if !found {
		l.insert(place, e.priority)
	}
	to := l.busy[place]
	to.n++
	if !l.grouped {
		to.all.append(e)
	} else {
		to.lanes.push(e)
	}
}

// pop takes the next entry out; there must be one.
func (l *levels[T]) pop() *entry[T] {
	l.pops++
	from := l.next()
	if len(l.busy) > 1 {
		l.served(from)
	}
	from.turn = l.pops
	from.n--
	var e *entry[T]
	if !l.grouped {
		e = from.all.first
		from.all.remove(e)
	} else {
		e = from.lanes.pop()
	}
	if from.n == 0 {
		l.drop(from)
	}
	return e
}

// next decides which level has its turn: the one that has waited too long, or
// else the highest.
func (l *levels[T]) next() *level[T] {
	if l.pops-l.stalest.turn > l.patience {
		return l.stalest
	}
	return l.busy[0]
}

// raise moves a waiting entry to the end of a higher level.
func (l *levels[T]) raise(e *entry[T], priority int) {
	place, _ := l.find(e.priority)
	from := l.busy[place]
	from.n--
	if !l.grouped {
		from.all.remove(e)
	} else {
		from.lanes.remove(e)
	}
	if from.n == 0 {
		l.drop(from)
	}
	e.priority = priority
	l.push(e)
}

// find is where a priority is, or would be, among the busy levels. There are few
// of them, and most items go to the first.
func (l *levels[T]) find(priority int) (place int, found bool) {
	low, high := 0, len(l.busy)
	for low < high {
		if middle := (low + high) / 2; l.busy[middle].priority > priority {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, low < len(l.busy) && l.busy[low].priority == priority
}

// insert makes a level busy. It has had its turn: it begins to wait now.
func (l *levels[T]) insert(place, priority int) {
	var fresh *level[T]
	if n := len(l.spare); n > 0 {
		fresh, l.spare = l.spare[n-1], l.spare[:n-1]
	} else {
		fresh = new(level[T])
	}
	fresh.priority, fresh.turn = priority, l.pops
	l.busy = append(l.busy, nil)
	copy(l.busy[place+1:], l.busy[place:])
	l.busy[place] = fresh
	l.freshen(fresh)
}

// keepLevels is how many empty levels are kept to use again.
const keepLevels = 16

// drop gives up a level that is empty.
func (l *levels[T]) drop(empty *level[T]) {
	place, _ := l.find(empty.priority)
	l.busy = append(l.busy[:place], l.busy[place+1:]...)
	l.unlink(empty)
	if len(l.spare) < keepLevels {
		l.spare = append(l.spare, empty)
	}
}

// served makes a level the one that has had its turn last.
func (l *levels[T]) served(from *level[T]) {
	if l.freshest != from {
		l.unlink(from)
		l.freshen(from)
	}
}

func (l *levels[T]) freshen(one *level[T]) {
	one.staler, one.fresher = l.freshest, nil
	if l.freshest == nil {
		l.stalest = one
	} else {
		l.freshest.fresher = one
	}
	l.freshest = one
}

func (l *levels[T]) unlink(one *level[T]) {
	if one.staler == nil {
		l.stalest = one.fresher
	} else {
		one.staler.fresher = one.fresher
	}
	if one.fresher == nil {
		l.freshest = one.staler
	} else {
		one.fresher.staler = one.staler
	}
	one.staler, one.fresher = nil, nil
}
