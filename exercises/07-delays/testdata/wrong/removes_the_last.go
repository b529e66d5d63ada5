// Bug: pop returns the first alarm, and removes the last slot.
package workqueue

import (
	"time"
)

func (d *delayHeap[T]) pop(now time.Duration) *alarmRecord[T] {
	if at, ok := d.next(); !ok || at > now {
		return nil
	}
	a := d.items.at(0).alarm
	d.items.pop()
	a.heapIndex = 0
	return a
}
