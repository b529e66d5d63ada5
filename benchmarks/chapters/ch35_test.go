package chapters

import (
	"fmt"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/mini"
)

// A node renews its Lease every ten seconds, and each time the controller looks at the node: with 5,000 nodes, that's 500
// times a second.
func Benchmark35(b *testing.B) {
	compare(b, "a node's heartbeat", "nodes", []int{100, 5_000}, peer{"mini", func(b *testing.B, n int) {
		m := mini.NewManager(miniCluster(b, serve(b, pods(1))))
		c, err := mini.NewNodeLifecycleController(m)
		if err != nil {
			b.Fatal(err)
		}
		var nodes, leases, all []mini.Object
		for i := range n {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeOf(i)}}
			node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
			nodes = append(nodes, node)
			leases = append(leases, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: node.Name}})
			for j := range 6 {
				all = append(all, &corev1.Pod{ObjectMeta: named(fmt.Sprint("web-", i, "-", j)), Spec: corev1.PodSpec{NodeName: node.Name}})
			}
		}
		m.Informer(&corev1.Node{}).Replace(nodes, "1")
		m.Informer(&coordinationv1.Lease{}).Replace(leases, "1")
		m.Informer(&corev1.Pod{}).Replace(all, "1")
		heartbeat := func(i int) {
			if _, err := c.Reconciler.Reconcile(b.Context(), mini.Request{Name: nodeOf(i)}); err != nil {
				b.Fatal(err)
			}
		}
		for i := range n {
			heartbeat(i)
		}
		for i := 0; b.Loop(); i++ {
			heartbeat(i % n)
		}
	}})
}
