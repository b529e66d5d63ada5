package workqueue

import (
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/tests/inorder"
	"github.com/loopwright/loopwright/trace"
)

func priorityOf(p int) *int { return &p }

func namespaceOf(item string) string {
	namespace, _, _ := strings.Cut(item, "/")
	return namespace
}

func TestAChangeOvertakesTenThousandItemsOfAResync(t *testing.T) {
	q := NewPriority(PriorityOptions[int]{})
	for i := range 10_000 {
		q.AddWithOpts(AddOpts{Priority: priorityOf(LowPriority)}, i)
	}
	q.Add(-1)
	q.Add(7777) // a change of an object that the resync has queued
	for _, want := range []int{-1, 7777} {
		item, priority, shutdown := q.GetWithPriority()
		require.False(t, shutdown)
		require.Equal(t, want, item)
		require.Zero(t, priority)
	}
	_, priority, _ := q.GetWithPriority()
	require.Equal(t, LowPriority, priority)
	require.Equal(t, 9998, q.Len())
}

func TestOneNoisyNamespaceDoesNotHoldUpAnother(t *testing.T) {
	q := NewPriority(PriorityOptions[string]{Group: namespaceOf})
	for i := range 1000 {
		q.Add("noisy/" + string(rune('a'+i)))
	}
	q.Add("quiet/web")
	q.Get()
	item, _ := q.Get()
	require.Equal(t, "quiet/web", item)
}

// The retries of a noisy namespace come at once, and so does a quiet one's.
func TestItemsThatWereDelayedTakeTurnsByGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewPriority(PriorityOptions[string]{Group: namespaceOf})
		for i := range 10 {
			q.AddAfter("noisy/"+strconv.Itoa(i), time.Second)
		}
		q.AddAfter("quiet/web", time.Second)
		time.Sleep(time.Second)
		synctest.Wait()
		q.Get()
		item, _ := q.Get()
		require.Equal(t, "quiet/web", item)
		q.ShutDown()
	})
}

func TestThePriorityTravelsThroughDelaysAndWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewPriority(PriorityOptions[string]{})
		q.AddWithOpts(AddOpts{After: time.Second, Priority: priorityOf(3), Reason: "soon"}, "a", "b")
		q.AddWithOpts(AddOpts{After: time.Hour, Priority: priorityOf(5)}, "b")
		time.Sleep(time.Second)
		synctest.Wait()
		work, err := q.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, "b", work.Item, "the highest priority of all adds counts")
		require.Equal(t, 5, work.Priority)
		require.Equal(t, []string{"soon"}, work.Causes.Reasons())

		q.AddWithOpts(AddOpts{Priority: priorityOf(-5)}, "b")
		q.AddWithOpts(AddOpts{Priority: priorityOf(4)}, "b")
		q.Done("b")
		item, priority, _ := q.GetWithPriority()
		require.Equal(t, "b", item, "it was added during work, with a priority of its own")
		require.Equal(t, 4, priority)
		q.ShutDown()
		q.Get()
		_, _, shutdown := q.GetWithPriority()
		require.True(t, shutdown)
	})
}

func TestDelayAndRateLimitAtOnceTakeTheShorter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewPriority(PriorityOptions[string]{Limiter: &Exponential[string]{Base: time.Minute}})
		q.AddWithOpts(AddOpts{After: time.Second, RateLimited: true}, "a")
		comesAfter(t, q, "a", time.Second)
		require.Equal(t, 1, q.NumRequeues("a"))
		q.AddWithOpts(AddOpts{After: time.Hour, RateLimited: true}, "b")
		comesAfter(t, q, "b", time.Minute)
		q.AddWithOpts(AddOpts{RateLimited: true}, "b")
		q.Done("b")
		comesAfter(t, q, "b", 2*time.Minute)
	})
}

// An item of a resync waits, or a retry; then a user's change comes. Neither takes away
// from the other: not the moment, and not the priority.
func TestAnAlarmAndAnAddOfOneItemAreTwoPiecesOfWork(t *testing.T) {
	now := func(q *PriorityQueue[string]) {
		q.AddWithOpts(AddOpts{Priority: priorityOf(2), Reason: "changed"}, "a")
	}
	later := func(q *PriorityQueue[string]) {
		q.AddWithOpts(AddOpts{After: 6 * time.Second, Priority: priorityOf(LowPriority), Reason: "available"}, "a")
	}
	for name, play := range inorder.Map(map[string][]func(q *PriorityQueue[string]){"alarm first": {later, now}, "add first": {now, later}}) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := NewPriority(PriorityOptions[string]{})
				play[0](q)
				play[1](q)
				for _, want := range []Work[string]{{Item: "a", Priority: 2, Causes: because("changed")}, {Item: "a", Priority: LowPriority, Causes: because("available")}} {
					got, err := q.Next(t.Context())
					require.NoError(t, err)
					require.Equal(t, want, got)
					q.Done("a")
				}
				require.Zero(t, q.Len()+q.Delayed())
			})
		})
	}
}

// A negative delay is a moment that has passed. The limiter may not put the item off.
func TestANegativeDelayIsNowEvenWithARateLimit(t *testing.T) {
	q := NewPriority(PriorityOptions[string]{Limiter: &Exponential[string]{Base: time.Minute}})
	q.AddWithOpts(AddOpts{After: -time.Second, RateLimited: true}, "a")
	require.Equal(t, 1, q.Len())
	require.Zero(t, q.Delayed())
	require.Equal(t, 1, q.NumRequeues("a"), "it is a failure all the same")
	q.AddWithOpts(AddOpts{RateLimited: true}, "b")
	require.Equal(t, 1, q.Delayed(), "zero leaves it to the limiter")
}

func TestWhatPanicsLeavesThePriorityQueueAsItWas(t *testing.T) {
	q := NewPriority(PriorityOptions[any]{
		Group:   func(item any) string { return item.(string) },
		Limiter: &Exponential[any]{Base: time.Hour}, // longer than the test on any machine
	})
	slice := []int{1}
	require.Panics(t, func() { q.AddAfter(slice, time.Second) }, "a slice cannot be compared")
	require.Panics(t, func() { q.Cancel(slice) })
	require.Panics(t, func() { q.AddRateLimited(slice) })
	require.Panics(t, func() { q.AddWithOpts(AddOpts{}, 7) }, "the group's function panics")
	q.AddRateLimited("a")
	q.Add("a")
	item, _ := q.Get()
	q.Done(item)
	require.True(t, q.dedup.empty(), "nothing is left of what could not be added")
	require.Equal(t, 1, q.Delayed(), "the retry of a is still to come")
	require.Len(t, q.delays.alarms, 1)
	q.ShutDownWithDrain()
}

func TestAPriorityQueueHasNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	q := NewPriority(PriorityOptions[int]{})
	for i := range 100 {
		q.AddWithOpts(AddOpts{After: time.Hour, Priority: &i}, i)
		q.Add(-i)
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), before)
	q.ShutDown()
}

func TestThePriorityQueueRecordsAndCountsAsTheOthersDo(t *testing.T) {
	m, rec := newFakeMetrics(), trace.New(0)
	q := NewPriority(PriorityOptions[string]{
		Limiter: &Exponential[string]{Base: time.Minute}, Options: Options[string]{Name: "fruit", Metrics: m, Recorder: rec}})
	q.AddWithOpts(AddOpts{RateLimited: true, Reason: "conflict"}, "a")
	q.AddWithOpts(AddOpts{After: time.Hour}, "b")
	q.AddWithOpts(AddOpts{Reason: "changed"}, "a", "c")
	require.Equal(t, 2, m.counts["workqueue_retries_total fruit"])
	require.Equal(t, 2, m.counts["workqueue_adds_total fruit"])
	require.Equal(t, "changed", rec.Events()[2].Reason, "the retry is to come, with the conflict")
	require.Equal(t, 1, rec.Events()[0].Count)
	q.ShutDown()
}

func TestWithoutARecorderNobodyNamesItemsWithPriorities(t *testing.T) {
	times := 0
	q := NewPriority(PriorityOptions[int]{Limiter: asked{constant(time.Hour), &times}})
	q.AddWithOpts(AddOpts{RateLimited: true}, 1)
	require.Zero(t, times, "the limiter is asked for the failures of an item, and nobody wants to know")
	q.ShutDown()
}

func TestNothingIsLostOnTheWayThroughPriorities(t *testing.T) {
	before := runtime.NumGoroutine()
	seen := exercised{}
	for seed := range seeds() {
		synctest.Test(t, func(t *testing.T) {
			q := NewPriority(PriorityOptions[int]{Patience: 3, Group: func(item int) string { return string(rune('a' + item%3)) },
				Limiter: &Exponential[int]{Base: time.Microsecond, Limit: time.Millisecond}})
			stress(t, seed, q, seen, func(random *rand.Rand, item int) {
				o := AddOpts{Priority: priorityOf(random.IntN(4) - 2)}
				switch random.IntN(6) {
				case 0:
					o.After = time.Millisecond
				case 1:
					o.RateLimited = true
				}
				q.AddWithOpts(o, item)
			}, func() { time.Sleep(2 * time.Millisecond) })
		})
	}
	returnTo(t, before)
	seen.require(t, stressed(seeds(), nil))
}

// controller-runtime counts a retry for what is put off, and ours the same.
func TestOnlyWhatIsPutOffIsARetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the nanosecond passes when the test waits, and not beside it
		m := newFakeMetrics()
		q := NewPriority(PriorityOptions[int]{Limiter: constant(0), Options: Options[int]{Name: "fruit", Metrics: m}})
		q.AddWithOpts(AddOpts{}, 1)
		q.AddWithOpts(AddOpts{RateLimited: true}, 2)
		require.Zero(t, m.counts["workqueue_retries_total fruit"], "the limiter said: at once")
		q.AddWithOpts(AddOpts{After: time.Nanosecond}, 3)
		q.AddWithOpts(AddOpts{After: time.Hour}, 4)
		require.Equal(t, 2, m.counts["workqueue_retries_total fruit"])
		q.ShutDown()
		q.AddWithOpts(AddOpts{After: time.Hour}, 5)
		require.Equal(t, 2, m.counts["workqueue_retries_total fruit"])
	})
}
