package workqueue

// priorityLevels is the order of a priority queue. Higher priorities come first, but no
// level waits forever, and within a level the groups take turns.
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
// It is a value without lock or clock; it counts pops instead of time. Other schedulers
// raise an item's priority while it waits. Such an item would have to be moved again and
// again, and its bound would depend on how fast the work is done.
type priorityLevels[T comparable] struct {
	grouped bool // or else all items are one group
	// patience is how many items of higher levels may overtake a level that waits.
	patience uint64

	busy  []*priorityLevel[T] // those that are not empty, the highest priority first
	pops  uint64
	spare []*priorityLevel[T] // to use again
	// The busy levels again, in the order of their last turn: stalest first.
	stalest, freshest *priorityLevel[T]
}

// priorityLevel holds the waiting items of one priority.
type priorityLevel[T comparable] struct {
	priority int
	n        int          // how many items
	all      entryList[T] // if there are no groups
	lanes    fairLanes[T]
	// turn is the pop that served the level last, or before which it became busy.
	turn            uint64
	staler, fresher *priorityLevel[T]
}

// push puts an entry at the end of its group, in the level of its priority.
func (l *priorityLevels[T]) push(e *entry[T]) {
	index, found := l.find(e.priority)
	if !found {
		l.insert(index, e.priority)
	}
	to := l.busy[index]
	to.n++
	if !l.grouped {
		to.all.append(e)
	} else {
		to.lanes.push(e)
	}
}

// pop takes the next entry out; there must be one.
func (l *priorityLevels[T]) pop() *entry[T] {
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
func (l *priorityLevels[T]) next() *priorityLevel[T] {
	if l.pops-l.stalest.turn > l.patience {
		return l.stalest
	}
	return l.busy[0]
}

// raise moves a waiting entry to the end of a higher level.
func (l *priorityLevels[T]) raise(e *entry[T], priority int) {
	index, _ := l.find(e.priority)
	from := l.busy[index]
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

// find returns where a priority is, or would be, among the busy levels. There are few
// of them, and most items go to the first.
func (l *priorityLevels[T]) find(priority int) (index int, found bool) {
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

// insert makes a level busy. It begins to wait now, as if it had just had its turn.
func (l *priorityLevels[T]) insert(index, priority int) {
	var fresh *priorityLevel[T]
	if n := len(l.spare); n > 0 {
		fresh, l.spare = l.spare[n-1], l.spare[:n-1]
	} else {
		fresh = new(priorityLevel[T])
	}
	fresh.priority, fresh.turn = priority, l.pops
	l.busy = append(l.busy, nil)
	copy(l.busy[index+1:], l.busy[index:])
	l.busy[index] = fresh
	l.freshen(fresh)
}

// keepLevels is how many empty levels are kept to use again.
const keepLevels = 16

// drop gives up a level that is empty.
func (l *priorityLevels[T]) drop(empty *priorityLevel[T]) {
	index, _ := l.find(empty.priority)
	last := len(l.busy) - 1
	copy(l.busy[index:], l.busy[index+1:])
	l.busy[last], l.busy = nil, l.busy[:last]
	l.unlink(empty)
	if len(l.spare) < keepLevels {
		l.spare = append(l.spare, empty)
	}
}

// served makes a level the one that has had its turn last.
func (l *priorityLevels[T]) served(from *priorityLevel[T]) {
	if l.freshest != from {
		l.unlink(from)
		l.freshen(from)
	}
}

func (l *priorityLevels[T]) freshen(one *priorityLevel[T]) {
	one.staler, one.fresher = l.freshest, nil
	if l.freshest == nil {
		l.stalest = one
	} else {
		l.freshest.fresher = one
	}
	l.freshest = one
}

func (l *priorityLevels[T]) unlink(one *priorityLevel[T]) {
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
