package replicaset

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/manager/metrics"
)

// A dashboard would show wrong ages of deleted Pods, or nothing at all.
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
		{
			"an older one, and the cache lists the youngest first", []*corev1.Pod{young, old},
			[]*corev1.Pod{old}, []float64{2.5},
		},
		{"one that is not ready", all, []*corev1.Pod{younger}, nil},
		{"none is ready", []*corev1.Pod{younger}, []*corev1.Pod{younger}, nil},
		{
			"the youngest was made in this second", []*corev1.Pod{old, settledPod("new", aged(0))},
			[]*corev1.Pod{old}, nil,
		},
		{
			"the server's clock is ahead",
			[]*corev1.Pod{old, settledPod("new", aged(-time.Second))}, []*corev1.Pod{old}, nil,
		},
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

// A dashboard for Kubernetes' own controller uses these buckets.
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

// ageRatiosSoFar returns the number of ratios observed so far, and their sum.
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

func TestTheNumberOfPodsChangesByWhatIsMissingOrTooMuch(t *testing.T) {
	for _, c := range []struct {
		want, have int
		change     change
	}{
		{0, 0, change{}}, {3, 3, change{}},
		{3, 0, change{create: 3}}, {3, 2, change{create: 1}},
		{0, 3, change{remove: 3}}, {2, 3, change{remove: 1}},
		{500, 0, change{create: 500}}, {1000, 0, change{create: 500}},
		{1000, 700, change{create: 300}},
		{0, 501, change{remove: 500}}, {100, 1000, change{remove: 500}},
	} {
		require.Equal(t, c.change, changeTo(c.want, c.have, defaultBurst), "want %d, have %d",
			c.want, c.have)
	}
}

// Otherwise a used-up quota would refuse hundreds of requests.
func TestCreationStartsSlowly(t *testing.T) {
	for _, c := range []struct {
		n     int
		sizes []int
	}{
		{0, nil}, {-1, nil}, {1, []int{1}}, {2, []int{1, 1}}, {3, []int{1, 2}},
		{10, []int{1, 2, 4, 3}},
		{500, []int{1, 2, 4, 8, 16, 32, 64, 128, 245}},
	} {
		require.Equal(t, c.sizes, slices.Collect(batches(c.n)), "%d", c.n)
	}
	for n := range 2000 {
		sum := 0
		for size := range batches(n) {
			require.LessOrEqual(t, size, sum+1, "a group is at most one larger than all before it")
			sum += size
		}
		require.Equal(t, n, sum)
	}
	for size := range batches(10) {
		require.Equal(t, 1, size)
		break // as after a failure
	}
}
