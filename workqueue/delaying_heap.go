package workqueue

import (
	"container/heap"
	"math"
	"time"
)

// delays knows which alarms are pending, and which of them is due first. An item has one alarm at
// most. Whether it waits for a worker, or a worker holds it, doesn't matter here.
//
// It's a value without lock, clock or timer: moments are durations since the queue was made, and
// come in as arguments.
type delays[T comparable] struct {
	alarms map[T]*alarm[T]
	heap   alarmHeap[T] // the same alarms, the one that is due first at the top
	newest uint64       // the order of the newest alarm
}

// alarm is an item that will be added later. Until then its priority and causes are its own: an Add
// that comes earlier is other work.
type alarm[T comparable] struct {
	item     T
	group    string
	at       time.Duration // when it's due
	priority int
	causes   Causes
	order    uint64 // of two that are due at the same moment, the lower comes first
	index    int    // in the heap
}

// delayOutcome is the result of a request for an alarm.
type delayOutcome uint8

const (
	delayStarted delayOutcome = iota // the alarm is a new one
	delayMoved                       // it was pending, and is due at another moment now
	delayKept                        // it was pending, and its moment stays
)

// add sets an item's alarm to a moment. If one is already pending, the earlier moment counts, the
// higher priority, and the causes of both. With request.replace, the new moment counts. If the item
// can't be the key of a map, add panics and changes nothing.
func (d *delays[T]) add(
	item T, group string, at time.Duration, request addRequest,
) (*alarm[T], delayOutcome) {
	a, pending := d.alarms[item]
	if !pending {
		d.newest++
		a = &alarm[T]{
			item: item, group: group, at: at, priority: request.priority, causes: request.causes,
			order: d.newest,
		}
		if d.alarms == nil {
			d.alarms = map[T]*alarm[T]{}
		}
		d.alarms[item] = a
		heap.Push(&d.heap, a)
		return a, delayStarted
	}
	a.priority = max(a.priority, request.priority)
	a.causes.merge(request.causes)
	if at == a.at || at > a.at && !request.replace {
		return a, delayKept
	}
	a.at = at
	heap.Fix(&d.heap, a.index)
	return a, delayMoved
}

// next returns when the first alarm is due; false if there's none.
func (d *delays[T]) next() (at time.Duration, ok bool) {
	if len(d.heap) == 0 {
		return 0, false
	}
	return d.heap[0].at, true
}

// pop removes an alarm that is due by now, and returns it, or nil if there is none.
func (d *delays[T]) pop(now time.Duration) *alarm[T] {
	if at, ok := d.next(); !ok || at > now {
		return nil
	}
	// not by its item: a map doesn't find one that isn't equal to itself
	a := heap.Pop(&d.heap).(*alarm[T])
	delete(d.alarms, a.item)
	return a
}

// remove takes an item's alarm out, due or not, and returns it, or nil if there is none.
func (d *delays[T]) remove(item T) *alarm[T] {
	a := d.alarms[item]
	if a != nil {
		delete(d.alarms, item)
		heap.Remove(&d.heap, a.index)
	}
	return a
}

// alarmHeap is for container/heap.
type alarmHeap[T comparable] []*alarm[T]

func (h alarmHeap[T]) Len() int { return len(h) }

func (h alarmHeap[T]) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].order < h[j].order
}

func (h alarmHeap[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *alarmHeap[T]) Push(x any) {
	a := x.(*alarm[T])
	a.index = len(*h)
	*h = append(*h, a)
}

func (h *alarmHeap[T]) Pop() any {
	old := *h
	last := len(old) - 1
	a := old[last]
	old[last] = nil // or the slice would keep it in memory
	*h = old[:last]
	return a
}

// later returns the moment that is a while after now. A delay that is too long to count, such as
// that of a token bucket that never fills, never ends.
func later(now, while time.Duration) time.Duration {
	if while > math.MaxInt64-now {
		return math.MaxInt64
	}
	return now + while
}
