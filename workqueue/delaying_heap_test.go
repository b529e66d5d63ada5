package workqueue

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// delayBench is delays on the test bench: keys are strings or bytes.
type delayBench[T comparable] struct {
	delayHeap[T]
	alarms alarmTable[T]
}

func (b *delayBench[T]) want(item T, at time.Duration, w addRequest) delayOutcome {
	return b.add(b.alarms.of(item, hashOf(item)), at, w)
}

// cancel removes an item's alarm, if it has one.
func (b *delayBench[T]) cancel(item T) bool {
	a := b.alarms.find(item, hashOf(item))
	if a == nil || a.heapIndex == 0 {
		return false
	}
	b.remove(a)
	return true
}

// Function: heapItem.before
func TestDelaysAreComparedByTheirMomentsFirst(t *testing.T) {
	slot := func(at time.Duration, order uint64) heapItem[string] {
		return heapItem[string]{at, &alarmRecord[string]{heapOrder: order}}
	}
	require.Equal(t, map[string]bool{
		"due earlier, added first":            true,
		"due earlier, added later":            true,
		"due later, added first":              false,
		"due later, added later":              false,
		"due at the same moment, added first": true,
		"due at the same moment, added later": false,
	}, map[string]bool{
		"due earlier, added first":            slot(1, 3).before(slot(2, 9)),
		"due earlier, added later":            slot(1, 9).before(slot(2, 3)),
		"due later, added first":              slot(2, 3).before(slot(1, 9)),
		"due later, added later":              slot(2, 9).before(slot(1, 3)),
		"due at the same moment, added first": slot(5, 3).before(slot(5, 9)),
		"due at the same moment, added later": slot(5, 9).before(slot(5, 3)),
	}, "the moments count; where they are the same, the alarm that was added first comes first")
}

// Function: delayHeap.add or delayHeap.pop
func TestDelaysEndInTheOrderInWhichTheyAreDue(t *testing.T) {
	var d delayBench[string]
	for i, item := range []string{"c", "a", "d", "b"} {
		d.want(item, []time.Duration{3, 1, 4, 2}[i], addRequest{})
	}
	at, ok := d.next()
	require.True(t, ok, "what is put off must be remembered, or nobody ever looks at it")
	require.Equal(t, time.Duration(1), at, "four alarms were set, and the earliest is not the first in the heap: the timer would be late")
	require.Equal(t, "a", due1(t, &d, 1), "the first to be due comes first")
	require.Equal(t, 3, d.items.n, "one of four alarms went off, and left the heap")
	at, _ = d.next()
	require.Equal(t, time.Duration(2), at, "the timer is set to the moment of the next one; a wrong one is late or early")
	require.True(t, d.pop(1) == nil, "an item comes out before its delay is over")
	for _, item := range []string{"b", "c", "d"} {
		require.Equal(t, item, due1(t, &d, 9), "what is due earlier comes earlier")
	}
}

// due1 takes out the next item that is due.
func due1(t *testing.T, d *delayBench[string], now time.Duration) string {
	t.Helper()
	e := d.pop(now)
	require.True(t, e != nil, "an item is due, and does not come out: it would be late, or lost")
	return e.item
}

// Function: heapItem.before or delayHeap.add
func TestDelaysThatEndAtOnceComeInTheOrderOfAdding(t *testing.T) {
	var d delayBench[string]
	for i := range 20 {
		d.want(fmt.Sprint(i), 5, addRequest{})
	}
	require.Equal(t, 20, int(d.newest), "newest is the number of the newest alarm, and counts those that were set")
	require.Equal(t, 20, int(d.alarms.find("19", hashOf("19")).heapOrder), "each alarm has the number that newest had when it was set")
	for i := range 20 {
		require.Equal(t, fmt.Sprint(i), due1(t, &d, 5), "first in, first out")
	}
}

// One alarm is moved to an earlier moment, and one to a later. Both may have to change places
// in the heap with others, above or below.
//
// Function: delayHeap.add
func TestDelaysThatAreMovedComeAtTheirNewMoments(t *testing.T) {
	var d delayBench[string]
	for i, item := range []string{"a", "b", "c", "d", "e", "f"} {
		d.want(item, time.Duration(10+i), addRequest{})
	}
	d.want("f", 1, addRequest{})
	d.want("a", 20, addRequest{replace: true})
	var order []string
	for range 6 {
		order = append(order, due1(t, &d, 99))
	}
	require.Equal(t, []string{"f", "b", "c", "d", "e", "a"}, order, "f was brought forward, and a was put off: the heap must be repaired where an alarm was moved")
}

// Function: delayHeap.add
func TestDelaysOfOneItemAreOneAndTheEarliestWins(t *testing.T) {
	var d delayBench[string]
	d.want("other", 4, addRequest{})
	require.True(t, d.want("a", 5, addRequest{causes: because("x"), priority: 1}) == delayStarted, "the first delay of an item is a new one: add answers delayStarted")
	later := d.want("a", 9, addRequest{causes: because("y")})
	require.Equal(t, 2, d.items.n, "two items have an alarm, one each: an item with two would be worked on twice")
	at, _ := d.next()
	require.Equal(t, time.Duration(4), at, "the timer is set to the moment of the item that is due first")
	require.True(t, later == delayKept, "a later delay must not put an item off: whoever asked for the earlier one relies on it")
	earlier := d.want("a", 2, addRequest{causes: because("z"), priority: 3})
	at, _ = d.next()
	require.Equal(t, time.Duration(2), at, "an earlier delay brings an item forward")
	require.True(t, earlier == delayMoved, "the item is due at another moment now: add answers delayMoved")
	e := d.pop(2)
	require.True(t, e != nil, "the item is due at the earliest of its moments")
	require.Equal(t, "a", e.item, "the item that was brought forward comes first")
	require.Equal(t, 3, e.priority, "the highest priority wins")
	require.Equal(t, []string{"x", "y", "z"}, e.causes.all().Reasons(), "the reasons of all adds are kept")
	require.Equal(t, "other", due1(t, &d, 9), "the other item comes at its own moment")
	require.True(t, d.pop(9) == nil, "an item comes out twice: it would be worked on once too often")
}

// A resync asks for a look in an hour, and a user's change, which matters more, for one in a
// day. The look in an hour is for both.
//
// Function: delayHeap.add
func TestDelaysThatAreKeptStillTakeThePriorityAndTheCauses(t *testing.T) {
	var d delayBench[string]
	d.want("a", 5, addRequest{causes: because("x"), priority: -100})
	require.True(t, d.want("a", 9, addRequest{causes: because("y"), priority: 7}) == delayKept, "a later delay must not put an item off")
	a := d.alarms.find("a", hashOf("a"))
	require.Equal(t, 7, a.priority, "the moment is kept, and the priority of the later delay is higher: the highest priority counts, whichever moment does")
	require.Equal(t, []string{"x", "y"}, a.causes.all().Reasons(), "the moment is kept, and the work will answer both adds: the causes of the later delay are lost")
	require.Equal(t, 2, a.causes.all().Count, "the moment is kept, and the work will answer both adds")
	d.want("a", 9, addRequest{causes: because("z"), priority: 1})
	require.Equal(t, 7, a.priority, "a lower priority takes nothing back")
}

// What is moved was asked for when it was asked for first.
//
// Function: delayHeap.add
func TestDelaysThatAreMovedKeepTheirTurn(t *testing.T) {
	var d delayBench[string]
	d.want("a", 9, addRequest{})
	d.want("b", 5, addRequest{})
	d.want("a", 5, addRequest{})
	require.Equal(t, "a", due1(t, &d, 5), "both are due at the same moment, and a was added first: to be moved is not to be added again")
	require.Equal(t, "b", due1(t, &d, 5), "the other one comes next")
}

// Function: delayHeap.add
func TestDelaysThatAreAskedForTwiceForOneMomentStand(t *testing.T) {
	var d delayBench[string]
	d.want("a", 5, addRequest{priority: 1, causes: because("x")})
	require.True(t, d.pop(4) == nil, "the item is due at 5, and comes out before")
	require.True(t, d.want("a", 5, addRequest{causes: because("y")}) == delayKept, "the item is due at this moment already: the delay is kept, not moved")
	require.True(t, d.want("a", 5, addRequest{replace: true}) == delayKept, "to replace a moment by the same one moves nothing: the delay is kept")
}

// Function: delayHeap.add
func TestDelaysCanBeReplacedByALaterOne(t *testing.T) {
	var d delayBench[string]
	d.want("a", 1, addRequest{priority: 5, causes: because("x")})
	d.want("b", 2, addRequest{})
	require.True(t, d.want("a", 3, addRequest{replace: true, priority: 2, causes: because("y")}) == delayMoved, "a delay that is replaced by a later one is moved")
	require.Equal(t, "b", due1(t, &d, 9), "who replaces a delay means the new one")
	e := d.pop(9)
	require.True(t, e != nil && e.item == "a", "what was replaced comes at its new moment")
	require.Equal(t, []string{"x", "y"}, e.causes.all().Reasons(), "replace is about the moment: the reasons of all adds are kept")
	require.Equal(t, 5, e.priority, "replace is about the moment: the highest priority stays")
}

// An alarm's record is used again, and says what it said when it went off.
//
// Function: delayHeap.add
func TestDelaysThatWentOffStartOver(t *testing.T) {
	var d delayBench[string]
	e := d.alarms.of("a", hashOf("a"))
	e.priority = 7
	e.causes.set(because("old"))
	require.True(t, d.want("a", 5, addRequest{priority: 2, causes: because("new")}) == delayStarted, "the item has no delay: this one is new, and add answers delayStarted")
	require.Equal(t, []string{"new"}, e.causes.all().Reasons(), "a new delay is new work: the old reason was answered by earlier work")
	require.Equal(t, 2, e.priority, "a new delay is new work: the old priority was that of earlier work")
}

// The heap is four levels deep here, so that alarms change places far from the first one.
//
// Function: delayHeap.add or heapItem.before
func TestDelaysCanBeCancelledAnywhereInTheHeap(t *testing.T) {
	for seed := range uint64(10) {
		var d delayBench[int]
		random := rand.New(rand.NewPCG(seed, 70))
		for item, at := range random.Perm(200) {
			d.want(item, time.Duration(at), addRequest{})
		}
		for _, item := range random.Perm(200) {
			require.True(t, d.cancel(item), "the item has a delay, which can be cancelled")
			require.False(t, d.cancel(item), "it can be cancelled once")
			for i := range d.items.n {
				require.False(t, i > 0 && d.items.at(i).before(*d.items.at((i - 1) / children)), "an alarm was cancelled, and slot %d of the heap is due before the one above it", i)
			}
		}
	}
}

// Everything below slot 1 is due late, and everything else early: an alarm that changed places
// with one that is not below it would be in the wrong order.
//
// Function: heapItem.before
func TestDelaysChangePlacesOnlyWithThoseBelow(t *testing.T) {
	const slots = 60
	for gone := range slots {
		var d delayBench[int]
		for slot := range slots {
			top := slot
			for top > 4 {
				top = (top - 1) / children
			}
			switch {
			case slot == slots-1: // it takes the place of the one that is cancelled
				d.want(slot, 5000, addRequest{})
			case top == 1:
				d.want(slot, time.Duration(1000+slot), addRequest{})
			default:
				d.want(slot, time.Duration(slot), addRequest{})
			}
			require.Equal(t, slot, d.items.at(slot).alarm.item, "each alarm is due after the one above it, and stays at the end")
		}
		d.cancel(gone)
		for i := range d.items.n {
			require.False(t, i > 0 && d.items.at(i).before(*d.items.at((i - 1) / children)), "the alarm in slot %d was cancelled, and slot %d is due before the one above it", gone, i)
		}
	}
}

// A token bucket that never fills has a delay of 292 years. Added to a moment, it
// must not become one of the past.
//
// Function: later
func TestDelaysDoNotOverflow(t *testing.T) {
	require.Equal(t, time.Duration(math.MaxInt64), later(time.Hour, math.MaxInt64), "a moment too far away to count is the last there is, and not one of the past")
	require.Equal(t, time.Duration(math.MaxInt64), later(2, math.MaxInt64-1), "a moment that is just too far away to count is the last there is, and not one of the past")
	require.Equal(t, time.Duration(math.MaxInt64-1), later(2, math.MaxInt64-3), "a moment far away that can be counted is exact")
	require.Equal(t, 2*time.Hour, later(time.Hour, time.Hour), "a moment is the one before it, plus a while")
}

// A million retries after an outage must not cost memory forever, even if a few items are
// always put off. What comes and goes every day is not allocated every day.
//
// Function: delayHeap.pop
func TestDelaysFollowWhatIsThereAndNotThePeak(t *testing.T) {
	const items, stay = 10 * keepAtMost, 10
	before := heapSize()
	alarms := make([]alarmRecord[int], items)
	alone := heapSize() - before
	var d delayHeap[int]
	for i := range alarms {
		d.add(&alarms[i], time.Duration(i), addRequest{})
	}
	require.Greater(t, heapSize()-before-alone, int64(items*16), "or else there is nothing to give back")
	for range items - stay {
		d.pop(math.MaxInt64)
	}
	require.Less(t, heapSize()-before-alone, int64(2*keepAtMost*16), "ten are left, and the heap keeps the room that a peak needed")
	require.Zero(t, testing.AllocsPerRun(3, func() {
		for i := range keepAtMost - stay - segment {
			d.add(&alarms[i], time.Duration(i), addRequest{})
		}
		for range keepAtMost - stay - segment {
			d.pop(math.MaxInt64)
		}
	}), "the room for so many alarms is kept for the next time")
	require.Equal(t, stay, d.items.n, "those that were there stayed")
	runtime.KeepAlive(alarms)
}
