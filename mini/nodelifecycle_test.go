package mini_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/internal/fakeapi"
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
		require.Equal(w, "True", w.nodeAfter(0, "a"))
		w.Server.ForgetRequests()
		require.Equal(w, "True", w.nodeAfter(time.Hour, "a"))
		require.Zero(w, w.requestsTo("patch", "nodes"), "each sign of life would be a write")
		stop()
		require.Equal(w, "True", w.nodeAfter(38*time.Second, "a"))
		require.Equal(w, isGone, w.nodeAfter(13*time.Second, "a"))
		time.Sleep(time.Second)
		require.Equal(w, isGone, w.nodeAfter(time.Hour, "a"))
		require.Zero(w, w.reconciles("a", time.Hour), "there is nothing to do until it is heard")
		require.Equal(w, "True", w.nodeAfter(0, "healthy"))
		node, err := w.Other.CoreV1().Nodes().Get(w.ctx, "a", metav1.GetOptions{})
		require.NoError(w, err)
		require.Len(w, node.Status.Conditions, 4, "we don't know about its memory either")
		for _, c := range node.Status.Conditions {
			require.Equal(w, corev1.ConditionUnknown, c.Status)
			require.NotEmpty(w, c.Message)
		}
		w.renews("a", 0)
		require.Equal(w, "True", w.nodeAfter(0, "a"), "it is back")
	})
}

// Nodes with a wrong clock would be given up too early, or never.
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

// kubectl describe node: a user wants to know since when, and whether it has ever said more.
func TestASilentNodeSaysSinceWhenAndWhy(t *testing.T) {
	inMemory(t, func(w *world) {
		w.watchingNodes()
		w.kubelet("healthy", 0)
		stop := w.kubelet("a", 0) // it reports nothing of its memory and its disk
		stop()
		conditions := func() []corev1.NodeCondition {
			require.Equal(w, isGone, w.nodeAfter(time.Minute, "a"))
			node, err := w.Other.CoreV1().Nodes().Get(w.ctx, "a", metav1.GetOptions{})
			require.NoError(w, err)
			return node.Status.Conditions
		}
		before := conditions()
		require.Equal(w, "NodeStatusUnknown", before[0].Reason)
		require.Equal(w, "NodeStatusNeverUpdated", before[1].Reason)
		_, err := w.Other.CoreV1().Nodes().Patch(w.ctx, "a", types.StrategicMergePatchType,
			fmt.Appendf(nil, `{"status": {"conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": %q}]}}`,
				time.Now().Format(time.RFC3339)), metav1.PatchOptions{}, "status")
		require.NoError(w, err)
		require.Equal(w, "True", w.nodeAfter(0, "a"))
		after := conditions()
		require.NotEqual(w, before[0].LastTransitionTime, after[0].LastTransitionTime)
		require.Equal(w, before[1:], after[1:])
	})
}

// Pods would get traffic that nothing answers.
func TestThePodsOfASilentNodeAreNotReady(t *testing.T) {
	inMemory(t, func(w *world) {
		w.watchingNodes()
		w.kubelet("healthy", 0)
		stop := w.kubelet("a", 0)
		yes, no := corev1.ConditionTrue, corev1.ConditionFalse
		pods := w.Other.CoreV1().Pods("default")
		run := func(node, name string, ready corev1.ConditionStatus) {
			w.runsOn(node, name)
			pod, err := pods.Get(w.ctx, name, metav1.GetOptions{})
			require.NoError(w, err)
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodInitialized, Status: yes}, {Type: corev1.PodReady, Status: ready, ObservedGeneration: 3}}
			_, err = pods.UpdateStatus(w.ctx, pod, metav1.UpdateOptions{})
			require.NoError(w, err)
			synctest.Wait()
		}
		run("a", "on-a", yes)
		run("a", "starts", no)
		run("a", "ends", yes)
		run("healthy", "on-healthy", yes)
		require.NoError(w, pods.Delete(w.ctx, "ends", metav1.DeleteOptions{}))
		stop()
		w.Server.ForgetRequests()
		w.nodeAfter(time.Minute, "a")
		conditions := func(name string) []corev1.ConditionStatus {
			pod, err := pods.Get(w.ctx, name, metav1.GetOptions{})
			require.NoError(w, err)
			require.Equal(w, int64(3), pod.Status.Conditions[1].ObservedGeneration, "what the kubelet has seen")
			return []corev1.ConditionStatus{pod.Status.Conditions[0].Status, pod.Status.Conditions[1].Status}
		}
		require.Equal(w, []corev1.ConditionStatus{yes, no}, conditions("on-a"), "the last one is Ready")
		require.Equal(w, []corev1.ConditionStatus{yes, no}, conditions("ends"), "a Pod that's ending may serve until it has ended")
		require.Equal(w, []corev1.ConditionStatus{yes, yes}, conditions("on-healthy"))
		require.Equal(w, 2, w.requestsTo("update", "pods"), "the Pod that's starting has said so itself")
		run("a", "late", yes)
		require.Equal(w, []corev1.ConditionStatus{yes, no}, conditions("late"), "the node was silent before")
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
		stopA, stopB, stopC := w.kubelet("a", 0), w.kubelet("b", 0), w.kubelet("c", 0, broken)
		require.Equal(w, "True", w.nodeAfter(5*time.Minute, "a"))
		nodes, err := w.Other.CoreV1().Nodes().Watch(w.ctx, metav1.ListOptions{})
		require.NoError(w, err)
		evicted := 0
		w.run(func(context.Context) error {
			for event := range nodes.ResultChan() {
				node, ok := event.Object.(*corev1.Node)
				if ok && slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
					return t.Effect == corev1.TaintEffectNoExecute && t.Key != broken.Key
				}) {
					evicted++
				}
			}
			return nil
		})
		stopA()
		stopB()
		stopC()
		require.Equal(w, notEvict, w.nodeAfter(2*time.Minute, "a"))
		require.Equal(w, notEvict, w.nodeAfter(0, "b"))
		require.Zero(w, evicted, "not even for a moment")

		w.renews("a", 0)
		require.Equal(w, "True", w.nodeAfter(0, "a"))
		require.Equal(w, notEvict, w.nodeAfter(30*time.Second, "b"), "it has time to follow")
		require.NotContains(w, w.nodeAfter(0, "c"), "unreachable:NoExecute", "another controller's taint doesn't say that the node is silent")
		require.Equal(w, isGone, w.nodeAfter(30*time.Second, "b"), "the problem isn't ours: only this one is silent")
	})
}

// A network plugin that fails everywhere is no reason to end the Pods either.
func TestIfNoNodeIsReadyNothingIsEvicted(t *testing.T) {
	inMemory(t, func(w *world) {
		w.watchingNodes()
		for _, name := range []string{"a", "b"} {
			w.kubelet(name, 0)
			w.readyIs(name, corev1.ConditionFalse)
		}
		require.Equal(w, "False not-ready:NoSchedule", w.nodeAfter(time.Minute, "a"))
		require.Equal(w, "False not-ready:NoSchedule", w.nodeAfter(0, "b"))
	})
}

// The status of a node that is heard again has not changed if nobody could write that it was silent.
func TestAnOutageEndsWithoutAChangeOfANode(t *testing.T) {
	inMemory(t, func(w *world) {
		w.watchingNodes()
		stopA, stopB := w.kubelet("a", 0), w.kubelet("b", 0)
		stopA()
		stopB()
		lift := w.Server.Inject(fakeapi.Fault{
			Match:  fakeapi.Match{Verb: "update", Resource: "nodes", Subresource: "status", Name: "a"},
			Status: fakeapi.Conflict(),
		})
		require.Equal(w, notEvict, w.nodeAfter(time.Minute, "b"))
		require.Equal(w, "True", w.nodeAfter(0, "a"))
		lift()
		w.renews("a", 0)
		require.Equal(w, isGone, w.nodeAfter(time.Minute, "b"))
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

// A deleted node can't vouch for us any more: the taint of the other one would stay.
func TestAnEvictionEndsIfTheLastHealthyNodeIsDeleted(t *testing.T) {
	inMemory(t, func(w *world) {
		w.watchingNodes()
		stopA, stopC := w.kubelet("a", 0), w.kubelet("c", 0)
		w.kubelet("b", 0)
		stopA()
		stopC()
		require.Equal(w, isGone, w.nodeAfter(time.Minute, "a"))
		require.NoError(w, w.Other.CoreV1().Nodes().Delete(w.ctx, "b", metav1.DeleteOptions{}))
		require.Equal(w, notEvict, w.nodeAfter(0, "a"))
		w.renews("c", 0)
		require.Equal(w, notEvict, w.nodeAfter(10*time.Second, "a"), "it has time to follow, since nothing was heard of a node that there is")
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

// The API server taints a new node, and only this controller removes that taint.
func TestANewNodeIsTaintedUntilItIsReady(t *testing.T) {
	inMemory(t, func(w *world) {
		w.watchingNodes()
		w.kubelet("healthy", 0)
		byAPIServer := corev1.Taint{
			Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule, TimeAdded: new(metav1.NewTime(time.Now().Add(-time.Hour))),
		}
		w.taintedNode("a", byAPIServer)
		w.taintedNode("b", byAPIServer)
		require.Contains(w, w.nodeAfter(50*time.Second, "a"), "not-ready:NoSchedule not-ready:NoExecute")
		node, err := w.Other.CoreV1().Nodes().Get(w.ctx, "a", metav1.GetOptions{})
		require.NoError(w, err)
		require.Less(w, time.Since(node.Spec.Taints[1].TimeAdded.Time), time.Minute, "a Pod's time to tolerate it would be over")
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
		stop := w.kubelet("a", 0, broken, corev1.Taint{Key: "example.com/full", Effect: corev1.TaintEffectNoSchedule},
			corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectPreferNoSchedule})
		const others = " example.com/broken:NoExecute example.com/full:NoSchedule not-ready:PreferNoSchedule"
		require.Equal(w, "True"+others, w.nodeAfter(time.Minute, "a"))
		stop()
		require.Equal(w, strings.Replace(isGone, " ", others+" ", 1), w.nodeAfter(time.Minute, "a"))
		w.renews("a", 0)
		require.Equal(w, "True"+others, w.nodeAfter(0, "a"))
	})
}

// kubectl taint writes no time. The controller would fail at such a taint, whatever the node says.
func TestATaintOfOursThatAUserHasSetIsRemoved(t *testing.T) {
	inMemory(t, func(w *world) {
		w.watchingNodes()
		w.kubelet("healthy", 0)
		w.kubelet("a", 0)
		synctest.Wait()
		w.taint("a", corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute})
		require.Equal(w, "True", w.nodeAfter(0, "a"))
	})
}

// A new process has heard nothing yet. It must not trust a silent node and start the time
// of its Pods again, nor give up one that's alive.
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
func TestADeletedNodeIsForgotten(t *testing.T) {
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

// A lease of a leader election is renewed every two seconds, and new nodes have new names.
func TestOnlyExistingNodesAreReconciled(t *testing.T) {
	inMemory(t, func(w *world) {
		w.watchingNodes()
		w.taintedNode("a")
		require.NoError(w, w.Other.CoreV1().Nodes().Delete(w.ctx, "a", metav1.DeleteOptions{}))
		_, err := w.Other.CoordinationV1().Leases("kube-system").Create(w.ctx,
			&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "scheduler"}}, metav1.CreateOptions{})
		require.NoError(w, err)
		time.Sleep(2 * time.Hour)
		require.Zero(w, w.reconciles("a", time.Hour))
		require.Zero(w, w.reconciles("scheduler", 2*time.Hour))
	})
}

// Otherwise the node stays as it is, and its Pods stay in their Services, because no
// other event comes.
func TestTheEndOfANodeIsWrittenAgainWhicheverRequestFails(t *testing.T) {
	for _, match := range []fakeapi.Match{
		{Verb: "update", Resource: "nodes", Subresource: "status", Name: "a"}, {Verb: "patch", Resource: "nodes", Name: "a"},
		{Verb: "update", Resource: "pods", Subresource: "status"},
	} {
		inMemory(t, func(w *world) {
			w.watchingNodes()
			w.kubelet("healthy", 0)
			stop := w.kubelet("a", 0)
			w.runsOn("a", "web")
			pod, err := w.Other.CoreV1().Pods("default").Get(w.ctx, "web", metav1.GetOptions{})
			require.NoError(w, err)
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			_, err = w.Other.CoreV1().Pods("default").UpdateStatus(w.ctx, pod, metav1.UpdateOptions{})
			require.NoError(w, err)
			stop()
			w.Server.Inject(fakeapi.Fault{Match: match, Times: 10, Status: fakeapi.Unavailable()})
			require.Equal(w, isGone, w.nodeAfter(2*time.Minute, "a"), "%s of %s has failed", match.Verb, match.Resource)
			pod, err = w.Other.CoreV1().Pods("default").Get(w.ctx, "web", metav1.GetOptions{})
			require.NoError(w, err)
			require.Equal(w, corev1.ConditionFalse, pod.Status.Conditions[0].Status, "%s of %s has failed", match.Verb, match.Resource)
		})
	}
}

// An error that isn't returned isn't retried.
func TestANodeThatCannotBeJudgedIsAFailure(t *testing.T) {
	for _, resource := range []string{"nodes", "leases", "pods"} {
		inMemory(t, func(w *world) {
			w.taintedNode("a", corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule})
			w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "list", Resource: resource}, Hang: true})
			m := mini.NewManager(w.Cluster)
			c, err := mini.NewNodeLifecycleController(m)
			require.NoError(w, err)
			w.run(m.Cache.Run)
			first := w.once(c, mini.Request{Name: "a"})
			require.Equal(w, resource != "pods", first != nil, "there are no %s in the cache: %v", resource, first)
			time.Sleep(time.Minute)
			require.Error(w, w.once(c, mini.Request{Name: "a"}), "there are no %s in the cache", resource)
		})
	}
}

// One node whose API requests are slow must not keep the others waiting, and more workers would send
// more requests at once.
func TestFiveNodesAreJudgedAtTheSameTime(t *testing.T) {
	inMemory(t, func(w *world) {
		w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "patch", Resource: "nodes"}, Delay: time.Second})
		w.watchingNodes()
		for i := range 7 {
			w.taintedNode(strconv.Itoa(i))
		}
		time.Sleep(time.Minute)
		require.Equal(w, 5, w.atOnce("nodelifecycle"))
	})
}

// Without one of its watches, the controller would miss what it has to do, and no error
// would say so.
func TestTheControllerOfNodesNeedsAllItsKinds(t *testing.T) {
	inMemory(t, func(w *world) {
		all := []runtime.Object{&corev1.Node{}, &coordinationv1.Lease{}, &corev1.Pod{}}
		_, err := mini.NewNodeLifecycleController(w.withKinds(all...))
		require.NoError(w, err)
		for i := range all {
			_, err := mini.NewNodeLifecycleController(w.withKinds(slices.Delete(slices.Clone(all), i, i+1)...))
			require.Error(w, err, "the scheme has two of three kinds")
		}
	})
}

// proxy404 makes something between a controller and the API server answer the next request like this with a 404, and pass
// it on to nobody.
func (w *world) proxy404(match fakeapi.Match) {
	w.Server.Inject(fakeapi.Fault{Match: match, Times: 1, Status: &metav1.Status{
		Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: 404, Message: "default backend - 404",
	}})
}

// A controller that takes a proxy's 404 for its own would think that the node has been deleted, and leave its Pods in their
// Services.
func TestASilentNodeIsMarkedAfterAProxys404(t *testing.T) {
	for _, match := range []fakeapi.Match{
		{Verb: "update", Resource: "nodes", Subresource: "status"}, {Verb: "patch", Resource: "nodes"},
		{Verb: "update", Resource: "pods", Subresource: "status"},
	} {
		inMemory(t, func(w *world) {
			w.watchingNodes()
			w.kubelet("healthy", 0)
			stop := w.kubelet("a", 0)
			w.runsOn("a", "web")
			w.ready(w.pods()[0])
			stop()
			time.Sleep(30 * time.Second)
			w.proxy404(match)
			require.Equal(w, isGone, w.nodeAfter(time.Minute, "a"), "%s %s was answered 404 once", match.Verb, match.Resource)
			pod, err := w.Other.CoreV1().Pods("default").Get(w.ctx, "web", metav1.GetOptions{})
			require.NoError(w, err)
			for _, c := range pod.Status.Conditions {
				require.False(w, c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue,
					"%s %s was answered 404 once, but the Pod still gets traffic", match.Verb, match.Resource)
			}
		})
	}
}

// A list of leases that a proxy answers with 404 isn't an empty one: no node would have a lease, and be silent.
func TestNodesAreHealthyWhileAProxyAnswersForTheirLeases(t *testing.T) {
	inMemory(t, func(w *world) {
		watches := fakeapi.Match{Verb: "watch", Resource: "leases"}
		cut := w.Server.Inject(fakeapi.Fault{Match: watches, CutAfter: 2 * time.Second})
		w.watchingNodes()
		w.kubelet("a", 0)
		w.kubelet("b", 0)
		require.Equal(w, "True", w.nodeAfter(time.Minute, "a"))
		w.Server.ForgetRequests()
		expire := w.Server.Inject(fakeapi.Fault{Match: watches, Status: fakeapi.Expired()})
		lift := w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "list", Resource: "leases"}, Status: &metav1.Status{
			Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: 404, Message: "default backend - 404",
		}})
		time.Sleep(10 * time.Second) // with the pause after it, that's less than a node may be silent
		require.NotZero(w, w.requestsTo("list", "leases"), "the proxy hasn't answered any list")
		cut()
		expire()
		lift()
		require.Equal(w, "True", w.nodeAfter(time.Minute, "a"))
		require.Equal(w, "True", w.nodeAfter(0, "b"))
		require.Zero(w, w.requestsTo("patch", "nodes"), "no node was tainted")
	})
}

// The Pod would stay on a node that destroys its data: no other event comes.
func TestAPodIsEvictedAfterAProxys404(t *testing.T) {
	for _, match := range []fakeapi.Match{
		{Verb: "patch", Resource: "nodes"}, {Verb: "update", Resource: "pods", Subresource: "status"}, toPods("delete"),
	} {
		inMemory(t, func(w *world) {
			w.taintedNode("a")
			w.runsOn("a", "delicate")
			w.evicting()
			w.proxy404(match)
			w.taint("a", broken)
			require.Equal(w, []string{"delicate"}, w.evictedAfter(time.Minute), "%s %s was answered 404 once", match.Verb, match.Resource)
		})
	}
}

// A Job would hang with one of its Pods uncounted.
func TestAJobEndsAfterAProxys404(t *testing.T) {
	for _, match := range []fakeapi.Match{
		{Verb: "update", Resource: "jobs", Subresource: "status"}, {Verb: "patch", Resource: "pods"}, toPods("create"),
	} {
		inJobs(t, func(w *jobWorld) {
			w.proxy404(match)
			w.runJobs()
			w.create(job(1, 1))
			time.Sleep(time.Minute)
			require.Len(w, w.active(), 1, "%s %s was answered 404 once", match.Verb, match.Resource)
			w.ends(w.active()[0], corev1.PodSucceeded)
			time.Sleep(time.Minute)
			require.Equal(w, completed, w.conditions(), "%s %s was answered 404 once", match.Verb, match.Resource)
			require.Equal(w, []string{"[]"}, w.all())
		})
	}
}

// Without its finalizer, the Pod could go before its Job has counted it.
func TestAProxys404DoesNotMakeAPodAnOrphan(t *testing.T) {
	inJobs(t, func(w *jobWorld) {
		w.slowWatch("jobs", 10*time.Second)
		w.runJobs()
		synctest.Wait()
		owner := w.create(job(1, 1))
		w.proxy404(fakeapi.Match{Verb: "get", Resource: "jobs"})
		w.tracked("early", *metav1.NewControllerRef(owner, batchv1.SchemeGroupVersion.WithKind("Job")))
		time.Sleep(5 * time.Second)
		require.Equal(w, []string{"[batch.kubernetes.io/job-tracking]"}, w.all())
	})
}

// concurrencyPolicy: Replace promises that there's one Job at a time.
func TestAJobIsNotReplacedBecauseOfAProxys404(t *testing.T) {
	inCron(t, func(w *cronWorld) {
		w.runCron()
		w.create(cronJob("* * * * *", policy(batchv1.ReplaceConcurrent)))
		time.Sleep(time.Minute + time.Second)
		w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "delete", Resource: "jobs"}, Status: &metav1.Status{
			Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: 404, Message: "default backend - 404",
		}})
		time.Sleep(30 * time.Minute)
		jobs, err := w.Other.BatchV1().Jobs("default").List(w.ctx, metav1.ListOptions{})
		require.NoError(w, err)
		require.Equal(w, 1, len(jobs.Items), "the old Job is still there, and a new one runs beside it")
	})
}
