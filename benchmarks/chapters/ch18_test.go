package chapters

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	upstream "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/loopwright/loopwright/manager/webhook/admission"
	"github.com/loopwright/loopwright/mini"
)

// A default changes one field, and the whole object is encoded to find out which. A user waits for that, too.
func Benchmark18(b *testing.B) {
	compare(b, "a review that fills in one field of a Pod", "containers", []int{1, 50},
		peer{"mini", func(b *testing.B, n int) { review(b, n, changed, mini.Default(grace{}.Default)) }},
		peer{"library", func(b *testing.B, n int) {
			review(b, n, changed, admission.WithDefaulter(scheme.Scheme, grace{}))
		}},
		peer{"controller-runtime", func(b *testing.B, n int) {
			review(b, n, changed, upstream.WithDefaulter(scheme.Scheme, grace{}))
		}},
	)
}

// grace fills in how long a Pod may take to end.
type grace struct{}

func (grace) Default(_ context.Context, pod *corev1.Pod) error {
	if pod.Spec.TerminationGracePeriodSeconds == nil {
		pod.Spec.TerminationGracePeriodSeconds = new(int64(5))
	}
	return nil
}
