package chapters

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/mini"
)

// The first reconcile of a ReplicaSet creates its Pods one after the other, and the second one counts them. The API server
// is in memory and answers at once; a real one takes some milliseconds for each Pod. Chapter 22's creates many at a time.
func Benchmark12(b *testing.B) {
	compare(b, "a ReplicaSet from nothing to all of its Pods", "Pods", []int{10, 100}, peer{"mini", func(b *testing.B, n int) {
		server := fakeapi.New(fakeapi.Options{})
		b.Cleanup(server.Close)
		c := miniCache(b, miniCluster(b, server.Config()))
		controller := &mini.FirstReplicaSet{Client: c}
		owned := func(rs *appsv1.ReplicaSet) int {
			all, err := mini.OwnedBy[*corev1.Pod](b.Context(), c, rs)
			if err != nil {
				b.Fatal(err)
			}
			return len(all)
		}
		for b.Loop() {
			b.StopTimer()
			rs := replicaSet(n)
			if err := c.Create(b.Context(), rs); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			for range 2 {
				if _, err := controller.Reconcile(context.Background(), mini.KeyOf(rs)); err != nil {
					b.Fatal(err)
				}
			}
			if owned(rs) != n {
				b.Fatal(owned(rs))
			}
		}
	}})
}

// replicaSet wants n Pods. The server makes its name.
func replicaSet(n int) *appsv1.ReplicaSet {
	labels := map[string]string{"app": "web"}
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "web-"},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: new(int32(n)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
			},
		},
	}
}
