package chapters

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	upstream "sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/loopwright/loopwright/manager/controller/controllerutil"
	"github.com/loopwright/loopwright/mini"
)

// Each reconcile begins with this question, and nearly always the finalizer is there already.
func Benchmark15(b *testing.B) {
	const ours = "example.com/ours"
	measure := func(add func(*corev1.Pod) (changed bool)) func(*testing.B, int) {
		return func(b *testing.B, n int) {
			pod := pods(1)[0]
			for i := range n - 1 {
				pod.Finalizers = append(pod.Finalizers, fmt.Sprint("example.com/", i))
			}
			if !add(pod) {
				b.Fatal("it wasn't there")
			}
			for b.Loop() {
				if add(pod) {
					b.Fatal("it was there")
				}
			}
		}
	}
	compare(b, "a finalizer that's there already", "finalizers", []int{1, 100},
		peer{"mini", measure(func(pod *corev1.Pod) bool { return mini.AddFinalizer(pod, ours) })},
		peer{"library", measure(func(pod *corev1.Pod) bool { return controllerutil.AddFinalizer(pod, ours) })},
		peer{"controller-runtime", measure(func(pod *corev1.Pod) bool { return upstream.AddFinalizer(pod, ours) })},
	)
}
