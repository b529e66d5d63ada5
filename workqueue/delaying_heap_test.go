package workqueue

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// delayBench is delays on the test bench: keys are strings or bytes.
type delayBench[T comparable] struct{ delays[T] }

func (b *delayBench[T]) want(item T, at time.Duration, w addRequest) delayOutcome {
	_, outcome := b.add(item, "", at, w)
	return outcome
}

// cancel removes an item's alarm, if it has one.
func (b *delayBench[T]) cancel(item T) bool { return b.remove(item) != nil }

func TestDelaysAreComparedByTheirMomentsFirst(t *testing.T) {
	before := func(at time.Duration, order uint64, otherAt time.Duration, otherOrder uint64) bool {
		return alarmHeap[string]{{at: at, order: order}, {at: otherAt, order: otherOrder}}.Less(0, 1)
	}
	require.Equal(t, map[string]bool{
		"due earlier, added first":            true,
		"due earlier, added later":            true,
		"due later, added first":              false,
		"due later, added later":              false,
		"due at the same moment, added first": true,
		"due at the same moment, added later": false,
	}, map[string]bool{
		"due earlier, added first":            before(1, 3, 2, 9),
		"due earlier, added later":            before(1, 9, 2, 3),
		"due later, added first":              before(2, 3, 1, 9),
		"due later, added later":              before(2, 9, 1, 3),
		"due at the same moment, added first": before(5, 3, 5, 9),
		"due at the same moment, added later": before(5, 9, 5, 3),
	}, "the moments count; where they are the same, the alarm that was added first comes first")
}

func TestDelaysEndInTheOrderInWhichTheyAreDue(t *testing.T) {
	var d delayBench[string]
	for i, item := range []string{"c", "a", "d", "b"} {
		d.want(item, []time.Duration{3, 1, 4, 2}[i], addRequest{})
	}
	at, ok := d.next()
	require.True(t, ok, "what is put off must be remembered, or nobody ever looks at it")
	require.Equal(t, time.Duration(1), at, "four alarms were set, and the earliest is not the first in the heap: the timer would be late")
	require.Equal(t, "a", due1(t, &d, 1), "the first to be due comes first")
	require.Equal(t, 3, len(d.heap), "one of four alarms went off, and left the heap")
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

func TestDelaysThatEndAtOnceComeInTheOrderOfAdding(t *testing.T) {
	var d delayBench[string]
	for i := range 20 {
		d.want(fmt.Sprint(i), 5, addRequest{})
	}
	require.Equal(t, 20, int(d.newest), "newest is the number of the newest alarm, and counts those that were set")
	require.Equal(t, 20, int(d.alarms["19"].order), "each alarm has the number that newest had when it was set")
	for i := range 20 {
		require.Equal(t, fmt.Sprint(i), due1(t, &d, 5), "first in, first out")
	}
}

// One alarm is moved to an earlier moment, and one to a later. Both may have to change places
// in the heap with others, above or below.
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

func TestDelaysOfOneItemAreOneAndTheEarliestWins(t *testing.T) {
	var d delayBench[string]
	d.want("other", 4, addRequest{})
	require.True(t, d.want("a", 5, addRequest{causes: because("x"), priority: 1}) == delayStarted, "the first delay of an item is a new one: add answers delayStarted")
	later := d.want("a", 9, addRequest{causes: because("y")})
	require.Equal(t, 2, len(d.heap), "two items have an alarm, one each: an item with two would be worked on twice")
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
	require.Equal(t, []string{"x", "y", "z"}, e.causes.Reasons(), "the reasons of all adds are kept")
	require.Equal(t, "other", due1(t, &d, 9), "the other item comes at its own moment")
	require.True(t, d.pop(9) == nil, "an item comes out twice: it would be worked on once too often")
}

// A resync asks for a look in an hour, and a user's change, which matters more, for one in a
// day. The look in an hour is for both.
func TestDelaysThatAreKeptStillTakeThePriorityAndTheCauses(t *testing.T) {
	var d delayBench[string]
	d.want("a", 5, addRequest{causes: because("x"), priority: -100})
	require.True(t, d.want("a", 9, addRequest{causes: because("y"), priority: 7}) == delayKept, "a later delay must not put an item off")
	a := d.alarms["a"]
	require.Equal(t, 7, a.priority, "the moment is kept, and the priority of the later delay is higher: the highest priority counts, whichever moment does")
	require.Equal(t, []string{"x", "y"}, a.causes.Reasons(), "the moment is kept, and the work will answer both adds: the causes of the later delay are lost")
	require.Equal(t, 2, a.causes.Count, "the moment is kept, and the work will answer both adds")
	d.want("a", 9, addRequest{causes: because("z"), priority: 1})
	require.Equal(t, 7, a.priority, "a lower priority takes nothing back")
}

// What is moved was asked for when it was asked for first.
func TestDelaysThatAreMovedKeepTheirTurn(t *testing.T) {
	var d delayBench[string]
	d.want("a", 9, addRequest{})
	d.want("b", 5, addRequest{})
	d.want("a", 5, addRequest{})
	require.Equal(t, "a", due1(t, &d, 5), "both are due at the same moment, and a was added first: to be moved is not to be added again")
	require.Equal(t, "b", due1(t, &d, 5), "the other one comes next")
}

func TestDelaysThatAreAskedForTwiceForOneMomentStand(t *testing.T) {
	var d delayBench[string]
	d.want("a", 5, addRequest{priority: 1, causes: because("x")})
	require.True(t, d.pop(4) == nil, "the item is due at 5, and comes out before")
	require.True(t, d.want("a", 5, addRequest{causes: because("y")}) == delayKept, "the item is due at this moment already: the delay is kept, not moved")
	require.True(t, d.want("a", 5, addRequest{replace: true}) == delayKept, "to replace a moment by the same one moves nothing: the delay is kept")
}

func TestDelaysCanBeReplacedByALaterOne(t *testing.T) {
	var d delayBench[string]
	d.want("a", 1, addRequest{priority: 5, causes: because("x")})
	d.want("b", 2, addRequest{})
	require.True(t, d.want("a", 3, addRequest{replace: true, priority: 2, causes: because("y")}) == delayMoved, "a delay that is replaced by a later one is moved")
	require.Equal(t, "b", due1(t, &d, 9), "who replaces a delay means the new one")
	e := d.pop(9)
	require.True(t, e != nil && e.item == "a", "what was replaced comes at its new moment")
	require.Equal(t, []string{"x", "y"}, e.causes.Reasons(), "replace is about the moment: the reasons of all adds are kept")
	require.Equal(t, 5, e.priority, "replace is about the moment: the highest priority stays")
}

// The heap is eight levels deep here, so that alarms change places far from the first one.
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
			for i := range d.heap {
				require.False(t, i > 0 && d.heap.Less(i, (i-1)/2), "an alarm was cancelled, and slot %d of the heap is due before the one above it", i)
			}
		}
	}
}

// A token bucket that never fills has a delay of 292 years. Added to a moment, it
// must not become one of the past.
func TestDelaysDoNotOverflow(t *testing.T) {
	require.Equal(t, time.Duration(math.MaxInt64), later(time.Hour, math.MaxInt64), "a moment too far away to count is the last there is, and not one of the past")
	require.Equal(t, time.Duration(math.MaxInt64), later(2, math.MaxInt64-1), "a moment that is just too far away to count is the last there is, and not one of the past")
	require.Equal(t, time.Duration(math.MaxInt64-1), later(2, math.MaxInt64-3), "a moment far away that can be counted is exact")
	require.Equal(t, 2*time.Hour, later(time.Hour, time.Hour), "a moment is the one before it, plus a while")
}
