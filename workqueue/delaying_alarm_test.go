package workqueue

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/trace"
)

// After an outage, thousands of items are due at once. They are added in batches, so that
// nobody waits long for the lock.
func TestMoreThanABatchOfAlarmsGoesOffAtOnce(t *testing.T) {
	for _, items := range []int{dueAtOnce - 1, dueAtOnce, dueAtOnce + 1, 3*dueAtOnce + 1} {
		synctest.Test(t, func(t *testing.T) {
			m := newFakeMetrics()
			q := NewDelaying(Options[int]{Name: "fruit", Metrics: m})
			for i := range items {
				q.AddAfter(i, time.Second)
			}
			q.AddAfter(-1, 2*time.Second)
			time.Sleep(time.Second)
			synctest.Wait()
			require.Equal(t, items, q.Len(), "all that is due is added")
			require.Equal(t, items, m.counts["workqueue_adds_total fruit"], "and counted")
			require.Equal(t, 1, q.Delayed())
			time.Sleep(time.Second)
			synctest.Wait()
			require.Equal(t, items+1, q.Len(), "the timer is set again for the next one")
			q.ShutDown()
		})
	}
}

func TestABatchThatIsFullSaysThatThereMayBeMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewDelaying(Options[int]{})
		for i := range 5 {
			q.AddAfter(i, time.Second)
		}
		q.timer.Stop()
		time.Sleep(time.Second)
		added, more := q.addDueLocked(3)
		require.Equal(t, 3, added)
		require.True(t, more, "a batch leaves the rest for the next")
		added, more = q.addDueLocked(3)
		require.Equal(t, 2, added)
		require.False(t, more)
		q.ShutDown()
	})
}

// A NaN is not equal to itself. Its alarm must go off all the same, or the timer would be up again
// and again, and no other alarm would ever go off.
func TestTheAlarmOfANaNGoesOff(t *testing.T) {
	q := NewDelaying(Options[float64]{})
	q.AddAfter(math.NaN(), time.Millisecond)
	q.AddAfter(1, 2*time.Millisecond)
	require.Eventually(t, func() bool { return q.Len() == 2 }, 10*time.Second, time.Millisecond)
	require.Zero(t, q.Delayed())
	q.ShutDown()
	require.Zero(t, q.Dropped())
}

func TestNothingIsAddedAfterAShutdown(t *testing.T) {
	q := NewDelaying(Options[string]{})
	q.ShutDown()
	q.Add("a")
	q.AddAfter("b", 0)
	q.AddAfter("c", time.Hour)
	require.Zero(t, q.Len()+q.Delayed()+len(q.dedup.dirty)+len(q.delays.alarms))
}

func TestTheRecorderSaysHowManyAlarmsAShutdownDropped(t *testing.T) {
	for alarms, want := range []string{"", "1 delayed item dropped", "2 delayed items dropped"} {
		rec := trace.New(0)
		q := NewDelaying(Options[int]{Recorder: rec})
		for i := range alarms {
			q.AddAfter(i, time.Hour)
		}
		q.ShutDown()
		reason := ""
		for _, note := range (trace.Filter{Kinds: []trace.Kind{trace.Note}}).Select(rec.Events()) {
			reason += note.Reason
		}
		require.Equal(t, want, reason, "nothing is said about nothing")
	}
}

// The recorder's delay is what is left, not the moment.
func TestTheRecorderSaysHowLongTheDelayIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := trace.New(0)
		q := NewDelaying(Options[string]{Recorder: rec})
		time.Sleep(time.Hour)
		q.AddAfter("a", 3*time.Second)
		require.Equal(t, 3*time.Second, rec.Events()[0].Took)
		q.ShutDown()
	})
}

// The text counts how often the timer is set. Setting it for every alarm costs time
// under the lock; not to set it again loses all alarms but the first.
func TestTheTimerIsSetForAnEarlierAlarmAndForTheNextOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewDelaying(Options[string]{})
		var set []time.Duration
		look := func() {
			synctest.Wait()
			if q.armed%time.Second == 0 { // it was set since the last look
				set = append(set, q.armed)
				q.armed--
			}
		}
		for _, food := range []struct {
			name  string
			keeps time.Duration
		}{{"bread", 3 * time.Second}, {"milk", time.Second}, {"honey", time.Hour}, {"fish", 2 * time.Second}} {
			q.AddAfter(food.name, food.keeps)
			look()
		}
		comesAfter(t, q, "milk", time.Second)
		look()
		require.Equal(t, []time.Duration{3 * time.Second, time.Second, 2 * time.Second}, set,
			"for the bread, for the milk, which is due earlier, and, when the milk is due, for the fish")
		q.ShutDown()
	})
}

// Each timer that is left behind would wake the queue up for nothing, and keep it in memory.
func TestADelayingQueueHasOneTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewDelaying(Options[string]{})
		q.AddAfter("bread", time.Hour)
		timer := q.timer
		q.AddAfter("milk", time.Minute)
		q.AddAfter("fish", time.Second)
		require.Same(t, timer, q.timer)
		timer.Stop()
		q.AddAfter("meat", time.Second)
		require.False(t, timer.Stop(), "it would be up in time for both: to set it again costs time under the lock")
	})
}

func TestAShutdownStopsTheTimer(t *testing.T) {
	q := NewDelaying(Options[string]{})
	q.AddAfter("a", time.Hour)
	q.ShutDown()
	require.False(t, q.timer.Stop(), "a timer that runs keeps the queue in memory for an hour")
}

func TestWithoutARecorderNobodyNamesDelayedItems(t *testing.T) {
	q := NewDelaying(unnamed(t))
	q.AddAfter("a", time.Hour)
	q.AddAfter("a", time.Minute)
	q.ShutDown()
}
