package metrics

import (
	"testing"

	"github.com/stretchr/testify/require"
	clientgo "k8s.io/client-go/util/workqueue"
)

// kro makes the queue of its dynamic controller with client-go. On controller-runtime it is on the
// dashboard as every other queue.
func TestAQueueThatAProgramMakesWithClientGoHasTheSameMetrics(t *testing.T) {
	name := freshName(t)
	queue := func() clientgo.TypedRateLimitingInterface[string] {
		return clientgo.NewTypedRateLimitingQueueWithConfig(
			clientgo.DefaultTypedControllerRateLimiter[string](),
			clientgo.TypedRateLimitingQueueConfig[string]{Name: name})
	}
	q, other := queue(), queue()
	defer q.ShutDown()
	defer other.ShutDown()
	q.Add("a")
	q.Add("b")
	other.Add("c")
	q.AddAfter("d", 1e18)
	item, _ := q.Get()
	q.Done(item)
	item, _ = q.Get()
	defer q.Done(item)
	labels := "{controller=" + name + " name=" + name
	require.Equal(t, []string{
		"workqueue_adds_total" + labels + "} 3",
		"workqueue_depth" + labels + " priority=} 1",
		"workqueue_longest_running_processor_seconds" + labels + "} 0",
		"workqueue_queue_duration_seconds" + labels + "} 2",
		"workqueue_retries_total" + labels + "} 1",
		"workqueue_unfinished_work_seconds" + labels + "} 0",
		"workqueue_work_duration_seconds" + labels + "} 1",
	}, gathered(t, name))
}
