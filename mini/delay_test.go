package mini_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

// delayed is what DelayQueue and RetryQueue have in common.
type delayed interface {
	getter
	Done(mini.Request)
	Len() int
}

// moments returns when requests come out of the queue within a time, as "1s a". It calls
// Done at once.
func moments(t *testing.T, q delayed, within time.Duration) (all []string) {
	t.Helper()
	began := time.Now()
	for synctest.Wait(); ; synctest.Wait() {
		for q.Len() > 0 {
			name := take(t, q)
			all = append(all, fmt.Sprint(time.Since(began), " ", name))
			q.Done(request(name))
		}
		if time.Since(began) >= within {
			return all
		}
		time.Sleep(time.Millisecond)
	}
}

// A retry comes when its delay is over, and AddAfter doesn't block its caller until then.
//
// Function: DelayQueue.AddAfter
func TestADelayedRequestIsAddedWhenItsDelayIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := mini.NewDelayQueue("test")
		q.AddAfter(request("a"), 2*time.Second)
		q.AddAfter(request("b"), time.Second)
		require.Zero(t, q.Len())
		require.Equal(t, []string{"1s b", "2s a"}, moments(t, q, 3*time.Second))
	})
}

// Function: DelayQueue.AddAfter
func TestWithoutADelayARequestIsAddedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := mini.NewDelayQueue("test")
		q.AddAfter(request("a"), 0)
		q.AddAfter(request("b"), -time.Second)
		require.Equal(t, 2, q.Len(), "a delay of zero, or one that's over, isn't a delay")
		q.AddAfter(request("c"), time.Nanosecond)
		require.Equal(t, 2, q.Len())
		synctest.Wait()
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.Equal(t, 3, q.Len(), "a short delay is still a delay")
	})
}

// Function: DelayQueue.AddAfter
func TestAnAlarmIsBroughtForward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := mini.NewDelayQueue("test")
		q.AddAfter(request("a"), 10*time.Second)
		time.Sleep(time.Second)
		q.AddAfter(request("a"), 2*time.Second)
		require.Equal(t, []string{"2s a"}, moments(t, q, 20*time.Second),
			"only the earlier alarm counts")
	})
}

// An alarm in an hour must not postpone a reconcile that's due in a second.
//
// Function: DelayQueue.AddAfter
func TestAnAlarmIsNotPostponed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := mini.NewDelayQueue("test")
		q.AddAfter(request("a"), 2*time.Second)
		time.Sleep(time.Second)
		q.AddAfter(request("a"), time.Second) // the same time as the first
		q.AddAfter(request("a"), 10*time.Second)
		require.Equal(t, []string{"1s a"}, moments(t, q, 20*time.Second))
	})
}

// Function: DelayQueue.ring
func TestAnAlarmThatHasRungMakesRoomForTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := mini.NewDelayQueue("test")
		q.AddAfter(request("a"), time.Second)
		require.Equal(t, []string{"1s a"}, moments(t, q, time.Second))
		q.AddAfter(request("a"), 5*time.Second)
		require.Equal(t, []string{"5s a"}, moments(t, q, 10*time.Second),
			"the reconcile asked to be called again in 5 s")
	})
}

// The alarm may be for something that the reconcile in the meantime could not see yet.
func TestAnAddInTheMeantimeKeepsTheAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := mini.NewDelayQueue("test")
		q.AddAfter(request("a"), 5*time.Second)
		q.Add(request("a"))
		q.AddAfter(request("a"), 0)
		require.Equal(t, "a", take(t, q))
		q.Done(request("a"))
		require.Equal(t, []string{"5s a"}, moments(t, q, 10*time.Second))
	})
}

// The worker may have read the state before the alarm.
func TestAnAlarmThatRingsDuringTheWorkIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := mini.NewDelayQueue("test")
		q.Add(request("a"))
		take(t, q)
		q.AddAfter(request("a"), time.Second)
		time.Sleep(2 * time.Second)
		require.Zero(t, q.Len())
		q.Done(request("a"))
		require.Equal(t, 1, q.Len())
	})
}

func TestAnAlarmThatRingsAfterShutDownAddsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := mini.NewDelayQueue("test")
		q.AddAfter(request("a"), time.Second)
		q.ShutDown()
		q.AddAfter(request("b"), time.Second)
		q.AddAfter(request("c"), 0)
		time.Sleep(time.Hour)
		require.Zero(t, q.Len())
		_, shutdown := q.Get()
		require.True(t, shutdown)
	})
}

func TestDrainWaitsForWorkersButNotForAlarms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := mini.NewDelayQueue("test")
		q.Add(request("a"))
		take(t, q)
		q.AddAfter(request("b"), time.Hour)
		began := time.Now()
		time.AfterFunc(time.Second, func() { q.Done(request("a")) })
		q.ShutDownWithDrain()
		require.Equal(t, time.Second, time.Since(began))
	})
}

// The worker that gets the request sets the next alarm. If the one that has rung were
// still there, it would count as the earlier one.
//
// Function: DelayQueue.ring
func TestAnAlarmIsRemovedBeforeItAddsItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := mini.NewDelayQueue("test")
		alarms := mutexOf(t, q)
		q.AddAfter(request("a"), time.Second)
		alarms.Lock() // ring needs it to remove the alarm
		time.Sleep(time.Second)
		untilALockIsAwaited(0, func() bool { return q.Len() > 0 })
		waiting := q.Len()
		alarms.Unlock()
		require.Zero(t, waiting, "a worker could have the request, and its next alarm would not be set")
	})
}

// Two workers that set an alarm at the same moment must not set two: the request would be reconciled twice.
//
// Function: DelayQueue.AddAfter
func TestTwoThatSetAnAlarmAtTheSameMomentSetOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := mini.NewDelayQueue("test")
		alarms := mutexOf(t, q)
		for range 3 {
			q.AddAfter(request("a"), 10*time.Second)
			alarms.Lock()
			inTurns(alarms,
				func() { q.AddAfter(request("a"), 5*time.Second) },
				func() { q.AddAfter(request("a"), 2*time.Second) })
			require.Equal(t, []string{"2s a"}, moments(t, q, 20*time.Second), "only the earliest alarm counts")
		}
	})
}

// An alarm that rings before AddAfter has stored it finds nothing to remove. Stored after
// that, it stays forever, and no later one is set. Timers are that quick only now and
// then, so this test sets many, with more threads than processors.
//
// Function: DelayQueue.AddAfter
func TestAnAlarmThatRingsAtOnceLeavesNothingBehind(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	q := mini.NewDelayQueue("test")
	q.Trace = trace.New(1 << 16)
	const all = 8000
	var worker sync.WaitGroup
	worker.Go(func() {
		for range all {
			req, _ := q.Get()
			q.AddAfter(req, time.Hour)
			q.Done(req)
		}
	})
	for i := range all {
		q.AddAfter(request(fmt.Sprint(i)), time.Nanosecond)
	}
	worker.Wait()
	set := 0
	for _, e := range q.Trace.Events() {
		if e.Kind == trace.Delay && e.Took == time.Hour {
			set++
		}
	}
	require.Equal(t, all, set, "alarms that have rung are still there, and so there are no new ones")
}

func TestAlarmsFromManyGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := mini.NewDelayQueue("test")
		var all sync.WaitGroup
		for g := range 8 {
			all.Go(func() {
				for i := range 50 {
					q.AddAfter(request(fmt.Sprint(i)), time.Duration(1+(i*g)%11)*time.Millisecond)
					if i%10 == g {
						time.Sleep(time.Millisecond)
					}
				}
			})
		}
		all.Wait()
		time.Sleep(20 * time.Millisecond)
		synctest.Wait()
		require.Equal(t, 50, q.Len(), "each request has been added")
		q.ShutDown()
	})
}

// What fails for a minute should not be tried a thousand times.
//
// Function: RetryQueue.AddRateLimited
func TestTheDelayDoublesWithEachFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := mini.NewRetryQueue("test")
		var delays []time.Duration
		for range 5 {
			q.AddRateLimited(request("a"))
			began := time.Now()
			q.Get()
			delays = append(delays, time.Since(began))
			q.Done(request("a"))
		}
		ms := time.Millisecond
		require.Equal(t, []time.Duration{5 * ms, 10 * ms, 20 * ms, 40 * ms, 80 * ms}, delays)
		require.Equal(t, 5, q.NumRequeues(request("a")))
		for range 20 {
			q.AddRateLimited(request("a"))
			q.Get()
			q.Done(request("a"))
		}
		q.AddRateLimited(request("a"))
		began := time.Now()
		q.Get()
		require.Equal(t, 1000*time.Second, time.Since(began), "the longest delay")
	})
}

// One broken object must not slow down all others.
//
// Function: RetryQueue.AddRateLimited
func TestEachRequestHasItsOwnFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := mini.NewRetryQueue("test")
		for range 4 {
			q.AddRateLimited(request("a"))
			finish(t, q)
		}
		q.AddRateLimited(request("b"))
		began := time.Now()
		q.Get()
		require.Equal(t, 5*time.Millisecond, time.Since(began))
		require.Equal(t, 4, q.NumRequeues(request("a")))
		require.Equal(t, 1, q.NumRequeues(request("b")))
		require.Zero(t, q.NumRequeues(request("c")))
	})
}

// finish waits for the next request, however long that takes, and calls Done.
func finish(t *testing.T, q *mini.RetryQueue) {
	t.Helper()
	req, shutdown := q.Get()
	require.False(t, shutdown)
	q.Done(req)
}

// After a success, the next failure is a new one.
//
// Function: RetryQueue.Forget
func TestForgetStartsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := mini.NewRetryQueue("test")
		for range 6 {
			q.AddRateLimited(request("a"))
			finish(t, q)
		}
		q.AddAfter(request("a"), time.Second)
		q.Forget(request("a"))
		q.Forget(request("b"))
		require.Equal(t, []string{"1s a"}, moments(t, q, time.Minute), "it forgets failures, but no alarm")
		require.Zero(t, q.NumRequeues(request("a")))
		q.AddRateLimited(request("a"))
		began := time.Now()
		q.Get()
		require.Equal(t, 5*time.Millisecond, time.Since(began))
	})
}

// Function: RetryQueue.AddRateLimited
func TestTheBackoffOfAQueueCanBeChosen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := mini.NewRetryQueue("test")
		q.Backoff = mini.Backoff{Base: time.Second, Max: 3 * time.Second}
		q.AddRateLimited(request("a"))
		began := time.Now()
		finish(t, q)
		q.AddRateLimited(request("a"))
		finish(t, q)
		q.AddRateLimited(request("a"))
		finish(t, q)
		require.Equal(t, 6*time.Second, time.Since(began), "1 s, 2 s, and at most 3 s")
	})
}

func TestFailuresAreCountedFromManyGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := mini.NewRetryQueue("test")
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 5 {
					q.AddRateLimited(request("a"))
					q.NumRequeues(request("a"))
				}
				q.Forget(request("b"))
			})
		}
		all.Wait()
		require.Equal(t, 40, q.NumRequeues(request("a")))
		q.ShutDown()
	})
}

// Two workers may fail at the same moment. Go ends a program that reads a map while another goroutine writes it.
func TestAFailureMayBeCountedWhileAnotherGoroutineLooks(t *testing.T) {
	calls := []func(*mini.RetryQueue){
		func(q *mini.RetryQueue) { q.AddRateLimited(request("a")) },
		func(q *mini.RetryQueue) { q.NumRequeues(request("a")) },
		func(q *mini.RetryQueue) { q.Forget(request("a")) },
	}
	synctest.Test(t, func(t *testing.T) {
		for range 10 {
			for _, first := range calls { // every two, in both orders: the race detector checks
				for _, second := range calls {
					q := mini.NewRetryQueue("test")
					var both sync.WaitGroup
					both.Go(func() { first(q) })
					both.Go(func() { second(q) })
					both.Wait()
					q.ShutDown()
				}
			}
		}
	})
}

// Ten handlers want the same request at the same time. There's one alarm, and the recorder shows one.
//
// Function: DelayQueue.AddAfter
func TestAnAlarmAtTheSameTimeIsNotASecondOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := mini.NewDelayQueue("test")
		q.Trace = trace.New(0)
		q.AddAfter(request("a"), time.Minute)
		time.Sleep(time.Second)
		q.AddAfter(request("a"), 59*time.Second)
		require.Equal(t, []string{"delay"}, kinds(q.Trace), "only an earlier one sets an alarm")
		q.ShutDown()
	})
}

// Function: DelayQueue.AddAfter
func TestTheFlightRecorderShowsDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := mini.NewDelayQueue("test")
		q.Trace = trace.New(0)
		q.AddAfter(request("a"), time.Minute)
		q.AddAfter(request("a"), time.Hour)
		q.AddAfter(request("a"), time.Second)
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, []string{"delay", "delay", "enqueue"}, kinds(q.Trace))
		require.Zero(t, q.Trace.Events()[0].Outcome)
		moved := q.Trace.Events()[1]
		require.Equal(t, trace.Replaced, moved.Outcome)
		require.Equal(t, time.Second, moved.Took)
	})
}
