package chapters

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	upstream "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/loopwright/loopwright/manager/webhook/admission"
	"github.com/loopwright/loopwright/mini"
)

// While a webhook thinks, a user waits. One validates here: it finds the container without an image, and there's none.
func Benchmark17(b *testing.B) {
	compare(b, "a review that allows a Pod", "containers", []int{1, 50},
		peer{"mini", func(b *testing.B, n int) {
			review(b, n, allowed, mini.Validate(func(_ context.Context, _, pod *corev1.Pod) error { return imageless(pod) }))
		}},
		peer{"library", func(b *testing.B, n int) {
			review(b, n, allowed, admission.WithValidator(scheme.Scheme, images[admission.Warnings]{}))
		}},
		peer{"controller-runtime", func(b *testing.B, n int) {
			review(b, n, allowed, upstream.WithValidator(scheme.Scheme, images[upstream.Warnings]{}))
		}},
	)
}

// allowed and changed are what an answer has to say.
const (
	allowed = `"allowed":true`
	changed = `"patchType":"JSONPatch"`
)

func review(b *testing.B, containers int, want string, webhook http.Handler) {
	question := fmt.Appendf(nil, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"705ab4f5",
		"kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},
		"name":"web","namespace":"shop","operation":"CREATE","userInfo":{"username":"bob"},"object":%s,"oldObject":null}}`, encode(b, wide(containers)))
	for b.Loop() {
		request := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(question))
		request.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		webhook.ServeHTTP(answer, request)
		if !bytes.Contains(answer.Body.Bytes(), []byte(want)) {
			b.Fatal(answer.Body)
		}
	}
}

// images validates for the library and for controller-runtime, whose Warnings are different types.
type images[W ~[]string] struct{}

func (images[W]) ValidateCreate(_ context.Context, pod *corev1.Pod) (W, error) {
	return nil, imageless(pod)
}
func (images[W]) ValidateUpdate(_ context.Context, _, pod *corev1.Pod) (W, error) {
	return nil, imageless(pod)
}
func (images[W]) ValidateDelete(context.Context, *corev1.Pod) (W, error) { return nil, nil }

func imageless(pod *corev1.Pod) error {
	for _, c := range pod.Spec.Containers {
		if c.Image == "" {
			return errors.New("the container " + c.Name + " has no image")
		}
	}
	return nil
}
