package chapters

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/loopwright/loopwright/mini"
)

// A DaemonSet looks at each node: should a Pod of its run there, and does one? Each node has one here.
func Benchmark33(b *testing.B) {
	compare(b, "a look at a DaemonSet", "nodes", []int{10, 500}, peer{"mini", func(b *testing.B, n int) {
		w := newWorld(b)
		c, err := mini.NewDaemonSetController(w.m)
		if err != nil {
			b.Fatal(err)
		}
		for i := range n {
			w.create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeOf(i)}})
		}
		set := &appsv1.DaemonSet{ObjectMeta: named("agent"), Spec: appsv1.DaemonSetSpec{
			Selector: selector(), Template: template(0), RevisionHistoryLimit: new(int32(10)),
			UpdateStrategy: appsv1.DaemonSetUpdateStrategy{
				Type:          appsv1.RollingUpdateDaemonSetStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: new(intstr.FromInt32(1)), MaxSurge: new(intstr.FromInt32(0))},
			},
		}}
		w.create(set)
		w.settle(c.Reconciler, mini.KeyOf(set))
		count[*corev1.Pod](w, set, n)
		pods, err := mini.OwnedBy[*corev1.Pod](b.Context(), w.m.Client, set)
		if err != nil {
			b.Fatal(err)
		}
		taken := map[string]bool{}
		for _, pod := range pods {
			taken[fmt.Sprint(pod.Spec.Affinity)] = true
		}
		if len(taken) != n {
			b.Fatal("two Pods are for one node: ", len(taken))
		}
		w.look(c.Reconciler, mini.KeyOf(set))
	}})
}
