package replicaset

import (
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
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
		before := ageRatiosSoFar(t)
		rs := w.set(4)
		w.start()
		for _, pod := range w.pods() {
			w.starts(&pod, "n1")
		}
		w.scale(rs, 1)
		after := ageRatiosSoFar(t)
		require.Equal(t, uint64(3), after.GetSampleCount()-before.GetSampleCount())
		require.InDelta(t, 3, after.GetSampleSum()-before.GetSampleSum(), 0.01, "all are of the same age")
		w.scale(rs, 0)
		require.Equal(t, after.GetSampleCount(), ageRatiosSoFar(t).GetSampleCount(), "there was no choice")
	})
}

func ageRatiosSoFar(t *testing.T) *dto.Histogram {
	var metric dto.Metric
	require.NoError(t, deletionAgeRatio.Write(&metric))
	return metric.GetHistogram()
}
