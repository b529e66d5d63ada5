package mini_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/mini"
)

// watchingNodes runs the controller of nodes, until stop is called.
func (w *world) watchingNodes() (stop func()) {
	w.Helper()
	m := mini.NewManager(w.Cluster)
	c, err := mini.NewNodeLifecycleController(m)
	require.NoError(w, err)
	m.AddController(c)
	ctx, cancel := context.WithCancel(w.ctx)
	ended := make(chan error, 1)
	w.running.Go(func() { ended <- m.Run(ctx) })
	synctest.Wait()
	return func() {
		cancel()
		require.NoError(w, <-ended)
	}
}

// kubelet plays the kubelet of a new node, which renews its lease every 10 seconds until it
// is stopped. The node's clock is wrong by clock.
func (w *world) kubelet(name string, clock time.Duration, taints ...corev1.Taint) (stop func()) {
	w.Helper()
	w.taintedNode(name, taints...)
	return w.renews(name, clock)
}

// renews is what kubelet does after the node has been created.
func (w *world) renews(name string, clock time.Duration) (stop func()) {
	w.Helper()
	w.report(name, map[corev1.NodeConditionType]corev1.ConditionStatus{corev1.NodeReady: corev1.ConditionTrue})
	ctx, cancel := context.WithCancel(w.ctx)
	leases := w.Other.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	renew := func() {
		lease := &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       coordinationv1.LeaseSpec{RenewTime: new(metav1.NewMicroTime(time.Now().Add(clock)))},
		}
		old, err := leases.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			_, err = leases.Create(ctx, lease, metav1.CreateOptions{})
		} else {
			lease.ResourceVersion = old.ResourceVersion
			_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
		}
		if ctx.Err() == nil {
			require.NoError(w, err)
		}
	}
	renew()
	w.running.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(10 * time.Second):
				renew()
			}
		}
	})
	return cancel
}

// report sets conditions of a node, as its kubelet does.
func (w *world) report(name string, status map[corev1.NodeConditionType]corev1.ConditionStatus) {
	w.Helper()
	node, err := w.Other.CoreV1().Nodes().Get(w.ctx, name, metav1.GetOptions{})
	require.NoError(w, err)
	for _, c := range node.Status.Conditions {
		if _, known := status[c.Type]; !known {
			status[c.Type] = c.Status
		}
	}
	node.ResourceVersion, node.Status.Conditions = "", nil // it overwrites what others say
	for _, kind := range []corev1.NodeConditionType{
		corev1.NodeReady, corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure, corev1.NodeNetworkUnavailable,
	} {
		if s, known := status[kind]; known {
			node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
				Type: kind, Status: s, LastHeartbeatTime: metav1.Now(),
			})
		}
	}
	_, err = w.Other.CoreV1().Nodes().UpdateStatus(w.ctx, node, metav1.UpdateOptions{})
	require.NoError(w, err)
}

func (w *world) readyIs(name string, status corev1.ConditionStatus) {
	w.Helper()
	w.report(name, map[corev1.NodeConditionType]corev1.ConditionStatus{corev1.NodeReady: status})
}

// nodeAfter lets some time pass. It returns the status of the condition Ready, and the
// taints, such as "unreachable:NoExecute".
func (w *world) nodeAfter(d time.Duration, name string) string {
	w.Helper()
	time.Sleep(d)
	synctest.Wait()
	node, err := w.Other.CoreV1().Nodes().Get(w.ctx, name, metav1.GetOptions{})
	require.NoError(w, err)
	text := "?"
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			text = string(c.Status)
		}
	}
	for _, t := range node.Spec.Taints {
		text += fmt.Sprintf(" %s:%s", strings.TrimPrefix(t.Key, "node.kubernetes.io/"), t.Effect)
	}
	return text
}

const (
	isGone   = "Unknown unreachable:NoSchedule unreachable:NoExecute"
	notEvict = "Unknown unreachable:NoSchedule"
)

// New Pods would be bound to a node that will never start them.
func TestASilentNodeIsUnknownAndTainted(t *testing.T) {
	inMemory(t, func(w *world) {
		w.watchingNodes()
		w.kubelet("healthy", 0)
		stop := w.kubelet("a", 0)
		require.Equal(w, "True", w.nodeAfter(time.Hour, "a"))
		stop()
		require.Equal(w, "True", w.nodeAfter(38*time.Second, "a"))
		require.Equal(w, isGone, w.nodeAfter(13*time.Second, "a"))
		require.Equal(w, isGone, w.nodeAfter(time.Hour, "a"))
		require.Equal(w, "True", w.nodeAfter(0, "healthy"))
		node, err := w.Other.CoreV1().Nodes().Get(w.ctx, "a", metav1.GetOptions{})
		require.NoError(w, err)
		require.Len(w, node.Status.Conditions, 4, "nobody knows of its memory either")
		for _, c := range node.Status.Conditions {
			require.Equal(w, corev1.ConditionUnknown, c.Status)
			require.NotEmpty(w, c.Message)
		}
		w.renews("a", 0)
		require.Equal(w, "True", w.nodeAfter(0, "a"), "it is back")
	})
}

// Nodes whose clocks are wrong would be lost, or never be.
func TestTheClockOfANodeDoesNotMatter(t *testing.T) {
	inMemory(t, func(w *world) {
		w.watchingNodes()
		w.kubelet("healthy", 0)
		w.kubelet("slow", -time.Hour)
		stop := w.kubelet("fast", time.Hour)
		require.Equal(w, "True", w.nodeAfter(10*time.Minute, "slow"))
		require.Equal(w, "True", w.nodeAfter(0, "fast"))
		stop()
		require.Equal(w, isGone, w.nodeAfter(time.Minute, "fast"))
	})
}

// A kubelet that still reports its status is alive, even if it cannot renew its lease.
func TestAStatusIsASignOfLife(t *testing.T) {
	inMemory(t, func(w *world) {
		w.watchingNodes()
		w.kubelet("healthy", 0)
		w.taintedNode("a")
		for range 10 {
			w.readyIs("a", corev1.ConditionTrue)
			require.Equal(w, "True", w.nodeAfter(40*time.Second, "a"))
		}
		require.Equal(w, isGone, w.nodeAfter(20*time.Second, "a"))
	})
}

// Pods would get traffic that nothing answers.
func TestThePodsOfASilentNodeAreNotReady(t *testing.T) {
	inMemory(t, func(w *world) {
		w.watchingNodes()
		w.kubelet("healthy", 0)
		stop := w.kubelet("a", 0)
		pods := w.Other.CoreV1().Pods("default")
		for _, name := range []string{"on-a", "ends", "on-healthy"} {
			w.runsOn(map[string]string{"on-a": "a", "ends": "a", "on-healthy": "healthy"}[name], name)
			pod, err := pods.Get(w.ctx, name, metav1.GetOptions{})
			require.NoError(w, err)
			pod.Status.Conditions = []corev1.PodCondition{
				{Type: corev1.PodInitialized, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionTrue},
			}
			_, err = pods.UpdateStatus(w.ctx, pod, metav1.UpdateOptions{})
			require.NoError(w, err)
		}
		require.NoError(w, pods.Delete(w.ctx, "ends", metav1.DeleteOptions{}))
		stop()
		w.nodeAfter(time.Minute, "a")
		conditions := func(name string) []corev1.ConditionStatus {
			pod, err := pods.Get(w.ctx, name, metav1.GetOptions{})
			require.NoError(w, err)
			return []corev1.ConditionStatus{pod.Status.Conditions[0].Status, pod.Status.Conditions[1].Status}
		}
		yes, no := corev1.ConditionTrue, corev1.ConditionFalse
		require.Equal(w, []corev1.ConditionStatus{yes, no}, conditions("on-a"), "the last one is Ready")
		require.Equal(w, []corev1.ConditionStatus{yes, no}, conditions("ends"), "a Pod that ends may serve until it is gone")
		require.Equal(w, []corev1.ConditionStatus{yes, yes}, conditions("on-healthy"))
	})
}

// Its kubelet would say that a Pod is ready, and we would say that it is not, until the kubelet
// has also reported the status of the node.
func TestThePodsOfANodeThatIsHeardAgainAreUpToItsKubelet(t *testing.T) {
	inMemory(t, func(w *world) {
		w.watchingNodes()
		w.kubelet("healthy", 0)
		stop := w.kubelet("a", 0)
		w.runsOn("a", "web")
		ready := func() {
			pod, err := w.Other.CoreV1().Pods("default").Get(w.ctx, "web", metav1.GetOptions{})
			require.NoError(w, err)
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			_, err = w.Other.CoreV1().Pods("default").UpdateStatus(w.ctx, pod, metav1.UpdateOptions{})
			require.NoError(w, err)
			synctest.Wait()
		}
		isReady := func() corev1.ConditionStatus {
			pod, err := w.Other.CoreV1().Pods("default").Get(w.ctx, "web", metav1.GetOptions{})
			require.NoError(w, err)
			return pod.Status.Conditions[0].Status
		}
		ready()
		stop()
		require.Equal(w, isGone, w.nodeAfter(time.Minute, "a"))
		require.Equal(w, corev1.ConditionFalse, isReady())
		leases := w.Other.CoordinationV1().Leases(corev1.NamespaceNodeLease)
		lease, err := leases.Get(w.ctx, "a", metav1.GetOptions{})
		require.NoError(w, err)
		lease.Spec.RenewTime = new(metav1.NowMicro())
		_, err = leases.Update(w.ctx, lease, metav1.UpdateOptions{})
		require.NoError(w, err)
		synctest.Wait()
		ready()
		require.Equal(w, corev1.ConditionTrue, isReady())
	})
}

// The API server has been away for some minutes, or the network between the nodes and us:
// every Pod of the cluster would be evicted, and started nowhere.
func TestIfAllNodesAreSilentNothingIsEvicted(t *testing.T) {
	inMemory(t, func(w *world) {
		w.watchingNodes()
		stopA, stopB := w.kubelet("a", 0), w.kubelet("b", 0)
		require.Equal(w, "True", w.nodeAfter(5*time.Minute, "a"))
		stopA()
		stopB()
		require.Equal(w, notEvict, w.nodeAfter(2*time.Minute, "a"))
		require.Equal(w, notEvict, w.nodeAfter(0, "b"))

		w.renews("a", 0)
		require.Equal(w, "True", w.nodeAfter(0, "a"))
		require.Equal(w, notEvict, w.nodeAfter(30*time.Second, "b"), "it has time to follow")
		require.Equal(w, isGone, w.nodeAfter(30*time.Second, "b"), "it is not ours: only this one is silent")
	})
}

// The last node that falls silent shows that the first ones were no accident.
func TestAnEvictionEndsIfTheLastNodeFallsSilent(t *testing.T) {
	inMemory(t, func(w *world) {
		w.watchingNodes()
		stopA, stopB := w.kubelet("a", 0), w.kubelet("b", 0)
		stopA()
		require.Equal(w, isGone, w.nodeAfter(time.Minute, "a"))
		stopB()
		require.Equal(w, notEvict, w.nodeAfter(time.Minute, "a"))
		require.Equal(w, notEvict, w.nodeAfter(0, "b"))
	})
}

// A node that is deleted is no witness any more: the taint of the other one would stay.
func TestAnEvictionEndsIfTheLastHealthyNodeIsDeleted(t *testing.T) {
	inMemory(t, func(w *world) {
		w.watchingNodes()
		stopA := w.kubelet("a", 0)
		w.kubelet("b", 0)
		stopA()
		require.Equal(w, isGone, w.nodeAfter(time.Minute, "a"))
		require.NoError(w, w.Other.CoreV1().Nodes().Delete(w.ctx, "b", metav1.DeleteOptions{}))
		require.Equal(w, notEvict, w.nodeAfter(0, "a"))
	})
}

// A kubelet that lives, but cannot start containers, says so.
func TestANodeThatIsNotReadyIsTainted(t *testing.T) {
	inMemory(t, func(w *world) {
		w.watchingNodes()
		w.kubelet("healthy", 0)
		stop := w.kubelet("a", 0)
		w.readyIs("a", corev1.ConditionFalse)
		require.Equal(w, "False not-ready:NoSchedule not-ready:NoExecute", w.nodeAfter(0, "a"))
		time.Sleep(time.Minute)
		stop()
		require.Equal(w, isGone, w.nodeAfter(time.Minute, "a"))
		node, err := w.Other.CoreV1().Nodes().Get(w.ctx, "a", metav1.GetOptions{})
		require.NoError(w, err)
		require.Greater(w, time.Since(node.Spec.Taints[1].TimeAdded.Time), 110*time.Second,
			"a node that changes between the two would never be evicted")
		w.renews("a", 0)
		require.Equal(w, "True", w.nodeAfter(0, "a"))
	})
}

// The API server taints a new node. Nobody else removes that.
func TestANewNodeIsTaintedUntilItIsReady(t *testing.T) {
	inMemory(t, func(w *world) {
		w.watchingNodes()
		w.kubelet("healthy", 0)
		byAPIServer := corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}
		w.taintedNode("a", byAPIServer)
		w.taintedNode("b", byAPIServer)
		require.Contains(w, w.nodeAfter(50*time.Second, "a"), "not-ready:NoSchedule")
		w.renews("a", 0)
		require.Equal(w, "True", w.nodeAfter(0, "a"))
		require.Equal(w, isGone, w.nodeAfter(20*time.Second, "b"), "it has never reported")
	})
}

// The scheduler reads taints, and not conditions.
func TestEachBadConditionIsATaint(t *testing.T) {
	inMemory(t, func(w *world) {
		w.watchingNodes()
		w.kubelet("a", 0)
		yes, no := corev1.ConditionTrue, corev1.ConditionFalse
		w.report("a", map[corev1.NodeConditionType]corev1.ConditionStatus{
			corev1.NodeMemoryPressure: yes, corev1.NodeDiskPressure: yes, corev1.NodePIDPressure: yes, corev1.NodeNetworkUnavailable: yes,
		})
		require.Equal(w, "True memory-pressure:NoSchedule disk-pressure:NoSchedule pid-pressure:NoSchedule network-unavailable:NoSchedule",
			w.nodeAfter(0, "a"))
		w.report("a", map[corev1.NodeConditionType]corev1.ConditionStatus{
			corev1.NodeMemoryPressure: no, corev1.NodeDiskPressure: no, corev1.NodePIDPressure: no, corev1.NodeNetworkUnavailable: no,
		})
		require.Equal(w, "True", w.nodeAfter(0, "a"))
	})
}

// kubectl cordon and uncordon set a field of the node.
func TestACordonedNodeIsTainted(t *testing.T) {
	inMemory(t, func(w *world) {
		w.watchingNodes()
		w.kubelet("a", 0)
		cordon := func(on bool) {
			synctest.Wait() // or a taint comes between the read and the write
			node, err := w.Other.CoreV1().Nodes().Get(w.ctx, "a", metav1.GetOptions{})
			require.NoError(w, err)
			node.Spec.Unschedulable = on
			_, err = w.Other.CoreV1().Nodes().Update(w.ctx, node, metav1.UpdateOptions{})
			require.NoError(w, err)
		}
		cordon(true)
		require.Equal(w, "True unschedulable:NoSchedule", w.nodeAfter(0, "a"))
		cordon(false)
		require.Equal(w, "True", w.nodeAfter(0, "a"))
	})
}

func TestTaintsOfOthersStay(t *testing.T) {
	inMemory(t, func(w *world) {
		w.watchingNodes()
		w.kubelet("healthy", 0)
		stop := w.kubelet("a", 0, broken,
			corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectPreferNoSchedule})
		const others = " example.com/broken:NoExecute not-ready:PreferNoSchedule"
		require.Equal(w, "True"+others, w.nodeAfter(time.Minute, "a"))
		stop()
		require.Equal(w, strings.Replace(isGone, " ", others+" ", 1), w.nodeAfter(time.Minute, "a"))
		w.renews("a", 0)
		require.Equal(w, "True"+others, w.nodeAfter(0, "a"))
	})
}

// A new process has heard nothing yet. It must not believe in a node that is gone, and
// start the time of its Pods anew, nor give up one that is there.
func TestANewProcessChangesNothing(t *testing.T) {
	inMemory(t, func(w *world) {
		end := w.watchingNodes()
		w.kubelet("healthy", 0)
		stop := w.kubelet("a", 0)
		stop()
		require.Equal(w, isGone, w.nodeAfter(time.Minute, "a"))
		before, err := w.Other.CoreV1().Nodes().Get(w.ctx, "a", metav1.GetOptions{})
		require.NoError(w, err)
		end()
		time.Sleep(time.Hour)
		w.watchingNodes()
		for range 10 {
			require.Equal(w, isGone, w.nodeAfter(10*time.Second, "a"))
			require.Equal(w, "True", w.nodeAfter(0, "healthy"))
		}
		after, err := w.Other.CoreV1().Nodes().Get(w.ctx, "a", metav1.GetOptions{})
		require.NoError(w, err)
		require.Equal(w, before.Spec.Taints, after.Spec.Taints)
	})
}

// Another node that gets the name later has all of its time.
func TestANodeThatIsGoneIsForgotten(t *testing.T) {
	inMemory(t, func(w *world) {
		w.watchingNodes()
		w.kubelet("healthy", 0)
		w.taintedNode("a")
		time.Sleep(50 * time.Second)
		require.NoError(w, w.Other.CoreV1().Nodes().Delete(w.ctx, "a", metav1.DeleteOptions{}))
		synctest.Wait()
		w.taintedNode("a")
		require.True(w, strings.HasPrefix(w.nodeAfter(55*time.Second, "a"), "?"))
		require.Equal(w, isGone, w.nodeAfter(10*time.Second, "a"))
	})
}
