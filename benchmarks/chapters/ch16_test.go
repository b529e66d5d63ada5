package chapters

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	upstream "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/mini"
)

// One label is all that the caller means. An apply sends that label; an update reads the whole object, and sends it back.
// The server's answers are prepared.
func Benchmark16(b *testing.B) {
	const owner, label = "websites", "web.example.com/website"
	config := func(pod *corev1.Pod) *coreapply.PodApplyConfiguration {
		return coreapply.Pod(pod.Name, pod.Namespace).WithLabels(map[string]string{label: "shop"})
	}
	compare(b, "an apply of one label", "containers", []int{1, 50},
		peer{"mini", func(b *testing.B, n int) {
			pod := wide(n)
			c := &mini.Client{Cluster: miniCluster(b, serve(b, []*corev1.Pod{pod}))}
			want := mini.Fields{"metadata": mini.Fields{"labels": mini.Fields{label: "shop"}}}
			repeat(b, nil, func(ctx context.Context) error {
				return c.Apply(ctx, pod.DeepCopy(), want, mini.FieldOwner{Name: owner, Force: true})
			})
		}},
		peer{"library", func(b *testing.B, n int) {
			pod := wide(n)
			c, err := client.New(serve(b, []*corev1.Pod{pod}), client.Options{Scheme: scheme.Scheme, Mapper: podMapper()})
			repeat(b, err, func(ctx context.Context) error {
				return c.Apply(ctx, config(pod), client.FieldOwner(owner), client.ForceOwnership)
			})
		}},
		peer{"controller-runtime", func(b *testing.B, n int) {
			pod := wide(n)
			c, err := upstream.New(serve(b, []*corev1.Pod{pod}), upstream.Options{Scheme: scheme.Scheme, Mapper: podMapper()})
			repeat(b, err, func(ctx context.Context) error {
				return c.Apply(ctx, config(pod), upstream.FieldOwner(owner), upstream.ForceOwnership)
			})
		}},
	)
	compare(b, "a Get and an Update of one label", "containers", []int{1, 50},
		peer{"mini", func(b *testing.B, n int) {
			pod := wide(n)
			c := &mini.Client{Cluster: miniCluster(b, serve(b, []*corev1.Pod{pod}))}
			repeat(b, nil, func(ctx context.Context) error {
				got, err := mini.Get[*corev1.Pod](ctx, c, mini.KeyOf(pod))
				if err != nil {
					return err
				}
				got.Labels[label] = "shop"
				return c.Update(ctx, got)
			})
		}},
		peer{"library", func(b *testing.B, n int) {
			pod := wide(n)
			c, err := client.New(serve(b, []*corev1.Pod{pod}), client.Options{Scheme: scheme.Scheme, Mapper: podMapper()})
			repeat(b, err, func(ctx context.Context) error {
				var got corev1.Pod
				if err := c.Get(ctx, mini.KeyOf(pod), &got); err != nil {
					return err
				}
				got.Labels[label] = "shop"
				return c.Update(ctx, &got)
			})
		}},
		peer{"controller-runtime", func(b *testing.B, n int) {
			pod := wide(n)
			c, err := upstream.New(serve(b, []*corev1.Pod{pod}), upstream.Options{Scheme: scheme.Scheme, Mapper: podMapper()})
			repeat(b, err, func(ctx context.Context) error {
				var got corev1.Pod
				if err := c.Get(ctx, mini.KeyOf(pod), &got); err != nil {
					return err
				}
				got.Labels[label] = "shop"
				return c.Update(ctx, &got)
			})
		}},
	)
	compare(b, "which fields are mine, of an object in memory", "containers", []int{1, 50},
		peer{"mini", func(b *testing.B, n int) {
			pod := applied(n, owner, label)
			repeat(b, nil, func(context.Context) error {
				fields, err := mini.Extract(pod, owner)
				if len(fields) != 1 {
					b.Fatal(fields)
				}
				return err
			})
		}},
		peer{"client-go", func(b *testing.B, n int) {
			pod := applied(n, owner, label)
			repeat(b, nil, func(context.Context) error {
				fields, err := coreapply.ExtractPod(pod, owner)
				if err == nil && fields.Labels[label] == "" {
					b.Fatal(fields)
				}
				return err
			})
		}},
	)
}

// applied is a Pod with n containers, of which the owner has applied a label.
func applied(n int, owner, label string) *corev1.Pod {
	pod := wide(n)
	pod.Labels[label] = "shop"
	pod.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: owner, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{"f:` + label + `":{}}}}`),
	}}
	return pod
}

// repeat measures what a client does. It couldn't be made if there's an error.
func repeat(b *testing.B, err error, do func(context.Context) error) {
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := do(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
