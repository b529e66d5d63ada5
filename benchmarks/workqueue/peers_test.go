package workqueue

import (
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

func TestClientGosAddDoesNotEndADelay(t *testing.T) {
	pieces := func(q upstream.TypedDelayingInterface[string]) (n int) {
		q.AddAfter("a", time.Second)
		synctest.Wait()
		q.Add("a")
		for range 2 {
			for q.Len() > 0 {
				item, _ := q.Get()
				q.Done(item)
				n++
			}
			time.Sleep(time.Minute)
			synctest.Wait()
		}
		for q.Len() > 0 {
			item, _ := q.Get()
			q.Done(item)
			n++
		}
		q.ShutDown()
		return n
	}
	synctest.Test(t, func(t *testing.T) {
		require.Equal(t, 2, pieces(upstream.NewTypedDelayingQueue[string]()))
		require.Equal(t, 1, pieces(workqueue.NewDelaying(workqueue.Options[string]{})))
	})
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
	low := -100
	theirs := priorityqueue.New[string]("fruit")
	defer theirs.ShutDown()
	theirs.AddWithOpts(priorityqueue.AddOpts{Priority: &low}, "a", "b")
	theirs.Add("c")
	require.Equal(t, 3, theirs.Len()) // it takes in what was added
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
			if labels["name"] == "fruit" {
				depths[labels["priority"]] = metric.GetGauge().GetValue()
			}
		}
	}
	require.Equal(t, map[string]float64{"0": 1, "-100": 2}, depths)
}
