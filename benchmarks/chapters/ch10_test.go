package chapters

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes/scheme"
	upstream "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/mini"
)

// A read that goes to the server, without a server: its answer is prepared. What's left is the request, and decoding what
// comes back.
func Benchmark10(b *testing.B) {
	compare(b, "a Get over HTTP", "containers", []int{1, 50},
		peer{"mini", func(b *testing.B, n int) {
			pod := wide(n)
			c := &mini.Client{Cluster: miniCluster(b, serve(b, []*corev1.Pod{pod}))}
			for b.Loop() {
				if got, err := mini.Get[*corev1.Pod](b.Context(), c, mini.KeyOf(pod)); err != nil || len(got.Spec.Containers) != n {
					b.Fatal(err)
				}
			}
		}},
		peer{"library", func(b *testing.B, n int) {
			pod := wide(n)
			c, err := client.New(serve(b, []*corev1.Pod{pod}), client.Options{Scheme: scheme.Scheme, Mapper: podMapper()})
			getInto(b, pod, func(ctx context.Context, into *corev1.Pod) error { return c.Get(ctx, mini.KeyOf(pod), into) }, err)
		}},
		peer{"controller-runtime", func(b *testing.B, n int) {
			pod := wide(n)
			c, err := upstream.New(serve(b, []*corev1.Pod{pod}), upstream.Options{Scheme: scheme.Scheme, Mapper: podMapper()})
			getInto(b, pod, func(ctx context.Context, into *corev1.Pod) error { return c.Get(ctx, mini.KeyOf(pod), into) }, err)
		}},
	)
}

// getInto measures a Get of a client, which couldn't be made if there's an error.
func getInto(b *testing.B, want *corev1.Pod, get func(ctx context.Context, into *corev1.Pod) error, err error) {
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		var got corev1.Pod
		if err := get(b.Context(), &got); err != nil || len(got.Spec.Containers) != len(want.Spec.Containers) {
			b.Fatal(err)
		}
	}
}

// wide is a Pod with n containers.
func wide(n int) *corev1.Pod {
	pod := pods(1)[0]
	pod.Spec.Containers = nil
	for i := range n {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
			Name: fmt.Sprint("c", i), Image: "web:1", Env: []corev1.EnvVar{{Name: "A", Value: "b"}, {Name: "C", Value: "d"}},
		})
	}
	return pod
}

// podMapper knows where Pods are, so that nobody has to ask the server.
func podMapper() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	return mapper
}
