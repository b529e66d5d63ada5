package workqueue

import (
	"cmp"
	"container/list"
	"slices"
)

// priorityLevels is the order of a priority queue. Higher priorities come first, but no level waits
// forever, and within a level the groups take turns.
//
// Guarantees: within a level and a group, it's first in, first out. A level that isn't empty has a
// turn at least once in patience+n pops, where n is the number of levels that aren't empty. In a
// level, an item at the head of its group waits for at most one item of each other group.
//
// Caveats: each level below the highest takes one pop in patience+1. With more than patience of
// them, nothing is left for the highest, and the levels take turns as if they were equal.
// Priorities are for a few classes of work, well below patience: each pop looks at all levels.
//
// It's a value without lock or clock; it counts pops instead of time. Other schedulers raise an
// item's priority while it waits. Such an item would have to be moved again and again, and its
// bound would depend on how fast the work is done.
type priorityLevels[T comparable] struct {
	// patience is how many items of higher levels may overtake a level that waits.
	patience uint64

	levels []*priorityLevel[T] // the highest priority first; a few of them may be empty
	pops   uint64
}

// priorityLevel holds the waiting items of one priority.
type priorityLevel[T comparable] struct {
	priority int
	n        int // how many items
	lanes    fairLanes[T]
	// turn is the pop that last served the level, or before which it became busy.
	turn uint64
}

// keepLevels is how many levels there may be until empty ones are removed.
const keepLevels = 16

// push puts an entry at the end of its group, in the level of its priority.
func (l *priorityLevels[T]) push(e *entry[T]) {
	to := l.level(e.priority)
	if to.n == 0 {
		to.turn = l.pops // it begins to wait now, as if it had just had its turn
	}
	to.n++
	to.lanes.push(e)
}

// level finds the level of a priority, and makes one if there is none.
func (l *priorityLevels[T]) level(priority int) *priorityLevel[T] {
	find := func() (index int, found bool) {
		return slices.BinarySearchFunc(l.levels, priority,
			func(level *priorityLevel[T], priority int) int {
				return cmp.Compare(priority, level.priority) // the highest comes first
			})
	}
	index, found := find()
	if found {
		return l.levels[index]
	}
	if len(l.levels) >= keepLevels {
		l.levels = slices.DeleteFunc(l.levels, func(level *priorityLevel[T]) bool {
			return level.n == 0
		})
		index, _ = find()
	}
	fresh := &priorityLevel[T]{priority: priority}
	l.levels = slices.Insert(l.levels, index, fresh)
	return fresh
}

// pop takes the next entry out; there must be one.
func (l *priorityLevels[T]) pop() *entry[T] {
	l.pops++
	from := l.next()
	from.turn = l.pops
	from.n--
	return from.lanes.pop()
}

// next decides which level has its turn: one that has waited too long, or else the highest.
func (l *priorityLevels[T]) next() *priorityLevel[T] {
	var highest, stalest *priorityLevel[T]
	for _, level := range l.levels {
		if level.n == 0 {
			continue
		}
		if highest == nil {
			highest, stalest = level, level
		}
		if level.turn < stalest.turn {
			stalest = level
		}
	}
	if l.pops-stalest.turn > l.patience {
		return stalest
	}
	return highest
}

// raise moves a waiting entry to the end of a higher level.
func (l *priorityLevels[T]) raise(e *entry[T], priority int) {
	from := l.level(e.priority)
	from.n--
	from.lanes.remove(e)
	e.priority = priority
	l.push(e)
}

// fairLanes gives each group of items its turn. Every group has a lane, which is first in, first
// out. The lanes form a ring, and each turn takes one item from the first lane and sends that lane
// to the end. So a group with ten thousand items and one with a single item are served alike: an
// item at the head of its lane waits for at most one item of each other group.
//
// Source: J. Nagle, On packet switches with infinite storage, RFC 970, 1985 (round robin over one
// queue for each source). API Priority and Fairness, in the API server, does the same for requests.
type fairLanes[T comparable] struct {
	lanes map[string]*lane[T] // by group; no lane is empty
	ring  list.List           // of the lanes; the next turn is the first one's
}

type lane[T comparable] struct {
	fifo[T]
	group string
	place *list.Element // in the ring
}

// push puts an entry at the end of its group's lane.
func (l *fairLanes[T]) push(e *entry[T]) {
	in := l.lanes[e.group]
	if in == nil {
		if l.lanes == nil {
			l.lanes = map[string]*lane[T]{}
		}
		in = &lane[T]{group: e.group}
		in.place = l.ring.PushBack(in)
		l.lanes[e.group] = in
	}
	in.push(e)
}

// pop takes the next entry from the lane whose turn it is.
func (l *fairLanes[T]) pop() *entry[T] {
	in := l.ring.Front().Value.(*lane[T])
	l.ring.MoveToBack(in.place)
	e := in.pop()
	l.drop(in)
	return e
}

// remove takes out an entry from anywhere in its group's lane.
func (l *fairLanes[T]) remove(e *entry[T]) {
	in := l.lanes[e.group]
	in.remove(e)
	l.drop(in)
}

// drop removes a lane if it's empty.
func (l *fairLanes[T]) drop(in *lane[T]) {
	if in.first == nil {
		l.ring.Remove(in.place)
		delete(l.lanes, in.group)
	}
}
