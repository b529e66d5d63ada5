// Bug: pop leaves the alarm in the heap.
package workqueue

import (
	"time"
)

func (d *delayHeap[T]) pop(now time.Duration) *alarmRecord[T] {
	if at, ok := d.next(); !ok || at > now {
		return nil
	}
	a := d.items.at(0).alarm
	return a
}
