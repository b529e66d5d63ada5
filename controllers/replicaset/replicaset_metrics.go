package replicaset

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/controllers/internal/podstate"
	"github.com/loopwright/loopwright/manager/metrics"
)

// deletionAgeRatio has the name and the buckets of Kubernetes' own. It shows what comparing times by their logarithm
// does: a Pod that is chosen though it is not the youngest is less than twice as old, unless something else decided.
var deletionAgeRatio = prometheus.NewHistogram(prometheus.HistogramOpts{
	Name:    "replicaset_controller_sorting_deletion_age_ratio",
	Help:    "How many times as old as the youngest ready Pod a ready Pod was that was chosen for deletion.",
	Buckets: prometheus.ExponentialBuckets(0.25, 2, 6),
})

func init() { metrics.Registry.MustRegister(deletionAgeRatio) }

// ageRatios are those of the chosen Pods that are ready, in relation to the youngest ready Pod. There are none if the
// youngest has no age: its second has only begun, or the server's clock is ahead.
//
// Kubernetes divides whole numbers of milliseconds, so that its ratios are whole numbers too, and rounded down.
func ageRatios(pods, chosen []*corev1.Pod, now time.Time) (ratios []float64) {
	var youngest time.Time
	for _, pod := range pods {
		if _, ready := podstate.Ready(pod); ready && pod.CreationTimestamp.Time.After(youngest) {
			youngest = pod.CreationTimestamp.Time
		}
	}
	least := now.Sub(youngest)
	if least <= 0 {
		return nil
	}
	for _, pod := range chosen {
		if _, ready := podstate.Ready(pod); ready {
			ratios = append(ratios, float64(now.Sub(pod.CreationTimestamp.Time))/float64(least))
		}
	}
	return ratios
}
