package chapters

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/mini"
)

// The graph is the caches of all kinds. Does it take longer to find a Pod's owner if there are more objects?
func Benchmark28(b *testing.B) {
	compare(b, "the owner of an object", "objects", []int{1_000, 100_000}, peer{"mini", func(b *testing.B, n int) {
		m := mini.NewManager(miniCluster(b, serve(b, pods(1))))
		graph, err := mini.NewOwnerGraph(m, &appsv1.ReplicaSet{}, &corev1.Pod{})
		if err != nil {
			b.Fatal(err)
		}
		var sets, all []mini.Object
		var refs []metav1.OwnerReference
		for i, pod := range pods(n / 2) {
			rs := &appsv1.ReplicaSet{ObjectMeta: *pod.ObjectMeta.DeepCopy()}
			ref := *metav1.NewControllerRef(rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))
			pod.OwnerReferences = []metav1.OwnerReference{ref}
			sets, all = append(sets, rs), append(all, pod)
			if i < 1_000 {
				refs = append(refs, ref)
			}
		}
		m.Informer(&appsv1.ReplicaSet{}).Replace(sets, "1")
		m.Informer(&corev1.Pod{}).Replace(all, "1")
		for i := 0; b.Loop(); i++ {
			at := i % len(refs)
			if owner := graph.Owner(refs[at], all[at].GetNamespace()); owner != sets[at] {
				b.Fatal(owner)
			}
		}
	}})
}
