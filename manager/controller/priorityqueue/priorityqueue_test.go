package priorityqueue_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/controller/priorityqueue"
	"github.com/loopwright/loopwright/manager/metrics"
	"github.com/loopwright/loopwright/workqueue"
)

func ExampleNew() {
	queue := priorityqueue.New[string]("letters")
	low := workqueue.LowPriority
	queue.AddWithOpts(priorityqueue.AddOpts{Priority: &low}, "an old one")
	queue.Add("a new one")
	item, priority, _ := queue.GetWithPriority()
	fmt.Println(item, priority)
	// Output: a new one 0
}

func TestTheQueueAsksTheRateLimiterThatItIsGiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := priorityqueue.New("letters", func(o *priorityqueue.Opts[string]) {
			o.RateLimiter = &workqueue.Exponential[string]{Base: time.Minute}
		})
		queue.AddRateLimited("a")
		time.Sleep(time.Minute - 1)
		require.Zero(t, queue.Len())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.Equal(t, 1, queue.Len())
		queue.ShutDown()
	})
}

// A worker that calls Done twice will next take an item from another worker's hands.
func TestMisuseIsLogged(t *testing.T) {
	var lines []string
	queue := priorityqueue.New("letters", func(o *priorityqueue.Opts[string]) {
		o.Log = funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
	})
	queue.Done("a")
	require.Len(t, lines, 1)
	require.Contains(t, lines[0], "letters")
}

// A queue that is in no dashboard fills up unseen.
func TestTheQueueIsMeasuredUnlessItSaysOtherwise(t *testing.T) {
	measured := func() bool {
		families, err := metrics.Registry.Gather()
		require.NoError(t, err)
		for _, family := range families {
			for _, m := range family.GetMetric() {
				if family.GetName() == workqueue.MetricDepth && m.GetLabel()[0].GetValue() == t.Name() {
					return true
				}
			}
		}
		return false
	}
	other := priorityqueue.New(t.Name(), func(o *priorityqueue.Opts[string]) { o.MetricProvider = nil })
	other.Add("a")
	require.False(t, measured())
	empty(other)
	queue := priorityqueue.New[string](t.Name())
	queue.Add("a")
	require.True(t, measured())
	empty(queue)
	require.False(t, measured())
}

// empty shuts a queue down. What is left in it would keep it in the metrics.
func empty(queue priorityqueue.PriorityQueue[string]) {
	queue.ShutDown()
	for item, shutdown := queue.Get(); !shutdown; item, shutdown = queue.Get() {
		queue.Done(item)
	}
}
