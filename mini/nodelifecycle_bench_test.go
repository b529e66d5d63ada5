package mini_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/mini"
)

// benchNodes is how many nodes are in a cluster of a benchmark. Each has six Pods.
const benchNodes = 5000

// nodesInCache returns a manager whose cache has nodes with leases and Pods. All Pods tolerate the taint of node-0. If
// the nodes aren't ready, they have the taint that says so: there's nothing to write.
func nodesInCache(b *testing.B, ready corev1.ConditionStatus) *mini.Manager {
	b.Helper()
	server := fakeapi.New(fakeapi.Options{})
	b.Cleanup(server.Close)
	cluster, err := mini.NewCluster(server.Config(), scheme.Scheme)
	require.NoError(b, err)
	var nodes, leases, pods []mini.Object
	for i := range benchNodes {
		name := fmt.Sprint("node-", i)
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
		if i == 0 {
			node.Spec.Taints = []corev1.Taint{{Key: broken.Key, Effect: broken.Effect, TimeAdded: new(metav1.Now())}}
		}
		if ready == corev1.ConditionFalse {
			node.Spec.Taints = append(node.Spec.Taints,
				corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule})
		}
		nodes = append(nodes, node)
		leases = append(leases, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: name},
		})
		for j := range 6 {
			pods = append(pods, &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("pod-", i, "-", j)},
				Spec:       corev1.PodSpec{NodeName: name, Tolerations: []corev1.Toleration{tolerates(broken.Key)}},
			})
		}
	}
	m := mini.NewManager(cluster)
	for _, objs := range [][]mini.Object{nodes, leases, pods} {
		informer, err := m.Cache.Informer(objs[0])
		require.NoError(b, err)
		informer.Replace(objs, "1")
	}
	return m
}

// A heartbeat of one of 5,000 nodes. Each node has one every 10 seconds: 500 a second.
func BenchmarkHeartbeat(b *testing.B) {
	for _, ready := range []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse} {
		b.Run("all nodes Ready="+string(ready), func(b *testing.B) {
			c, err := mini.NewNodeLifecycleController(nodesInCache(b, ready))
			require.NoError(b, err)
			heartbeat := func(node int) {
				_, err := c.Reconciler.Reconcile(b.Context(), mini.Request{Name: fmt.Sprint("node-", node)})
				require.NoError(b, err)
			}
			for i := range benchNodes {
				heartbeat(i)
			}
			for b.Loop() {
				heartbeat(0)
			}
		})
	}
}

// An event of a node with a NoExecute taint, or of one of its six Pods, among 30,000 Pods.
func BenchmarkTaintEviction(b *testing.B) {
	c, err := mini.NewTaintEvictionController(nodesInCache(b, corev1.ConditionTrue))
	require.NoError(b, err)
	for b.Loop() {
		_, err := c.Reconciler.Reconcile(b.Context(), mini.Request{Name: "node-0"})
		require.NoError(b, err)
	}
}
