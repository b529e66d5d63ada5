package workqueue

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
	upstream "k8s.io/client-go/util/workqueue"
)

var (
	_ TypedInterface[string]             = (*Queue[string])(nil)
	_ TypedDelayingInterface[string]     = (*DelayingQueue[string])(nil)
	_ TypedRateLimitingInterface[string] = (*RateLimitingQueue[string])(nil)
	_ TypedRateLimitingInterface[string] = (*PriorityQueue[string])(nil)

	// Their interfaces and ours are the same: a function that wants one takes the other.
	_ upstream.TypedRateLimitingInterface[string] = (TypedRateLimitingInterface[string])(nil)
	_ TypedRateLimitingInterface[string]          = (upstream.TypedRateLimitingInterface[string])(nil)
	_ upstream.TypedRateLimiter[string]           = (TypedRateLimiter[string])(nil)

	// What users write for client-go compiles.
	_ TypedRateLimiter[string] = &TypedBucketRateLimiter[string]{Limiter: rate.NewLimiter(1, 1)}
	_                          = TypedRateLimitingQueueConfig[string]{Name: "letters"}
	_                          = TypedDelayingQueueConfig[string]{Name: "letters"}
)

// A controller that moves here must not begin to retry at other times.
func TestLimitersWithClientGosNamesDoWhatClientGosDo(t *testing.T) {
	for _, c := range []struct {
		name         string
		ours, theirs upstream.TypedRateLimiter[string]
	}{
		{"exponential", NewTypedItemExponentialFailureRateLimiter[string](3*time.Millisecond, time.Second), upstream.NewTypedItemExponentialFailureRateLimiter[string](3*time.Millisecond, time.Second)},
		{"exponential from nothing", NewTypedItemExponentialFailureRateLimiter[string](0, time.Second), upstream.NewTypedItemExponentialFailureRateLimiter[string](0, time.Second)},
		{"by item", DefaultTypedItemBasedRateLimiter[string](), upstream.DefaultTypedItemBasedRateLimiter[string]()},
		{"fast, then slow", NewTypedItemFastSlowRateLimiter[string](time.Millisecond, time.Minute, 3), upstream.NewTypedItemFastSlowRateLimiter[string](time.Millisecond, time.Minute, 3)},
		{"never fast", NewTypedItemFastSlowRateLimiter[string](time.Millisecond, time.Minute, 0), upstream.NewTypedItemFastSlowRateLimiter[string](time.Millisecond, time.Minute, 0)},
		{
			"the longest of several",
			NewTypedMaxOfRateLimiter(NewTypedItemFastSlowRateLimiter[string](time.Millisecond, time.Second, 5), DefaultTypedItemBasedRateLimiter[string]()),
			upstream.NewTypedMaxOfRateLimiter(upstream.NewTypedItemFastSlowRateLimiter[string](time.Millisecond, time.Second, 5), upstream.DefaultTypedItemBasedRateLimiter[string]()),
		},
		{"with a longest wait", NewTypedWithMaxWaitRateLimiter(DefaultTypedItemBasedRateLimiter[string](), 9*time.Millisecond), upstream.NewTypedWithMaxWaitRateLimiter(upstream.DefaultTypedItemBasedRateLimiter[string](), 9*time.Millisecond)},
		{"the default", DefaultTypedControllerRateLimiter[string](), upstream.DefaultTypedControllerRateLimiter[string]()},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// "wait" lets the bucket of the default fill up again; its tokens are counted in time.
				for i, step := range []string{"a", "a", "b", "a", "a", "a", "a", "forget", "a", "b", "a", "a", "a", "a", "a", "a", "a", "a", "a", "a", "a", "a", "a"} {
					if step == "forget" {
						c.ours.Forget("a")
						c.theirs.Forget("a")
						continue
					}
					require.Equal(t, c.theirs.When(step), c.ours.When(step), "step %d", i)
					require.Equal(t, c.theirs.NumRequeues(step), c.ours.NumRequeues(step), "step %d", i)
				}
			})
		})
	}
}

func TestQueuesWithClientGosNamesWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limited := func() TypedRateLimiter[string] {
			return NewTypedItemExponentialFailureRateLimiter[string](time.Second, time.Minute)
		}
		for _, c := range []struct {
			name  string
			queue TypedInterface[string]
			add   func(TypedInterface[string])
			after time.Duration
		}{
			{"queue", NewTyped[string](), func(q TypedInterface[string]) { q.Add("a") }, 0},
			{"queue with a name", NewTypedWithConfig(TypedQueueConfig[string]{Name: "letters"}), func(q TypedInterface[string]) { q.Add("a") }, 0},
			{"delaying", NewTypedDelayingQueue[string](), later1s, time.Second},
			{"delaying with a name", NewTypedDelayingQueueWithConfig(TypedDelayingQueueConfig[string]{Name: "letters"}), later1s, time.Second},
			{"rate limiting", NewTypedRateLimitingQueue(limited()), retry1s, time.Second},
			{"rate limiting with a name", NewTypedRateLimitingQueueWithConfig(limited(), TypedRateLimitingQueueConfig[string]{Name: "letters"}), retry1s, time.Second},
		} {
			began := time.Now()
			c.add(c.queue)
			item, shutdown := c.queue.Get()
			require.Equal(t, "a", item, c.name)
			require.False(t, shutdown)
			require.Equal(t, c.after, time.Since(began), c.name)
			c.queue.Done(item)
			c.queue.ShutDown()
		}
	})
}

func later1s(q TypedInterface[string]) { q.(TypedDelayingInterface[string]).AddAfter("a", time.Second) }
func retry1s(q TypedInterface[string]) { q.(TypedRateLimitingInterface[string]).AddRateLimited("a") }

func TestTheNameAndTheProviderOfAConfigReachTheQueue(t *testing.T) {
	made := &madeMetrics{}
	NewTypedRateLimitingQueueWithConfig(nil, TypedRateLimitingQueueConfig[string]{Name: "letters", MetricsProvider: made})
	require.Contains(t, made.names, MetricAdds+" letters")
}

type madeMetrics struct{ names []string }

func (m *madeMetrics) Counter(metric, queue string) Counter {
	m.names = append(m.names, metric+" "+queue)
	return nothing{}
}
func (m *madeMetrics) Histogram(metric, queue string) Histogram { return nothing{} }
func (m *madeMetrics) Gauge(metric, queue string, read func() float64) func() {
	return nil
}

type nothing struct{}

func (nothing) Inc()            {}
func (nothing) Observe(float64) {}
