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
type delayBench[T comparable] struct {
	delays[T]
	entries table[T]
}

func (b *delayBench[T]) want(item T, at time.Duration, w wish) change {
	return b.add(b.entries.of(item, hashOf(item), ""), at, w)
}

// cancel takes an item's delay back, if it has one.
func (b *delayBench[T]) cancel(item T) bool {
	e := b.entries.find(item, hashOf(item))
	if e == nil || e.place == 0 {
		return false
	}
	b.take(e)
	return true
}

// Function: delays.add or delays.pop
func TestDelaysEndInTheOrderInWhichTheyAreDue(t *testing.T) {
	var d delayBench[string]
	for i, item := range []string{"c", "a", "d", "b"} {
		d.want(item, []time.Duration{3, 1, 4, 2}[i], wish{})
	}
	_, ok := d.next()
	require.True(t, ok, "what is put off must be remembered, or nobody ever looks at it")
	require.Equal(t, "a", due1(t, &d, 1), "the first to be due comes first")
	require.True(t, d.pop(1) == nil, "an item comes out before its delay is over")
	at, _ := d.next()
	require.Equal(t, time.Duration(2), at, "the timer is set to the moment of the next one; a wrong one is late or early")
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

// Function: due.before or delays.add
func TestDelaysThatEndAtOnceComeInTheOrderOfAdding(t *testing.T) {
	var d delayBench[string]
	for i := range 20 {
		d.want(fmt.Sprint(i), 5, wish{})
	}
	for i := range 20 {
		require.Equal(t, fmt.Sprint(i), due1(t, &d, 5), "first in, first out")
	}
}

// Function: delays.add
func TestDelaysOfOneItemAreOneAndTheEarliestWins(t *testing.T) {
	var d delayBench[string]
	d.want("other", 4, wish{})
	require.True(t, d.want("a", 5, wish{causes: because("x"), priority: 1}) == fresh, "the first delay of an item is a fresh one")
	later := d.want("a", 9, wish{causes: because("y")})
	at, _ := d.next()
	require.Equal(t, time.Duration(4), at, "the timer is set to the moment of the item that is due first")
	require.True(t, later == kept, "a later delay must not put an item off: whoever asked for the earlier one relies on it")
	require.True(t, d.want("a", 2, wish{causes: because("z"), priority: 3}) == moved, "an earlier delay brings an item forward")
	e := d.pop(2)
	require.True(t, e != nil, "the item is due at the earliest of its moments")
	require.Equal(t, "a", e.item, "the item that was brought forward comes first")
	require.Equal(t, 3, e.priority, "the highest priority wins")
	require.Equal(t, []string{"x", "y", "z"}, e.causes.Reasons(), "the reasons of all adds are kept")
	require.Equal(t, "other", due1(t, &d, 9), "the other item comes at its own moment")
	require.True(t, d.pop(9) == nil, "an item comes out twice: it would be worked on once too often")
}

// Function: delays.add
func TestDelaysThatAreAskedForTwiceForOneMomentStand(t *testing.T) {
	var d delayBench[string]
	d.want("a", 5, wish{priority: 1, causes: because("x")})
	require.True(t, d.want("a", 5, wish{causes: because("y")}) == kept, "the item is due at this moment already: the delay is kept, not moved")
	require.True(t, d.want("a", 5, wish{replace: true}) == kept, "to replace a moment by the same one moves nothing: the delay is kept")
}

// Function: delays.add
func TestDelaysCanBeReplacedByALaterOne(t *testing.T) {
	var d delayBench[string]
	d.want("a", 1, wish{priority: 5, causes: because("x")})
	d.want("b", 2, wish{})
	require.True(t, d.want("a", 3, wish{replace: true, priority: 2, causes: because("y")}) == moved, "a delay that is replaced by a later one is moved")
	require.Equal(t, "b", due1(t, &d, 9), "who replaces a delay means the new one")
	e := d.pop(9)
	require.True(t, e != nil && e.item == "a", "what was replaced comes at its new moment")
	require.Equal(t, []string{"x", "y"}, e.causes.Reasons(), "replace is about the moment: the reasons of all adds are kept")
	require.Equal(t, 5, e.priority, "replace is about the moment: the highest priority stays")
}

// Chapter 6's entry is there when a worker holds the item, or has held it, and says what
// the worker was given.
//
// Function: delays.add
func TestDelaysOfAnItemThatWasTakenBeginAnew(t *testing.T) {
	var d delayBench[string]
	e := d.entries.of("a", hashOf("a"), "")
	e.processing, e.priority, e.causes = true, 7, because("old")
	require.True(t, d.want("a", 5, wish{priority: 2, causes: because("new")}) == fresh, "a worker holds the item, and it has no delay: this one is fresh")
	require.Equal(t, []string{"new"}, e.causes.Reasons(), "a fresh delay is new work: the old reason was answered by the work that was taken")
	require.Equal(t, 2, e.priority, "a fresh delay is new work: the old priority was that of the work that was taken")
}

// Function: delays.add or due.before
func TestDelaysCanBeTakenBackAnywhereInTheHeap(t *testing.T) {
	for gone := range 30 {
		var d delayBench[string]
		for i := range 30 {
			d.want(fmt.Sprint(i), time.Duration(i*7%30), wish{})
		}
		require.True(t, d.cancel(fmt.Sprint(gone)), "the item has a delay, which can be taken back")
		require.False(t, d.cancel(fmt.Sprint(gone)), "it can be taken back once")
		last := time.Duration(-1)
		for n := 29; n > 0; n-- {
			at, _ := d.next()
			require.Greater(t, at, last, "without the item that was taken back, the others come in their order")
			last = at
			due1(t, &d, 99)
		}
	}
}

// A token bucket that never fills has a delay of 292 years. Added to a moment, it
// must not become one of the past.
//
// Function: later
func TestDelaysDoNotOverflow(t *testing.T) {
	require.Equal(t, time.Duration(math.MaxInt64), later(time.Hour, math.MaxInt64), "a moment too far away to count is the last there is, and not one of the past")
	require.Equal(t, 2*time.Hour, later(time.Hour, time.Hour), "a moment is the one before it, plus a while")
}

// A million retries after an outage must not cost memory for ever.
//
// Function: delays.pop
func TestDelaysGiveMemoryBackWhenThereAreNone(t *testing.T) {
	var d delayBench[int]
	for i := range 10 * keepAtMost {
		d.want(i, time.Duration(i), wish{})
	}
	for d.pop(math.MaxInt64) != nil {
	}
	require.LessOrEqual(t, cap(d.heap), 2*keepAtMost, "the heap is empty, and keeps the room that a crowd needed")
}

// playDelays does what the script says with delays and with a plain map, and
// compares. Each step is two bytes.
func playDelays(t *testing.T, script []byte) {
	var d delayBench[byte]
	type moment struct {
		at    time.Duration
		order int
	}
	model, order, now := map[byte]moment{}, 0, time.Duration(0)
	for ; len(script) >= 2; script = script[2:] {
		item, at := script[0]>>3, now+time.Duration(script[1]%16)
		switch script[0] % 8 {
		case 0, 1, 2, 3: // one in four replaces
			replace := script[0]%8 == 0
			old, known := model[item]
			switch {
			case !known:
				order++
				model[item] = moment{at, order}
			case at < old.at || replace:
				model[item] = moment{at, old.order}
			}
			d.want(item, at, wish{replace: replace})
		case 4:
			_, known := model[item]
			require.Equal(t, known, d.cancel(item), "%d can be taken back if it has a delay", item)
			delete(model, item)
		default:
			now += time.Duration(script[1] % 4)
			for {
				e := d.pop(now)
				if e == nil {
					break
				}
				first := model[e.item]
				for item, other := range model {
					require.False(t, other.at < first.at || other.at == first.at && other.order < first.order,
						"%d came, but %d was due before it", e.item, item)
				}
				delete(model, e.item)
			}
			for item, left := range model {
				require.Greater(t, left.at, now, "%d is due and did not come", item)
			}
		}
		require.Equal(t, len(model), len(d.heap), "the heap has one place for each item that has a delay")
		for place := range d.heap {
			require.Equal(t, place+1, d.heap[place].entry.place, "an entry's place says where it is in the heap, counted from 1")
			require.Equal(t, model[d.heap[place].entry.item].at, d.heap[place].at, "%d is in the heap with the moment that counts", d.heap[place].entry.item)
		}
	}
}

// Function: delays.add or delays.pop
func TestDelaysDoWhatTheModelDoes(t *testing.T) {
	for seed := range uint64(1000) {
		random := rand.New(rand.NewPCG(seed, 7))
		script := make([]byte, random.IntN(160))
		for i := range script {
			script[i] = byte(random.Uint32())
		}
		playDelays(t, script)
	}
}

func FuzzDelays(f *testing.F) {
	f.Add([]byte{1, 5, 9, 3, 1, 2, 5, 3, 5, 3})
	f.Add([]byte{1, 5, 0, 9, 4, 0, 5, 15})
	f.Add([]byte{1, 1, 9, 1, 17, 1, 25, 1, 33, 1, 12, 0, 5, 3})
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) < 600 {
			playDelays(t, script)
		}
	})
}
