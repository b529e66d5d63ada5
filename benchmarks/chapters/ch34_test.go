package chapters

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/mini"
)

// A StatefulSet looks at its members in their order. They have been created all at once, and none is ready yet.
func Benchmark34(b *testing.B) {
	compare(b, "a look at a StatefulSet", "members", []int{10, 500}, peer{"mini", func(b *testing.B, n int) {
		w := newWorld(b)
		c, err := mini.NewStatefulSetController(w.m)
		if err != nil {
			b.Fatal(err)
		}
		set := &appsv1.StatefulSet{ObjectMeta: named("db"), Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(n)), Selector: selector(), Template: template(0), ServiceName: "db", RevisionHistoryLimit: new(int32(10)),
			PodManagementPolicy: appsv1.ParallelPodManagement, UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType},
		}}
		w.create(set)
		w.settle(c.Reconciler, mini.KeyOf(set))
		count[*corev1.Pod](w, set, n)
		w.look(c.Reconciler, mini.KeyOf(set))
	}})
}
