package replicaset

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/manager/client"
)

func TestAReplicaSetGetsItsPods(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		rs := w.set(3, func(rs *appsv1.ReplicaSet) {
			rs.Spec.Template.Annotations = map[string]string{"note": "yes"}
			rs.Spec.Template.Finalizers = []string{"loopwright.dev/wait"}
		})
		w.start()
		pods := w.pods()
		require.Len(t, pods, 3)
		for _, pod := range pods {
			require.Regexp(t, "^web-[a-z0-9]{5}$", pod.Name)
			require.Equal(t, "web-", pod.GenerateName)
			require.Equal(t, template, pod.Labels)
			require.Equal(t, map[string]string{"note": "yes"}, pod.Annotations)
			require.Equal(t, []string{"loopwright.dev/wait"}, pod.Finalizers)
			require.Equal(t, []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: rs.UID, Controller: new(true), BlockOwnerDeletion: new(true),
			}}, pod.OwnerReferences)
			require.Contains(t, w.events()["SuccessfulCreate"], "Created pod: "+pod.Name)
		}
		require.Equal(t, appsv1.ReplicaSetStatus{ObservedGeneration: 1, Replicas: 3, FullyLabeledReplicas: 3, TerminatingReplicas: new(int32(0))}, w.status(rs))
		require.Equal(t, map[string]int{"create pods": 3, "patch replicasets/status": 1}, w.did(), "no write more than it takes")
	})
}

func TestScalingCreatesAndDeletesWhatIsMissingOrTooMuch(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		rs := w.set(2)
		w.start()
		for _, pod := range w.pods() {
			w.starts(&pod, "n1")
		}
		w.settle()
		running := names(w.pods())
		require.Equal(t, appsv1.ReplicaSetStatus{
			ObservedGeneration: 1, Replicas: 2, FullyLabeledReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2, TerminatingReplicas: new(int32(0)),
		}, w.status(rs))
		w.scale(rs, 5)
		require.Len(t, w.pods(), 5)
		w.did()
		w.scale(rs, 2)
		require.Equal(t, running, names(w.pods()), "those without a node go first, and at once")
		require.Equal(t, map[string]int{"delete pods": 3, "patch replicasets/status": 1}, w.did())
		require.Len(t, w.events()["SuccessfulDelete"], 3)

		w.scale(rs, 1)
		status := w.status(rs)
		require.Equal(t, []int32{1, 1}, []int32{status.Replicas, *status.TerminatingReplicas}, "a Pod with a node takes its time")
		for _, pod := range w.pods() {
			if pod.DeletionTimestamp != nil {
				w.ends(&pod)
			}
		}
		w.settle()
		require.Equal(t, int32(0), *w.status(rs).TerminatingReplicas)
		w.scale(rs, 0)
		w.did()
		w.settle()
		require.Empty(t, w.did(), "nothing is left to do")
	})
}

func TestMoreThanOneBurstIsDoneInSeveralLooks(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.burst = 20
		rs := w.set(63)
		w.start()
		require.Len(t, w.pods(), 63)
		require.Equal(t, map[string]int{"create pods": 63, "patch replicasets/status": 4}, w.did(), "one status for each look")
		w.scale(rs, 1)
		require.Len(t, w.pods(), 1)
		require.Equal(t, map[string]int{"delete pods": 62, "patch replicasets/status": 4}, w.did())
	})
}

func TestAPodThatIsGoneOrHasFinishedIsReplaced(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		rs := w.set(4)
		w.start()
		pods := w.pods()
		w.ends(&pods[0])
		w.starts(&pods[1], "n1")
		require.NoError(t, w.users.Delete(t.Context(), &pods[1])) // it is terminating now
		for i, phase := range []corev1.PodPhase{corev1.PodFailed, corev1.PodSucceeded} {
			editStatus(w, &pods[2+i], func(pod *corev1.Pod) { pod.Status.Phase = phase })
		}
		w.settle()
		require.Len(t, w.pods(), 7, "four new ones, one that goes, and two that have finished and stay")
		status := w.status(rs)
		require.Equal(t, []int32{4, 1}, []int32{status.Replicas, *status.TerminatingReplicas})
	})
}

func TestOrphansAreAdoptedAndPodsWithOtherLabelsReleased(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.create(orphan("early", map[string]string{"app": "web"}))
		w.create(orphan("stranger", map[string]string{"app": "shop"}))
		rs := w.set(2)
		w.start()
		require.Len(t, w.pods(), 3, "one was adopted, and one made")
		status := w.status(rs)
		require.Equal(t, []int32{2, 1}, []int32{status.Replicas, status.FullyLabeledReplicas})
		w.did()

		late := orphan("late", template)
		w.create(late)
		w.settle()
		require.Equal(t, map[string]int{"patch pods": 1, "delete pods": 1}, w.did(), "one more than wanted: it is adopted, and one goes")

		early := orphan("early", nil)
		if w.isGone(early) {
			early = late
		}
		edit(w, early, func(pod *corev1.Pod) { pod.Labels = map[string]string{"app": "debug"} })
		w.settle()
		require.False(t, w.isGone(early))
		require.Empty(t, early.OwnerReferences, "it was released")
		require.Equal(t, int32(2), w.status(rs).Replicas, "and replaced")
		w.did()
		edit(w, early, func(pod *corev1.Pod) { pod.Labels = template })
		w.settle()
		require.Equal(t, 1, w.did()["patch pods"], "it came back")
		require.Equal(t, int32(2), w.status(rs).Replicas)
	})
}

// A Deployment would wait for available Pods forever.
func TestPodsBecomeAvailableWithoutAnEvent(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		rs := w.set(2, func(rs *appsv1.ReplicaSet) { rs.Spec.MinReadySeconds = 600 })
		w.start()
		pods := w.pods()
		w.starts(&pods[0], "n1")
		time.Sleep(5 * time.Minute)
		w.starts(&pods[1], "n1")
		w.settle()
		w.did()
		available := func() []int32 { s := w.status(rs); return []int32{s.ReadyReplicas, s.AvailableReplicas} }
		require.Equal(t, []int32{2, 0}, available())
		time.Sleep(4*time.Minute - 2*time.Second)
		require.Equal(t, []int32{2, 0}, available())
		time.Sleep(3 * time.Second)
		require.Equal(t, []int32{2, 1}, available())
		time.Sleep(5 * time.Minute)
		require.Equal(t, []int32{2, 2}, available())
		require.Equal(t, map[string]int{"patch replicasets/status": 2}, w.did())
		time.Sleep(24 * time.Hour)
		require.Empty(t, w.did())
	})
}

// What becomes of the Pods is up to the garbage collector, which reads their owner references.
func TestAReplicaSetThatIsBeingDeletedIsLeftAlone(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		rs := w.set(2)
		w.start()
		require.NoError(t, w.users.Delete(t.Context(), rs, client.PropagationPolicy(metav1.DeletePropagationForeground)))
		pods := w.pods()
		w.ends(&pods[0])
		edit(w, &pods[1], func(pod *corev1.Pod) { pod.Labels = nil })
		w.create(orphan("orphan", template))
		w.settle()
		did := w.did()
		delete(did, "patch replicasets/status")
		require.Equal(t, map[string]int{"create pods": 2}, did, "no Pod is made again, released or adopted")
		require.Equal(t, int32(0), w.status(rs).Replicas)
	})
}

// Two of them make twice as many Pods.
func TestASecondControllerDoesNotStart(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.set(3)
		w.start()
		w.did()
		err := Run(t.Context(), w.server.Config(), 1)
		require.ErrorContains(t, err, "somebody else does the work of the replicaset-controller already")
		w.settle()
		require.Equal(t, map[string]int{"patch replicasets/status": 1}, w.did(), "to the probe, which is gone")
		require.Len(t, w.pods(), 3)
		w.end()
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		require.NoError(t, Run(ctx, w.server.Config(), 1))
	})
}
