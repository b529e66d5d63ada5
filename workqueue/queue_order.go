package workqueue

// readyOrder decides in which order ready items are handed out. Its methods are called
// with the queue's lock held. A queue that is first-in first-out has a fifo;
// the priority queue has another.
type readyOrder[T comparable] interface {
	// push adds an entry that is in no order and no list.
	push(e *entry[T])
	// pop removes the next one. There is one: the queue counts them.
	pop() *entry[T]
	// raise is called when a waiting entry is added again with a priority that
	// is higher than its own. It sets the priority and moves the entry.
	raise(e *entry[T], priority int)
}

// fifo hands out in the order of adding. To it, a priority is only a number that
// travels with the entry.
type fifo[T comparable] struct{ entryList[T] }

func (f *fifo[T]) push(e *entry[T]) { f.append(e) }

func (f *fifo[T]) pop() *entry[T] {
	e := f.first
	f.remove(e)
	return e
}

func (f *fifo[T]) raise(e *entry[T], priority int) { e.priority = priority }

// entryList is a chain of entries. The links are in the entries themselves, so that
// it allocates nothing, and so that an entry in the middle can leave at once.
// client-go appends to a slice and cuts off its head, which moves the slice
// through memory and allocates as it goes.
type entryList[T comparable] struct {
	first, last *entry[T]
}

func (l *entryList[T]) append(e *entry[T]) {
	e.prev, e.next = l.last, nil
	if l.last == nil {
		l.first = e
	} else {
		l.last.next = e
	}
	l.last = e
}

func (l *entryList[T]) remove(e *entry[T]) {
	if e.prev == nil {
		l.first = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		l.last = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.prev, e.next = nil, nil
}
