// Bug: the priority of a later add is lost.
package workqueue

import (
	"time"
)

func (d *delayHeap[T]) add(a *alarmRecord[T], at time.Duration, request addRequest) delayOutcome {
	if a.heapIndex == 0 {
		a.priority = request.priority
		a.causes.set(request.causes)
		d.newest++
		a.heapOrder = d.newest
		d.items.push(heapItem[T]{at, a})
		d.up(d.items.n - 1)
		return delayStarted
	}
	a.causes.merge(request.causes)
	moment := &d.items.at(a.heapIndex - 1).at
	if at == *moment || at > *moment && !request.replace {
		return delayKept
	}
	*moment = at
	d.settle(a.heapIndex - 1)
	return delayMoved
}
