package chapters

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/mini"
)

// Half of the Pods have to go, and which half is a matter of eight criteria.
func Benchmark21(b *testing.B) {
	compare(b, "half of the Pods, ranked", "Pods", []int{100, 10_000}, peer{"mini", func(b *testing.B, n int) {
		now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
		all := pods(n)
		for i, pod := range all {
			pod.CreationTimestamp = metav1.NewTime(now.Add(-time.Duration(i*7919%n) * time.Second))
			pod.Status.Phase = corev1.PodRunning
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: pod.CreationTimestamp}}
		}
		for b.Loop() {
			if got := mini.GetPodsToDelete(all, n/2, now); len(got) != n/2 {
				b.Fatal(len(got))
			}
		}
	}})
}
