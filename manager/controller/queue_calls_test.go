package controller

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// notedQueue writes down what is called.
type notedQueue struct {
	*workqueue.PriorityQueue[reconcile.Request]
	calls *[]string
}

func (q notedQueue) note(call string) { *q.calls = append(*q.calls, call) }

func (q notedQueue) AddWithOpts(o workqueue.AddOpts, items ...reconcile.Request) {
	q.note("add")
	q.PriorityQueue.AddWithOpts(o, items...)
}

func (q notedQueue) AddAfter(item reconcile.Request, after time.Duration) {
	q.note("add after " + after.String())
	q.PriorityQueue.AddAfter(item, after)
}

func (q notedQueue) AddRateLimited(item reconcile.Request) {
	q.note("add rate limited")
	q.PriorityQueue.AddRateLimited(item)
}

func (q notedQueue) Forget(item reconcile.Request) {
	q.note("forget")
	q.PriorityQueue.Forget(item)
}

func (q notedQueue) Done(item reconcile.Request) {
	q.note("done")
	q.PriorityQueue.Done(item)
}

func (q notedQueue) Drain(ctx context.Context) error {
	q.note("drain")
	return q.PriorityQueue.Drain(ctx)
}

func (q notedQueue) ShutDown() {
	q.note("shut down")
	q.PriorityQueue.ShutDown()
}

// Otherwise another worker could take a request that comes at once, and begin before the failures
// are forgotten.
func TestARequestIsAddedAgainBeforeItIsLetGo(t *testing.T) {
	again := returns{Result: reconcile.Result{RequeueAfter: time.Hour}}
	synctest.Test(t, func(t *testing.T) {
		options := Options{Reconciler: new(calls).answering(again)}
		var called []string
		options.NewQueue = func(
			string, workqueue.TypedRateLimiter[reconcile.Request],
		) requestQueue {
			return notedQueue{
				workqueue.NewPriority(workqueue.PriorityOptions[reconcile.Request]{}), &called,
			}
		}
		r, queue := start(t, options)
		queue.Add(req("web"))
		synctest.Wait()
		require.Equal(t, []string{"forget", "add", "done"}, called)
		require.NoError(t, r.end())
	})
}

// Each call is an entry in the metrics of somebody's queue, and two for one are a wrong number.
func TestAForeignQueueGetsOneCallForEachAdd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls []string
		noted := notedQueue{workqueue.NewPriority(workqueue.PriorityOptions[reconcile.Request]{}), &calls}
		defer noted.PriorityQueue.ShutDown()
		queue := adapt(struct{ requestQueue }{noted})
		queue.AddWithOpts(workqueue.AddOpts{After: time.Second}, req("web"))
		require.Equal(t, []string{"add after 1s"}, calls)
		calls = nil
		queue.AddWithOpts(workqueue.AddOpts{After: time.Second, RateLimited: true}, req("web"))
		require.Equal(t, []string{"add after 1s", "add rate limited"}, calls, "it cannot be told that the shorter delay counts")
		calls = nil
		queue.AddWithOpts(workqueue.AddOpts{After: -time.Second, RateLimited: true}, req("web"))
		require.Equal(t, []string{"add after 0s", "add rate limited"}, calls, "less than zero is now, and still a failure")
		calls = nil
		queue.AddWithOpts(workqueue.AddOpts{RateLimited: true}, req("web"))
		require.Equal(t, []string{"add rate limited"}, calls)
	})
}

// A request that is tried again would come before what matters more.
func TestTheWorkOfAQueueThatKnowsNoContextsHasItsPriority(t *testing.T) {
	queue := adapt(withPriorities("", nil))
	defer queue.ShutDown()
	queue.AddWithOpts(workqueue.AddOpts{Priority: new(-5)}, req("web"))
	work, err := queue.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, -5, work.Priority)
	require.Equal(t, req("web"), work.Item)
}

// A queue that is shut down first may drop what should be drained.
func TestAQueueThatCanBeDrainedIsNotShutDownFirst(t *testing.T) {
	var calls []string
	queue := adapt(struct {
		requestQueue
		drainable
	}{workqueue.NewTypedRateLimitingQueue[reconcile.Request](nil), notedQueue{workqueue.NewPriority(workqueue.PriorityOptions[reconcile.Request]{}), &calls}})
	require.NoError(t, queue.Drain(t.Context()))
	require.Equal(t, []string{"drain"}, calls)
	require.False(t, queue.ShuttingDown())
}

type drainable interface{ Drain(context.Context) error }
