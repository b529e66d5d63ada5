package replicaset

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/manager/metrics"
)

// A dashboard would show that Pods which are much older than others are deleted, or nothing at all.
func TestTheAgeOfAChosenPodIsComparedWithTheYoungestReadyPod(t *testing.T) {
	young, old := settledPod("young", aged(2*time.Minute)), settledPod("old", aged(5*time.Minute))
	younger := settledPod("younger, and not ready", aged(time.Minute), notReady)
	all := []*corev1.Pod{old, young, younger}
	for _, c := range []struct {
		what   string
		pods   []*corev1.Pod
		chosen []*corev1.Pod
		ratios []float64
	}{
		{"an older one", all, []*corev1.Pod{old}, []float64{2.5}},
		{"all", all, all, []float64{2.5, 1}},
		{"an older one, and the cache lists the youngest first", []*corev1.Pod{young, old}, []*corev1.Pod{old}, []float64{2.5}},
		{"one that is not ready", all, []*corev1.Pod{younger}, nil},
		{"none is ready", []*corev1.Pod{younger}, []*corev1.Pod{younger}, nil},
		{"the youngest was made in this second", []*corev1.Pod{old, settledPod("new", aged(0))}, []*corev1.Pod{old}, nil},
		{"the server's clock is ahead", []*corev1.Pod{old, settledPod("new", aged(-time.Second))}, []*corev1.Pod{old}, nil},
	} {
		require.Equal(t, c.ratios, ageRatios(c.pods, c.chosen, noon), c.what)
	}
}

func TestAScaleDownIsMeasuredUnlessAllPodsGo(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		count, sum := ageRatiosSoFar(t)
		rs := w.set(4)
		w.run()
		for _, pod := range w.Pods() {
			w.starts(pod, "n1")
		}
		w.Settle()
		w.scale(rs, 1)
		afterCount, afterSum := ageRatiosSoFar(t)
		require.Equal(t, uint64(3), afterCount-count)
		require.InDelta(t, 3, afterSum-sum, 0.01, "all are of the same age")
		w.scale(rs, 0)
		last, _ := ageRatiosSoFar(t)
		require.Equal(t, afterCount, last, "there was no choice")
	})
}

// A dashboard for Kubernetes' own controller adds up the same buckets.
func TestTheAgesAreInTheBucketsOfKubernetes(t *testing.T) {
	families, err := metrics.Registry.Gather()
	require.NoError(t, err)
	var bounds []float64
	for _, family := range families {
		if family.GetName() == "replicaset_controller_sorting_deletion_age_ratio" {
			for _, bucket := range family.GetMetric()[0].GetHistogram().GetBucket() {
				bounds = append(bounds, bucket.GetUpperBound())
			}
		}
	}
	require.Equal(t, []float64{0.25, 0.5, 1, 2, 4, 8}, bounds)
}

// ageRatiosSoFar are how many there were, and their sum.
func ageRatiosSoFar(t *testing.T) (count uint64, sum float64) {
	families, err := metrics.Registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() == "replicaset_controller_sorting_deletion_age_ratio" {
			histogram := family.GetMetric()[0].GetHistogram()
			return histogram.GetSampleCount(), histogram.GetSampleSum()
		}
	}
	t.Fatal("there is no such metric")
	return 0, 0
}
