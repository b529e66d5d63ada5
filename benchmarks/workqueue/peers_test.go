package workqueue

import (
	"crypto/rand"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	upstream "k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/loopwright/loopwright/workqueue"
)

// What the chapters say about the originals is executed here, beside ours. When
// one of these tests fails after an update, an original has changed: correct the
// text.

func TestClientGosDrainReturnsWhileItemsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		theirs := upstream.NewTyped[string]()
		theirs.Add("a")
		theirs.ShutDownWithDrain() // returns at once
		require.Equal(t, 1, theirs.Len())

		ours := workqueue.New(workqueue.Options[string]{})
		ours.Add("a")
		drained := false
		go func() {
			ours.ShutDownWithDrain()
			drained = true
		}()
		synctest.Wait()
		require.False(t, drained)
		item, _ := ours.Get()
		ours.Done(item)
		synctest.Wait()
		require.True(t, drained)
	})
}

func TestClientGosDonePutsAWaitingItemInTwice(t *testing.T) {
	theirs := upstream.NewTyped[string]()
	theirs.Add("a")
	theirs.Done("a")
	require.Equal(t, 2, theirs.Len())

	var reported error
	ours := workqueue.New(workqueue.Options[string]{Report: func(err error) { reported = err }})
	ours.Add("a")
	ours.Done("a")
	require.Equal(t, 1, ours.Len())
	require.Error(t, reported)
}

// Upstream's ReplicaSet controller adds a ReplicaSet after minReadySeconds, to count a pod
// as available by then, and the events of other pods add it in the meantime. It relies on
// the second look. With controller-runtime's priority queue, which is its default, nobody
// looks after six seconds.
func TestAnAddAndAnAlarmAreTwoPiecesOfWorkAsInClientGo(t *testing.T) {
	type queue = upstream.TypedRateLimitingInterface[string]
	oneAfterTheOther := func(steps ...func(q queue)) func(q queue) {
		return func(q queue) {
			for _, step := range steps {
				step(q)
				synctest.Wait()
			}
		}
	}
	add := func(q queue) { q.Add("a") }
	addAfter := func(q queue) { q.AddAfter("a", 6*time.Second) }
	addRateLimited := func(q queue) { q.AddRateLimited("a") } // the limiter says six seconds
	forget := func(q queue) { q.Forget("a") }
	for name, play := range map[string]func(q queue){
		"Add, AddAfter":               oneAfterTheOther(add, addAfter),
		"AddAfter, Add":               oneAfterTheOther(addAfter, add),
		"Add, AddRateLimited":         oneAfterTheOther(add, addRateLimited),
		"AddRateLimited, Add":         oneAfterTheOther(addRateLimited, add),
		"AddRateLimited, Add, Forget": oneAfterTheOther(addRateLimited, add, forget),
	} {
		sixSeconds := func() upstream.TypedRateLimiter[string] {
			return upstream.NewTypedItemExponentialFailureRateLimiter[string](6*time.Second, time.Hour)
		}
		for _, peer := range []struct {
			name  string
			make  func() queue
			wants int
		}{
			{"client-go", func() queue { return upstream.NewTypedRateLimitingQueue(sixSeconds()) }, 2},
			{"ours", func() queue { return workqueue.NewRateLimiting(sixSeconds(), workqueue.Options[string]{}) }, 2},
			{"ours, with priorities", func() queue {
				return workqueue.NewPriority(workqueue.PriorityOptions[string]{Limiter: sixSeconds()})
			}, 2},
			{"controller-runtime", func() queue {
				return priorityqueue.New("", func(o *priorityqueue.Opts[string]) { o.RateLimiter = sixSeconds() })
			}, 1},
		} {
			t.Run(name+"/"+peer.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					q := peer.make()
					play(q)
					var processed atomic.Int32
					go func() {
						for {
							item, shutdown := q.Get()
							if shutdown {
								return
							}
							processed.Add(1)
							q.Done(item)
						}
					}()
					time.Sleep(time.Second)
					synctest.Wait()
					require.EqualValues(t, 1, processed.Load(), "the Add is worked on at once")
					time.Sleep(time.Minute)
					synctest.Wait()
					require.EqualValues(t, peer.wants, processed.Load())
					q.ShutDown()
				})
			})
		}
	}
}

// A negative After with RateLimited is now. The limiter counts a failure all the same.
func TestANegativeDelayWithARateLimitIsNowAsInControllerRuntime(t *testing.T) {
	limiter := func() upstream.TypedRateLimiter[request] {
		return upstream.NewTypedItemExponentialFailureRateLimiter[request](time.Hour, time.Hour)
	}
	for name, queue := range map[string]func() priorityqueue.PriorityQueue[request]{
		"theirs": func() priorityqueue.PriorityQueue[request] {
			return priorityqueue.New("", func(o *priorityqueue.Opts[request]) { o.RateLimiter = limiter() })
		},
		"ours": func() priorityqueue.PriorityQueue[request] {
			return adapter{workqueue.NewPriority(workqueue.PriorityOptions[request]{Limiter: limiter()})}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := queue()
				q.AddWithOpts(priorityqueue.AddOpts{After: -time.Second, RateLimited: true}, request{})
				synctest.Wait()
				require.Equal(t, 1, q.Len())
				require.Equal(t, 1, q.NumRequeues(request{}))
				q.ShutDown()
			})
		})
	}
}

// An object of the initial list waits with a low priority, and something sets an alarm for it.
func TestControllerRuntimesAddAfterDropsTheDelayOfWhatWaitsAndRaisesItAtOnce(t *testing.T) {
	low, early, late := -100, request{}, request{}
	early.Name, late.Name = "early", "late"
	for name, c := range map[string]struct {
		queue func() priorityqueue.PriorityQueue[request]
		now   []string
		later []string
	}{
		"theirs": {func() priorityqueue.PriorityQueue[request] { return priorityqueue.New[request]("") },
			[]string{"late 0", "early -100"}, nil},
		"ours": {func() priorityqueue.PriorityQueue[request] {
			return adapter{workqueue.NewPriority(workqueue.PriorityOptions[request]{})}
		}, []string{"early -100", "late -100"}, []string{"late 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := c.queue()
				q.AddWithOpts(priorityqueue.AddOpts{Priority: &low}, early, late)
				q.AddAfter(late, time.Hour)
				work := func() (out []string) {
					synctest.Wait()
					for q.Len() > 0 {
						item, priority, _ := q.GetWithPriority()
						out = append(out, fmt.Sprint(item.Name, " ", priority))
						q.Done(item)
					}
					return out
				}
				require.Equal(t, c.now, work())
				time.Sleep(2 * time.Hour)
				require.Equal(t, c.later, work())
				q.ShutDown()
			})
		})
	}
}

func TestControllerRuntimesSecondShutDownPanics(t *testing.T) {
	theirs := priorityqueue.New[string]("")
	theirs.ShutDown()
	require.Panics(t, theirs.ShutDown)

	ours := workqueue.NewPriority(workqueue.PriorityOptions[string]{})
	ours.ShutDown()
	ours.ShutDown()
}

func TestControllerRuntimesDrainDropsWhatWaits(t *testing.T) {
	theirs := priorityqueue.New[string]("")
	theirs.Add("a")
	theirs.ShutDownWithDrain()
	_, shutdown := theirs.Get()
	require.True(t, shutdown, "the item is never handed out")
}

func TestControllerRuntimesLowClassStarves(t *testing.T) {
	const many = 500
	low := -100
	served := func(q interface {
		Add(int)
		Get() (int, bool)
		Done(int)
	}) bool {
		for i := range many {
			q.Add(i) // there is always something that matters more
			q.Add(i + many)
			item, _ := q.Get()
			q.Done(item)
			if item < 0 {
				return true
			}
		}
		return false
	}
	theirs := priorityqueue.New[int]("")
	theirs.AddWithOpts(priorityqueue.AddOpts{Priority: &low}, -1)
	require.False(t, served(theirs))
	theirs.ShutDown()

	ours := workqueue.NewPriority(workqueue.PriorityOptions[int]{})
	ours.AddWithOpts(workqueue.AddOpts{Priority: &low}, -1)
	require.True(t, served(ours))
}

// Whoever has a dashboard for one finds the same numbers for the other.
func TestControllerRuntimesDepthHasAPriority(t *testing.T) {
	low, name := -100, rand.Text() // the registry is there for the whole process
	theirs := priorityqueue.New[string](name)
	defer theirs.ShutDown()
	theirs.AddWithOpts(priorityqueue.AddOpts{Priority: &low}, "a", "b")
	theirs.Add("c")
	require.Equal(t, 3, theirs.Len()) // it takes in what was added
	require.Equal(t, map[string]float64{"0": 1, "-100": 2}, depths(t, name))
	theirs.Get()
	theirs.AddWithOpts(priorityqueue.AddOpts{Priority: &low}, "c")
	require.Equal(t, 3, theirs.Len())
	require.Equal(t, map[string]float64{"0": 0, "-100": 3}, depths(t, name), "what was added during work counts")

	ourDepths := &depthsByPriority{ourMetrics: ourMetrics{theirMetrics: theirMetrics{}}}
	ours := workqueue.NewPriority(workqueue.PriorityOptions[string]{Options: workqueue.Options[string]{Metrics: ourDepths}})
	ours.AddWithOpts(workqueue.AddOpts{Priority: &low}, "a", "b")
	ours.Add("c")
	require.Equal(t, map[int]float64{0: 1, -100: 2}, ourDepths.read())
	ours.Get()
	ours.AddWithOpts(workqueue.AddOpts{Priority: &low}, "c")
	require.Equal(t, map[int]float64{0: 0, -100: 3}, ourDepths.read())
}

type depthsByPriority struct {
	ourMetrics
	read func() map[int]float64
}

func (d *depthsByPriority) GaugeByPriority(_, _ string, read func() map[int]float64) func() {
	d.read = read
	return nil
}

// depths are what controller-runtime's registry says of a queue, by priority.
func depths(t *testing.T, queue string) map[string]float64 {
	families, err := metrics.Registry.Gather()
	require.NoError(t, err)
	depths := map[string]float64{}
	for _, family := range families {
		if family.GetName() != workqueue.MetricDepth {
			continue
		}
		for _, metric := range family.GetMetric() {
			labels := map[string]string{}
			for _, label := range metric.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			if labels["name"] == queue {
				depths[labels["priority"]] = metric.GetGauge().GetValue()
			}
		}
	}
	return depths
}

// theirMetrics counts for client-go's queue, and ourMetrics for ours.
type theirMetrics map[string]*number

type number struct{ value float64 }

func (n *number) Inc()            { n.value++ }
func (n *number) Dec()            { n.value-- }
func (n *number) Set(v float64)   { n.value = v }
func (n *number) Observe(float64) { n.value++ }

func (m theirMetrics) of(metric string) *number {
	m[metric] = new(number)
	return m[metric]
}

func (m theirMetrics) NewDepthMetric(string) upstream.GaugeMetric {
	return m.of(workqueue.MetricDepth)
}

func (m theirMetrics) NewAddsMetric(string) upstream.CounterMetric {
	return m.of(workqueue.MetricAdds)
}

func (m theirMetrics) NewLatencyMetric(string) upstream.HistogramMetric {
	return m.of(workqueue.MetricQueueDuration)
}

func (m theirMetrics) NewWorkDurationMetric(string) upstream.HistogramMetric {
	return m.of(workqueue.MetricWorkDuration)
}

func (m theirMetrics) NewUnfinishedWorkSecondsMetric(string) upstream.SettableGaugeMetric {
	return new(number) // a goroutine sets it
}

func (m theirMetrics) NewLongestRunningProcessorSecondsMetric(string) upstream.SettableGaugeMetric {
	return new(number) // a goroutine sets it
}

func (m theirMetrics) NewRetriesMetric(string) upstream.CounterMetric {
	return m.of(workqueue.MetricRetries)
}

type ourMetrics struct {
	theirMetrics
	depth func() float64
}

func (m *ourMetrics) Counter(metric, _ string) workqueue.Counter     { return m.of(metric) }
func (m *ourMetrics) Histogram(metric, _ string) workqueue.Histogram { return m.of(metric) }

func (m *ourMetrics) Gauge(metric, _ string, read func() float64) func() {
	if metric == workqueue.MetricDepth {
		m.depth = read
	}
	return nil
}

// Whoever has a dashboard for client-go's queue finds the same numbers for ours, after
// each step.
func TestTheMetricsAreThoseOfClientGo(t *testing.T) {
	theirNumbers, ourNumbers := theirMetrics{}, &ourMetrics{theirMetrics: theirMetrics{}}
	theirs := upstream.NewTypedRateLimitingQueueWithConfig(
		upstream.NewTypedItemExponentialFailureRateLimiter[string](time.Hour, time.Hour),
		upstream.TypedRateLimitingQueueConfig[string]{Name: "fruit", MetricsProvider: theirNumbers})
	ours := workqueue.NewRateLimiting[string](&workqueue.Exponential[string]{Base: time.Hour},
		workqueue.Options[string]{Name: "fruit", Metrics: ourNumbers})
	type queue = upstream.TypedRateLimitingInterface[string]
	for i, step := range []func(queue){
		func(q queue) { q.Add("a") },
		func(q queue) { q.Add("a") },
		func(q queue) { q.Add("b") },
		func(q queue) { q.Get() },
		func(q queue) { q.Get() },
		func(q queue) { q.Add("a") }, // a worker holds it
		func(q queue) { q.Add("a") },
		func(q queue) { q.Done("a") },
		func(q queue) { q.AddAfter("a", 0) },
		func(q queue) { q.AddAfter("b", -time.Second) }, // a worker holds it
		func(q queue) { q.AddAfter("c", time.Hour) },
		func(q queue) { q.AddRateLimited("d") },
		func(q queue) { q.Done("b") },
		func(q queue) { q.ShutDown() },
		func(q queue) { q.Add("e") },
		func(q queue) { q.AddAfter("e", 0) },
		func(q queue) { q.AddAfter("e", time.Hour) },
		func(q queue) { q.AddRateLimited("e") },
		func(q queue) { q.Get() },
		func(q queue) { q.Done("a") },
	} {
		step(theirs)
		step(ours)
		for _, metric := range []string{workqueue.MetricAdds, workqueue.MetricRetries, workqueue.MetricQueueDuration, workqueue.MetricWorkDuration} {
			require.Equal(t, theirNumbers[metric].value, ourNumbers.theirMetrics[metric].value, "%s after step %d", metric, i)
		}
		require.Equal(t, theirNumbers[workqueue.MetricDepth].value, ourNumbers.depth(), "depth after step %d", i)
	}
}
