package workqueue

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/tests/inorder"
	"github.com/loopwright/loopwright/trace"
)

// comesAfter expects the next item, and when it comes.
func comesAfter(t *testing.T, q interface{ Get() (string, bool) }, item string, while time.Duration) {
	t.Helper()
	begin := time.Now()
	got, shutdown := q.Get()
	require.False(t, shutdown)
	require.Equal(t, item, got)
	require.Equal(t, while, time.Since(begin))
}

func TestAnItemComesWhenItsDelayIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewDelaying(Options[string]{})
		q.AddAfter("late", 3*time.Second)
		q.AddAfter("early", time.Second)
		q.AddAfter("now", 0)
		q.AddAfter("past", -time.Hour)
		require.Equal(t, 2, q.Len())
		require.Equal(t, 2, q.Delayed())
		comesAfter(t, q, "now", 0)
		comesAfter(t, q, "past", 0)
		comesAfter(t, q, "early", time.Second)
		comesAfter(t, q, "late", 2*time.Second)
	})
}

func TestTheEarliestDelayWinsUnlessItIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewDelaying(Options[string]{})
		q.AddAfter("a", 5*time.Second)
		q.AddAfter("a", time.Second)
		q.AddAfter("a", 9*time.Second)
		comesAfter(t, q, "a", time.Second)
		q.Done("a")
		q.AddAfter("a", time.Second)
		q.ReplaceAfter("a", 4*time.Second)
		comesAfter(t, q, "a", 4*time.Second)
		q.Done("a")
		require.Zero(t, q.Delayed()+q.Len(), "each item came once")
	})
}

// comesTwice expects an item now, and once more when its alarm is due after six seconds.
func comesTwice(t *testing.T, q *DelayingQueue[string], item string) {
	t.Helper()
	comesAfter(t, q, item, 0)
	q.Done(item)
	comesAfter(t, q, item, 6*time.Second)
	q.Done(item)
	time.Sleep(time.Hour)
	synctest.Wait()
	require.Zero(t, q.Len()+q.Delayed())
}

// A ReplicaSet's pod is ready, and counts as available six seconds later. In the meantime
// the pod changes, as pods do. If that ended the alarm, nobody would look after six seconds.
func TestAnAddDoesNotEndAnAlarm(t *testing.T) {
	for name, play := range inorder.Map(map[string]func(q *DelayingQueue[string]){
		"alarm, then add":               func(q *DelayingQueue[string]) { q.AddAfter("a", 6*time.Second); q.Add("a") },
		"add, then alarm":               func(q *DelayingQueue[string]) { q.Add("a"); q.AddAfter("a", 6*time.Second) },
		"alarm, then add with reason":   func(q *DelayingQueue[string]) { q.AddAfter("a", 6*time.Second); q.AddBecause("a", "changed") },
		"alarm, then alarm due at once": func(q *DelayingQueue[string]) { q.AddAfter("a", 6*time.Second); q.AddAfter("a", 0) },
		"add, then alarm put off": func(q *DelayingQueue[string]) {
			q.AddAfter("a", time.Second)
			q.Add("a")
			q.ReplaceAfter("a", 6*time.Second)
		},
	}) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := NewDelaying(Options[string]{})
				play(q)
				require.Equal(t, 1, q.Delayed())
				comesTwice(t, q, "a")
			})
		})
	}
}

func TestAnAlarmCanBeSetWhileAWorkerHoldsTheItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewDelaying(Options[string]{})
		q.Add("a")
		q.Get()
		q.Add("a")
		q.AddAfter("a", 6*time.Second)
		q.Done("a")
		comesTwice(t, q, "a")
	})
}

// The worker that gets the item answers the Add, and not the alarm, which is not due yet.
func TestAnAlarmKeepsItsOwnReasons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewDelaying(Options[string]{})
		q.addWith("a", addRequest{after: time.Second, priority: 7, causes: because("available")})
		q.AddBecause("a", "changed")
		work, err := q.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, "changed", work.Causes.String())
		require.Zero(t, work.Priority)
		q.Done("a")
		work, err = q.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, "available", work.Causes.String())
		require.Equal(t, 7, work.Priority)
	})
}

// If the item still waits when its alarm goes off, one look is enough for both.
func TestAnAlarmThatGoesOffWhileItsItemWaitsIsMerged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewDelaying(Options[string]{})
		q.AddBecause("a", "changed")
		q.addWith("a", addRequest{after: time.Second, priority: 5, causes: because("available")})
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, 1, q.Len())
		work, err := q.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, "changed, available (2 adds)", work.Causes.String())
		require.Equal(t, 5, work.Priority, "the highest of the two")
	})
}

func TestAnAlarmThatIsReplacedByNowGoesOffOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewDelaying(Options[string]{})
		q.addWith("a", addRequest{after: time.Minute, priority: 3, causes: because("expires")})
		q.ReplaceAfter("a", 0)
		require.Zero(t, q.Delayed())
		work, err := q.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, "expires (2 adds)", work.Causes.String())
		require.Equal(t, 3, work.Priority)
		q.Done("a")
		time.Sleep(time.Hour)
		require.Zero(t, q.Len())
	})
}

// Cancel removes what will come, not what is there.
func TestCancelLeavesWhatWaitsAlready(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewDelaying(Options[string]{})
		q.Add("a")
		q.AddAfter("a", time.Minute)
		require.True(t, q.Cancel("a"))
		require.False(t, q.Cancel("a"))
		comesAfter(t, q, "a", 0)
		q.Done("a")
		time.Sleep(time.Hour)
		require.Zero(t, q.Len())
	})
}

// Its item is worked on, and the alarm is dropped all the same.
func TestAShutdownDropsTheAlarmOfAnItemThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewDelaying(Options[string]{})
		q.Add("a")
		q.AddAfter("a", time.Minute)
		q.ShutDown()
		require.Equal(t, 1, q.Dropped())
		require.Equal(t, 1, q.Len())
	})
}

func TestAnItemThatIsDueDuringWorkIsWorkedOnOnceMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewDelaying(Options[string]{})
		q.Add("a")
		q.Get()
		q.AddAfter("a", time.Second)
		time.Sleep(time.Minute)
		require.Zero(t, q.Len())
		q.Done("a")
		comesAfter(t, q, "a", 0)
	})
}

func TestADelayCanBeTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewDelaying(Options[string]{})
		q.AddAfter("a", time.Second)
		q.AddAfter("b", 2*time.Second)
		require.True(t, q.Cancel("a"))
		require.False(t, q.Cancel("a"))
		comesAfter(t, q, "b", 2*time.Second)
	})
}

func TestAShutdownDropsWhatIsNotDueAndSaysHowMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := trace.New(0)
		q := NewDelaying(Options[string]{Recorder: rec})
		q.Add("a")
		q.AddAfter("b", time.Hour)
		q.AddAfter("c", time.Second)
		q.ShutDown()
		q.AddAfter("d", time.Second)
		require.Equal(t, 2, q.Dropped())
		require.Zero(t, q.Delayed())
		time.Sleep(2 * time.Hour)
		require.Equal(t, 1, q.Len(), "what was due is still worked on")
		item, _ := q.Get()
		q.Done(item)
		q.ShutDownWithDrain()
		q.ShutDown()
		require.Equal(t, 2, q.Dropped())
		notes := trace.Filter{Kinds: []trace.Kind{trace.Note}}.Select(rec.Events())
		require.Equal(t, "2 delayed items dropped", notes[0].Reason)
	})
}

func TestTheRecorderTellsAboutDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := trace.New(0)
		q := NewDelaying(Options[string]{Recorder: rec})
		q.AddAfter("a", 3*time.Second)
		q.AddAfter("a", time.Second)
		q.AddAfter("a", 2*time.Second)
		comesAfter(t, q, "a", time.Second)
		var outcomes []string
		for _, e := range rec.Events() {
			outcomes = append(outcomes, e.Kind.String()+" "+e.Outcome.String())
		}
		require.Equal(t, []string{"delay ", "delay replaced", "delay deduplicated", "enqueue ", "dequeue "}, outcomes)
		require.Equal(t, 3*time.Second, rec.Events()[0].Took)
		require.Equal(t, time.Second, rec.Events()[2].Took, "the earlier delay stands")
	})
}

// client-go hands delays to a goroutine through a channel that holds a thousand.
func TestAddAfterNeverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewDelaying(Options[int]{})
		begin := time.Now()
		for i := range 10_000 {
			q.AddAfter(i, time.Minute)
		}
		require.Equal(t, 10_000, q.Delayed(), "what was asked for is in the queue when AddAfter returns")
		require.Zero(t, time.Since(begin))
		q.ShutDown()
	})
}

// Somebody corrects the machine's clock: no delay may change.
func TestMomentsAreReadFromTheMonotonicClock(t *testing.T) {
	q := NewDelaying(Options[int]{})
	require.NotEqual(t, q.started.Round(0), q.started, "Round takes the monotonic part away; there must be one")
}

func TestRetriesAreCounted(t *testing.T) {
	m := newFakeMetrics()
	q := NewDelaying(Options[string]{Name: "fruit", Metrics: m})
	q.AddAfter("a", time.Hour)
	q.Add("a")
	require.Equal(t, 1, m.counts["workqueue_retries_total fruit"])
	require.Equal(t, 1, m.counts["workqueue_adds_total fruit"])
}

func TestNothingIsLostOnTheWayThroughDelays(t *testing.T) {
	before := runtime.NumGoroutine()
	seen := exercised{}
	for seed := range seeds() / 2 {
		synctest.Test(t, func(t *testing.T) {
			q := NewDelaying(Options[int]{})
			stress(t, seed, q, seen, func(random *rand.Rand, item int) {
				switch random.IntN(4) {
				case 0:
					q.Add(item)
				case 1:
					q.ReplaceAfter(item, time.Duration(random.IntN(50))*time.Millisecond)
				default:
					q.AddAfter(item, time.Duration(random.IntN(50)-5)*time.Millisecond)
				}
				if random.IntN(8) == 0 {
					time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
				}
			}, func() { time.Sleep(50 * time.Millisecond) })
			require.Zero(t, q.Dropped())
		})
	}
	returnTo(t, before)
	seen.require(t, stressed(seeds()/2, nil))
}

func TestADelayingQueueHasNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 50 {
		q := NewDelaying(Options[string]{})
		defer q.ShutDown()
		q.AddAfter("a", time.Hour)
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), before)
}

// Many goroutines add while the queue is shut down under them.
func TestDelaysAndAShutdownAtOnce(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			q := NewDelaying(Options[int]{})
			var all sync.WaitGroup
			for i := range 4 {
				all.Go(func() {
					for k := range 50 {
						q.AddAfter(k, time.Duration(i*k)*time.Microsecond)
						q.Cancel(k / 2)
					}
				})
			}
			all.Go(q.ShutDown)
			all.Wait()
			time.Sleep(time.Minute)
			require.Zero(t, q.Delayed())
		})
	}
}

// After an hour's sleep, a thousand items are due at once. A shutdown at that moment does
// not lose those that the timer has not added yet.
func TestAShutdownDropsNothingThatIsDue(t *testing.T) {
	for name, shutDown := range inorder.Map(map[string]func(*DelayingQueue[int]){
		"ShutDown": func(q *DelayingQueue[int]) { q.ShutDown() },
		"Drain":    func(q *DelayingQueue[int]) { go q.ShutDownWithDrain(); synctest.Wait() },
	}) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newFakeMetrics()
				q := NewDelaying(Options[int]{Name: "fruit", Metrics: m})
				for i := range 1000 {
					q.AddAfter(i, time.Second)
				}
				q.AddAfter(-1, time.Hour)
				q.timer.Stop() // it is late
				time.Sleep(time.Second)
				shutDown(q)
				require.Equal(t, 1000, q.Len())
				require.Equal(t, 1, q.Dropped())
				require.Equal(t, 1000, m.counts["workqueue_adds_total fruit"])
				for range 1000 {
					item, shutdown := q.Get()
					require.False(t, shutdown)
					q.Done(item)
				}
				synctest.Wait()
				_, shutdown := q.Get()
				require.True(t, shutdown)
			})
		})
	}
}

func TestNothingIsARetryAfterAShutdown(t *testing.T) {
	m := newFakeMetrics()
	q := NewDelaying(Options[string]{Name: "fruit", Metrics: m})
	q.AddAfter("a", 0)
	q.ReplaceAfter("a", time.Hour)
	require.Equal(t, 2, m.counts["workqueue_retries_total fruit"], "one without a delay is one, too")
	q.ShutDown()
	q.AddAfter("a", time.Hour)
	q.ReplaceAfter("a", time.Hour)
	require.Equal(t, 2, m.counts["workqueue_retries_total fruit"])
}
