// Bug: pop does not check whether an alarm is pending.
package workqueue

import (
	"time"
)

func (d *delayHeap[T]) pop(now time.Duration) *alarmRecord[T] {
	if d.items.at(0).at > now {
		return nil
	}
	a := d.items.at(0).alarm
	d.remove(a)
	return a
}
