package workqueue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Most queues have a few alarms, and an outage has a million. What comes and goes at a constant rate
// allocates nothing.
func TestAHeapHasTheSegmentOfTheNextAlarmAndOneMore(t *testing.T) {
	const peak = keepAtMost + 3*segment
	var s heapSlots[int]
	for n := range peak {
		s.push(heapItem[int]{})
		equal(t, (n+unusedSlots)/segment+1, len(s.segments), "a heap of %d alarms makes a segment when it needs one, and not before", n+1)
	}
	made := len(s.segments)
	for s.n > 0 {
		s.pop()
		next := (s.n + unusedSlots) / segment // the segment of the next alarm
		equal(t, min(made, max(next+2, keepAtMost/segment)), len(s.segments), "a heap of %d alarms keeps one segment that is empty, and what keepAtMost alarms need", s.n)
	}
}

// The slots below the last ones would lie in a segment that is not there yet. A heap that looks
// for them takes the process with it.
func TestAlarmsArePutOffInAHeapWhoseLastSegmentIsFull(t *testing.T) {
	for items := segment - 2*children; items <= segment; items++ {
		var b delayBench[int]
		for i := range items {
			b.want(i, time.Duration(i), addRequest{})
		}
		for i := range items {
			b.want(i, time.Duration(items+i), addRequest{replace: true})
		}
		for i := range items {
			a := b.pop(time.Duration(2 * items))
			require.True(t, a != nil && a.item == i, "item %d of %d comes when it is due", i, items)
		}
	}
}
