// Bug: add starts a second alarm for an item that has one.
package workqueue

import (
	"time"
)

func (d *delayHeap[T]) add(a *alarmRecord[T], at time.Duration, request addRequest) delayOutcome {
	a.priority = request.priority
	a.causes.set(request.causes)
	d.newest++
	a.heapOrder = d.newest
	d.items.push(heapItem[T]{at, a})
	d.up(d.items.n - 1)
	return delayStarted
}
