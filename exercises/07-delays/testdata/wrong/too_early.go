// Bug: pop does not check whether the alarm is due.
package workqueue

import (
	"time"
)

func (d *delayHeap[T]) pop(now time.Duration) *alarmRecord[T] {
	if _, ok := d.next(); !ok {
		return nil
	}
	a := d.items.at(0).alarm
	d.remove(a)
	return a
}
