// Bug: a level with groups is served first-in first-out.
package workqueue

func (l *priorityLevels[T]) push(e *entry[T]) {
	place, found := l.find(e.priority)
	if !found {
		l.insert(place, e.priority)
	}
	to := l.busy[place]
	to.n++
	to.all.append(e)
}

func (l *priorityLevels[T]) pop() *entry[T] {
	l.pops++
	from := l.next()
	if len(l.busy) > 1 {
		l.served(from)
	}
	from.turn = l.pops
	from.n--
	var e *entry[T]
	e = from.all.first
	from.all.remove(e)
	if from.n == 0 {
		l.drop(from)
	}
	return e
}

func (l *priorityLevels[T]) raise(e *entry[T], priority int) {
	place, _ := l.find(e.priority)
	from := l.busy[place]
	from.n--
	from.all.remove(e)
	if from.n == 0 {
		l.drop(from)
	}
	e.priority = priority
	l.push(e)
}
