// Bug: an alarm goes off only after its moment.
package workqueue

import (
	"time"
)

func (d *delayHeap[T]) pop(now time.Duration) *alarmRecord[T] {
	if at, ok := d.next(); !ok || at >= now {
		return nil
	}
	a := d.items.at(0).alarm
	d.remove(a)
	return a
}
