package replicaset

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/cluster/clustertest"
	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/controllers/internal/podstate"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Run(m)) }

// realSet is a ReplicaSet on the embedded cluster, on which the original controller is switched off
// and kwok plays the nodes.
type realSet struct {
	*testing.T
	client.Client
	rs *appsv1.ReplicaSet
}

// startOnCluster creates a ReplicaSet, and runs the controller.
func startOnCluster(t *testing.T, replicas int32, probe controllers.ProbeOptions) *realSet {
	c, err := client.New(clustertest.Config(t), client.Options{})
	require.NoError(t, err)
	rs := newReplicaSet(replicas)
	rs.Namespace, rs.UID, rs.Generation = clustertest.Namespace(t), "", 0
	require.NoError(t, c.Create(t.Context(), rs))
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	options := controllers.Options{
		Controller: controller.Options{MaxConcurrentReconciles: 2}, Probe: probe,
	}
	go func() { ended <- controllers.Run(ctx, clustertest.Config(t), options, Add) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	return &realSet{t, c, rs}
}

// becomes waits until the status has these numbers: active, ready, available and terminating.
func (r *realSet) becomes(want ...int32) {
	r.Helper()
	require.EventuallyWithT(r, func(t *assert.CollectT) {
		require.NoError(t, r.Get(r.Context(), client.ObjectKeyFromObject(r.rs), r.rs))
		s := r.rs.Status
		require.Equal(t, r.rs.Generation, s.ObservedGeneration)
		require.NotNil(t, s.TerminatingReplicas)
		require.Equal(t, want, []int32{s.Replicas, s.ReadyReplicas, s.AvailableReplicas,
			*s.TerminatingReplicas})
	}, time.Minute, 20*time.Millisecond)
}

// active returns the active Pods, by name.
func (r *realSet) active() (active []*corev1.Pod) {
	r.Helper()
	var list corev1.PodList
	require.NoError(r, r.List(r.Context(), &list, client.InNamespace(r.rs.Namespace)))
	for i := range list.Items {
		if podstate.IsActive(&list.Items[i]) {
			active = append(active, &list.Items[i])
		}
	}
	return active
}

func (r *realSet) scale(replicas int32) {
	r.Helper()
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
	require.NoError(r, r.SubResource("scale").Update(r.Context(), r.rs,
		client.WithSubResourceBody(scale)))
}

// relabel patches, because an update would conflict with the writes of the kubelet.
func (r *realSet) relabel(pod *corev1.Pod, labels map[string]string) {
	r.Helper()
	before := pod.DeepCopy()
	pod.Labels = labels
	require.NoError(r, r.Patch(r.Context(), pod, client.MergeFrom(before)))
}

func TestOnACluster(t *testing.T) {
	r := startOnCluster(t, 3, controllers.ProbeOptions{})
	r.becomes(3, 3, 3, 0)
	require.Equal(t, int32(3), r.rs.Status.FullyLabeledReplicas)

	t.Log("scale, through the subresource that kubectl scale uses")
	r.scale(6)
	r.becomes(6, 6, 6, 0)
	r.scale(2)
	r.becomes(2, 2, 2, 0)

	t.Log("a Pod that somebody deletes is replaced")
	gone := r.active()[0]
	require.NoError(t, r.Delete(t.Context(), gone))
	require.Eventually(t, func() bool {
		pods := r.active()
		return len(pods) == 2 && !slices.ContainsFunc(pods, func(p *corev1.Pod) bool {
			return p.UID == gone.UID
		})
	}, time.Minute, 20*time.Millisecond)
	r.becomes(2, 2, 2, 0)

	t.Log("a Pod with another label is released, and one that fits is adopted")
	debugged := r.active()[0]
	r.relabel(debugged, map[string]string{"app": "debug"})
	require.Eventually(t, func() bool {
		return len(r.active()) == 3
	}, time.Minute, 20*time.Millisecond)
	r.becomes(2, 2, 2, 0)
	require.NoError(t, r.Get(t.Context(), client.ObjectKeyFromObject(debugged), debugged))
	require.Empty(t, debugged.OwnerReferences)
	r.scale(3)
	r.becomes(3, 3, 3, 0)
	r.relabel(debugged, template)
	require.Eventually(t, func() bool {
		return len(r.active()) == 3
	}, time.Minute, 20*time.Millisecond)
	r.becomes(3, 3, 3, 0)
	for _, pod := range r.active() {
		require.True(t, metav1.IsControlledBy(pod, r.rs))
	}

	t.Log("kubectl describe shows the events")
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		var events corev1.EventList // the kind that kubectl reads
		require.NoError(t, r.List(r.Context(), &events, client.InNamespace(r.rs.Namespace)))
		reasons := map[string]int{}
		for _, event := range events.Items {
			if event.InvolvedObject.UID == r.rs.UID {
				reasons[event.Reason]++
			}
		}
		require.GreaterOrEqual(t, reasons["SuccessfulCreate"], 9)
		require.GreaterOrEqual(t, reasons["SuccessfulDelete"], 5)
	}, time.Minute, 20*time.Millisecond)
}

func TestAQuotaOnACluster(t *testing.T) {
	r := startOnCluster(t, 1, controllers.ProbeOptions{Skip: true})
	r.becomes(1, 1, 1, 0)
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.rs.Namespace, Name: "few"},
	}
	quota.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("3")}
	require.NoError(t, r.Create(t.Context(), quota))
	require.Eventually(t, func() bool {
		return r.Get(t.Context(), client.ObjectKeyFromObject(quota), quota) == nil &&
			!quota.Status.Used.Pods().IsZero()
	}, time.Minute, 20*time.Millisecond)
	r.scale(20)
	r.becomes(3, 3, 3, 0)
	require.Len(t, r.rs.Status.Conditions, 1)
	condition := r.rs.Status.Conditions[0]
	require.Equal(t, []string{"ReplicaFailure", "True", "FailedCreate"},
		[]string{string(condition.Type), string(condition.Status), condition.Reason})
	require.Contains(t, condition.Message, "exceeded quota: few")
	require.NoError(t, r.Delete(t.Context(), quota))
	r.scale(4)
	r.becomes(4, 4, 4, 0)
	require.Empty(t, r.rs.Status.Conditions)
}

// kubectl delete waits for the Pods, or does not, or orphans them; the garbage collector does the
// work.
func TestDeletionsOnACluster(t *testing.T) {
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationForeground,
		metav1.DeletePropagationBackground, metav1.DeletePropagationOrphan} {
		t.Run(string(policy), func(t *testing.T) {
			r := startOnCluster(t, 3, controllers.ProbeOptions{Skip: true})
			r.becomes(3, 3, 3, 0)
			require.NoError(t, r.Delete(t.Context(), r.rs, client.PropagationPolicy(policy)))
			left := 0
			if policy == metav1.DeletePropagationOrphan {
				left = 3
			}
			require.Eventually(t, func() bool {
				err := r.Get(t.Context(), client.ObjectKeyFromObject(r.rs), &appsv1.ReplicaSet{})
				return err != nil && client.IgnoreNotFound(err) == nil &&
					len(r.orphans()) == left && len(r.active()) == left
			}, time.Minute, 20*time.Millisecond)
		})
	}
}

// orphans returns the active Pods without a controller.
func (r *realSet) orphans() []*corev1.Pod {
	return slices.DeleteFunc(r.active(), func(pod *corev1.Pod) bool {
		return metav1.GetControllerOf(pod) != nil
	})
}
