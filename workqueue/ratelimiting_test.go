package workqueue

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"github.com/loopwright/loopwright/trace"
)

func TestAFailingItemClimbsTheLadder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewRateLimiting(&Exponential[string]{Base: time.Second, Limit: 5 * time.Second}, Options[string]{})
		for _, delay := range []time.Duration{1, 2, 4, 5, 5} {
			q.AddRateLimited("a")
			comesAfter(t, q, "a", delay*time.Second)
			q.Done("a")
		}
		require.Equal(t, 5, q.NumRequeues("a"))
		q.Forget("a")
		require.Zero(t, q.NumRequeues("a"))
		q.AddRateLimited("a")
		comesAfter(t, q, "a", time.Second)
	})
}

// The object changed: that is a reason to try at once, whatever the ladder says.
func TestAChangeOvertakesTheLadder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewRateLimiting(&Exponential[string]{Base: time.Hour, Limit: time.Hour}, Options[string]{})
		q.AddRateLimitedBecause("a", "conflict")
		q.AddBecause("a", "changed")
		work, err := q.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"changed"}, work.Causes.Reasons())
		require.Equal(t, 1, q.NumRequeues("a"), "but the failures are still counted")
		q.Forget("a")
		q.Done("a")
		begin := time.Now()
		work, err = q.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"conflict"}, work.Causes.Reasons(), "the retry comes all the same: Forget is about the failures")
		require.Equal(t, time.Hour, time.Since(begin))
	})
}

func TestTheDefaultsAreThoseOfClientGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := DefaultLimiter[int]()
		for _, ms := range []time.Duration{5, 10, 20, 40} {
			require.Equal(t, ms*time.Millisecond, l.When(1))
		}
		for i := range 96 { // empty the bucket
			l.When(1000 + i)
		}
		require.Equal(t, 100*time.Millisecond, l.When(2), "then ten a second")
		require.Equal(t, 200*time.Millisecond, l.When(3))
		for range 30 {
			l.When(1)
		}
		require.Equal(t, 1000*time.Second, l.When(1))
	})
}

// A worker that forgets an item before it adds it again begins the ladder at the bottom each
// time. Only the bucket keeps it from being a hot loop.
func TestAWorkerThatForgetsBeforeItRetriesTriesAllTheTime(t *testing.T) {
	for _, c := range []struct {
		limiter RateLimiter[string]
		tries   int
		why     string
	}{
		{&Exponential[string]{}, 12_000, "the ladder alone: every 5 ms, which is 200 tries a second"},
		{nil, 700, "the default limiter: the bucket's 100, and then 10 a second"},
	} {
		synctest.Test(t, func(t *testing.T) {
			q := NewRateLimiting(c.limiter, Options[string]{})
			defer q.ShutDown()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			q.Add("a")
			tries := 0
			for ; ; tries++ {
				work, err := q.Next(ctx)
				if err != nil {
					break
				}
				q.Forget(work.Item)
				q.AddRateLimited(work.Item)
				q.Done(work.Item)
			}
			require.InDelta(t, c.tries, tries, 2, c.why)
		})
	}
}

func TestABucketThatNeverFillsDelaysForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewRateLimiting(Bucket[string]{rate.NewLimiter(0, 0)}, Options[string]{})
		q.AddRateLimited("a")
		time.Sleep(24 * time.Hour)
		require.Zero(t, q.Len())
		require.Equal(t, 1, q.Delayed())
		q.ShutDown()
	})
}

func TestJitterOnlyMakesDelaysLonger(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		l := Jitter[int]{&Exponential[int]{Base: 100}, 0.2, random.Float64}
		when := l.When(1)
		require.GreaterOrEqual(t, when, time.Duration(100))
		require.Less(t, when, time.Duration(120))
	}
	l := Jitter[int]{&Exponential[int]{Base: math.MaxInt64, Limit: math.MaxInt64}, 1, nil}
	require.Equal(t, time.Duration(math.MaxInt64), l.When(1))
	require.Equal(t, 1, l.NumRequeues(1))
	l = Jitter[int]{&Exponential[int]{Base: math.MaxInt64, Limit: math.MaxInt64}, 3, func() float64 { return 0.9 }}
	require.Equal(t, time.Duration(math.MaxInt64), l.When(1), "a delay that is too long to count must not be one of the past")
	l = Jitter[int]{constant(math.MaxInt64), 2, func() float64 { return 0.5 }}
	require.Equal(t, time.Duration(math.MaxInt64), l.When(1), "nor one that is just too long")
}

func TestLimitersMayBeUsedFromAnywhere(t *testing.T) {
	l := &Exponential[int]{Remember: 5}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 500 {
				l.When(i % 9)
				l.NumRequeues(i % 7)
				l.Forget(i % 8)
			}
		})
	}
	all.Wait()
	require.LessOrEqual(t, len(l.counter.young)+len(l.counter.old), 5)
}

func TestTheRecorderSaysHowOftenAnItemFailed(t *testing.T) {
	rec := trace.New(0)
	q := NewRateLimiting(&Exponential[string]{Base: time.Hour}, Options[string]{Recorder: rec})
	q.AddRateLimitedBecause("a", "conflict")
	q.Cancel("a")
	q.AddRateLimitedBecause("a", "conflict")
	q.ShutDown()
	require.Equal(t, 2, rec.Events()[1].Count)
	require.Equal(t, "conflict", rec.Events()[1].Reason)
}

func TestNothingIsLostOnTheWayThroughRetries(t *testing.T) {
	before := runtime.NumGoroutine()
	seen := exercised{}
	for seed := range seeds() / 3 {
		synctest.Test(t, func(t *testing.T) {
			q := NewRateLimiting(&Exponential[int]{Base: time.Microsecond, Limit: time.Millisecond}, Options[int]{})
			stress(t, seed, q, seen, func(random *rand.Rand, item int) {
				switch random.IntN(5) {
				case 0:
					q.Add(item)
				case 1:
					q.Forget(item)
					q.AddAfter(item, time.Millisecond)
				default:
					q.AddRateLimited(item)
				}
			}, func() { time.Sleep(2 * time.Millisecond) })
		})
	}
	returnTo(t, before)
	seen.require(t, stressed(seeds()/3, nil))
}

// A cluster-wide outage: all items fail in turn. Each has to wait longer each time, or
// together they are the storm that the ladder is there to prevent.
func TestACrowdOfFailingItemsClimbsTheLadder(t *testing.T) {
	l := &Exponential[int]{}
	for _, want := range []time.Duration{5, 10, 20} {
		for i := range 100_001 {
			if got := l.When(i); got != want*time.Millisecond {
				require.Equal(t, want*time.Millisecond, got, "item %d", i)
			}
		}
	}
}

// This is what Remember says: exact for the last half, and no further.
func TestHalfOfWhatIsRememberedIsExact(t *testing.T) {
	l := &Exponential[int]{Base: 1, Remember: 10}
	for _, want := range []time.Duration{1, 2, 4} {
		for i := range 5 {
			require.Equal(t, want, l.When(i))
		}
	}
	for range 3 {
		for i := range 11 {
			require.Equal(t, time.Duration(1), l.When(100+i), "each is forgotten before it fails again")
		}
	}
}

func TestOneItemIsRememberedAtLeastAndAMillionUnlessAskedFor(t *testing.T) {
	l := &Exponential[int]{Base: 1, Remember: 1}
	for i := range 10 {
		require.Equal(t, time.Duration(1), l.When(i))
		require.LessOrEqual(t, len(l.counter.young)+len(l.counter.old), 2)
	}
	require.Equal(t, time.Duration(2), l.When(9), "the last one is remembered")
	l = &Exponential[int]{}
	l.When(1)
	require.Equal(t, 500_000, l.counter.generationSize)
}

type constant time.Duration

func (c constant) When(int) time.Duration { return time.Duration(c) }
func (constant) Forget(int)               {}
func (constant) NumRequeues(int) int      { return 0 }

// A limiter that says "at once" must not turn into one that says "never".
func TestJitterLeavesAloneWhatIsNotPutOff(t *testing.T) {
	none := func() float64 { t.Error("a random part of nothing is asked for"); return 0.9 }
	require.Equal(t, time.Duration(-1), Jitter[int]{constant(-1), 0.2, none}.When(1))
	require.Zero(t, Jitter[int]{constant(0), 0.2, none}.When(1))
	require.Equal(t, time.Duration(3), Jitter[int]{constant(1), 3, func() float64 { return 0.9 }}.When(1), "a short delay gets longer, too")
}

// A worker gives an item up after some number of failures. It asks the queue, whose limiter is made of several.
func TestTheFailuresOfAnItemAreThoseOfTheLimiterThatCountsMost(t *testing.T) {
	fresh, old := &Exponential[int]{}, &Exponential[int]{}
	for range 3 {
		old.When(1)
	}
	for _, l := range []RateLimiter[int]{MaxOf[int]{fresh, old, Bucket[int]{rate.NewLimiter(10, 100)}}, MaxOf[int]{old, fresh}} {
		require.Equal(t, 3, l.NumRequeues(1))
		require.Zero(t, l.NumRequeues(2))
	}
	require.Zero(t, Bucket[int]{rate.NewLimiter(10, 100)}.NumRequeues(1), "a bucket does not tell items apart")
	l := DefaultLimiter[int]()
	l.When(1)
	require.Equal(t, 1, l.NumRequeues(1))
	l.Forget(1)
	require.Zero(t, l.NumRequeues(1))
}

// asked counts how often a limiter is asked for an item's failures.
type asked struct {
	constant
	times *int
}

func (a asked) NumRequeues(int) int { *a.times++; return 0 }

// The limiter is the user's code, and has a lock of its own.
func TestWithoutARecorderNobodyAsksForFailures(t *testing.T) {
	times := 0
	q := NewRateLimiting(asked{constant(time.Hour), &times}, Options[int]{})
	q.AddRateLimited(1)
	q.ShutDown()
	require.Zero(t, times)
}

func TestARetryIsOneAddOfManyThatAreMerged(t *testing.T) {
	q := NewRateLimiting(constant(0), Options[int]{})
	q.AddRateLimited(1)
	q.AddRateLimitedBecause(1, "conflict")
	q.Add(1)
	work, err := q.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, "conflict (3 adds)", work.Causes.String())
}

func TestAFailureIsNoRetryAfterAShutdown(t *testing.T) {
	m := newFakeMetrics()
	q := NewRateLimiting(constant(0), Options[int]{Name: "fruit", Metrics: m})
	q.AddRateLimited(1)
	require.Equal(t, 1, m.counts["workqueue_retries_total fruit"])
	q.ShutDown()
	q.AddRateLimited(1)
	require.Equal(t, 1, m.counts["workqueue_retries_total fruit"])
}
