package chapters

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/mini"
)

// A Pod of a Service changes: all of the Service's Pods are looked at, and its addresses come out the same.
func Benchmark27(b *testing.B) {
	compare(b, "a look at a Service", "Pods", []int{10, 1_000}, peer{"mini", func(b *testing.B, n int) {
		w := newWorld(b)
		c, err := mini.NewEndpointsController(w.m)
		if err != nil {
			b.Fatal(err)
		}
		service := &corev1.Service{ObjectMeta: named("web"), Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}}, ClusterIP: "10.0.0.1",
		}}
		w.create(service)
		for i := range n {
			pod := &corev1.Pod{ObjectMeta: named(fmt.Sprintf("web-%04d", i)), Spec: template(0).Spec}
			pod.Labels = map[string]string{"app": "web"}
			pod.Status = corev1.PodStatus{
				Phase: corev1.PodRunning, PodIP: fmt.Sprintf("10.1.%d.%d", i/250, i%250+1), PodIPs: []corev1.PodIP{{IP: fmt.Sprintf("10.1.%d.%d", i/250, i%250+1)}},
				Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			}
			w.create(pod)
		}
		w.look(c.Reconciler, mini.KeyOf(service))
		found, err := mini.Get[*corev1.Endpoints](b.Context(), w.m.Client, mini.KeyOf(service)) //nolint:staticcheck // the chapter's kind
		if err != nil || len(found.Subsets) != 1 || len(found.Subsets[0].Addresses) != n {
			b.Fatal(err, found)
		}
	}})
}
