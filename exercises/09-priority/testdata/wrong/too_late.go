// Bug: a low level has its turn one pop too late.

package workqueue

type levels[T comparable] struct {
	grouped bool

	patience uint64

	busy  []*level[T]
	pops  uint64
	spare []*level[T]

	stalest, freshest *level[T]
}

type level[T comparable] struct {
	priority int
	n        int
	all      list[T]
	lanes    lanes[T]

	turn            uint64
	staler, fresher *level[T]
}

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

func (l *levels[T]) next() *level[T] {
	if l.pops-l.stalest.turn > l.patience+1 {
		return l.stalest
	}
	return l.busy[0]
}

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

const keepLevels = 16

func (l *levels[T]) drop(empty *level[T]) {
	place, _ := l.find(empty.priority)
	l.busy = append(l.busy[:place], l.busy[place+1:]...)
	l.unlink(empty)
	if len(l.spare) < keepLevels {
		l.spare = append(l.spare, empty)
	}
}

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
