package replicaset

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/simulation"
	"github.com/loopwright/loopwright/internal/simulation/ours"
	"github.com/loopwright/loopwright/manager/client"
)

func TestAReplicaSetGetsItsPods(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		rs := w.set(3, func(rs *appsv1.ReplicaSet) {
			rs.Spec.Template.Annotations = map[string]string{"note": "yes"}
			rs.Spec.Template.Finalizers = []string{"loopwright.dev/wait"}
		})
		w.run()
		pods := w.Pods()
		require.Len(t, pods, 3)
		for _, pod := range pods {
			require.Regexp(t, "^web-[a-z0-9]{5}$", pod.Name)
			require.Equal(t, "web-", pod.GenerateName)
			require.Equal(t, template, pod.Labels)
			require.Equal(t, map[string]string{"note": "yes"}, pod.Annotations)
			require.Equal(t, []string{"loopwright.dev/wait"}, pod.Finalizers)
			require.Equal(t, []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: rs.UID,
				Controller: new(true), BlockOwnerDeletion: new(true),
			}}, pod.OwnerReferences)
			require.Contains(t, w.events()["SuccessfulCreate"], "Created pod: "+pod.Name)
		}
		require.Equal(t, appsv1.ReplicaSetStatus{ObservedGeneration: 1, Replicas: 3,
			FullyLabeledReplicas: 3, TerminatingReplicas: new(int32(0))}, w.status(rs))
		require.Equal(t, map[string]int{"create pods": 3, "patch replicasets/status": 1}, w.Wrote(),
			"no write more than it takes")
	})
}

func TestScalingCreatesAndDeletesWhatIsMissingOrTooMuch(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		rs := w.set(2)
		w.run()
		for _, pod := range w.Pods() {
			w.starts(pod, "n1")
		}
		w.Settle()
		running := names(w.Pods())
		require.Equal(t, appsv1.ReplicaSetStatus{
			ObservedGeneration: 1, Replicas: 2, FullyLabeledReplicas: 2, ReadyReplicas: 2,
			AvailableReplicas: 2, TerminatingReplicas: new(int32(0)),
		}, w.status(rs))
		w.scale(rs, 5)
		require.Len(t, w.Pods(), 5)
		w.Wrote()
		w.scale(rs, 2)
		require.Equal(t, running, names(w.Pods()), "those without a node go first, and at once")
		require.Equal(t, map[string]int{"delete pods": 3, "patch replicasets/status": 1}, w.Wrote())
		require.Len(t, w.events()["SuccessfulDelete"], 3)

		w.scale(rs, 1)
		status := w.status(rs)
		require.Equal(t, []int32{1, 1}, []int32{status.Replicas, *status.TerminatingReplicas},
			"a Pod with a node takes its time")
		for _, pod := range w.Pods() {
			if pod.DeletionTimestamp != nil {
				w.ends(pod)
			}
		}
		w.Settle()
		require.Equal(t, int32(0), *w.status(rs).TerminatingReplicas)
		w.scale(rs, 0)
		w.Wrote()
		w.Settle()
		require.Empty(t, w.Wrote(), "nothing is left to do")
	})
}

func TestMoreThanOneBurstIsDoneInSeveralLooks(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.burst = 20
		rs := w.set(63)
		w.run()
		require.Len(t, w.Pods(), 63)
		require.Equal(t, map[string]int{"create pods": 63, "patch replicasets/status": 4},
			w.Wrote(), "one status for each look")
		w.scale(rs, 1)
		require.Len(t, w.Pods(), 1)
		require.Equal(t, map[string]int{"delete pods": 62, "patch replicasets/status": 4},
			w.Wrote())
	})
}

func TestAPodThatIsGoneOrHasFinishedIsReplaced(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		rs := w.set(4)
		w.run()
		pods := w.Pods()
		w.ends(pods[0])
		w.starts(pods[1], "n1")
		require.NoError(t, w.Live.Delete(t.Context(), pods[1])) // it is terminating now
		for i, phase := range []corev1.PodPhase{corev1.PodFailed, corev1.PodSucceeded} {
			simulation.EditStatus(w.World, pods[2+i], func(pod *corev1.Pod) {
				pod.Status.Phase = phase
			})
		}
		w.Settle()
		require.Len(t, w.Pods(), 7,
			"four new ones, one that goes, and two that have finished and stay")
		status := w.status(rs)
		require.Equal(t, []int32{4, 1}, []int32{status.Replicas, *status.TerminatingReplicas})
	})
}

// An API server may be upgraded, or go back to the version before, while the controller runs.
func TestTheNumberOfTerminatingPodsIsRightWheneverTheServerKnowsIt(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		rs := w.set(4)
		w.KnowsTerminating(false)
		w.run()
		for _, pod := range w.Pods() {
			w.starts(pod, "n1")
		}
		w.Settle()
		running := w.Pods()
		goes := func(pod *corev1.Pod) {
			require.NoError(t, w.Live.Delete(t.Context(), pod))
			w.Settle()
		}
		goes(running[0])
		require.Nil(t, w.status(rs).TerminatingReplicas)

		w.KnowsTerminating(true)
		goes(running[1])
		require.Equal(t, int32(2), *w.status(rs).TerminatingReplicas)
		w.ends(running[0])
		w.Settle()
		require.Equal(t, int32(1), *w.status(rs).TerminatingReplicas)
		w.ends(running[1])
		w.Settle()
		require.Equal(t, int32(0), *w.status(rs).TerminatingReplicas)

		w.KnowsTerminating(false)
		goes(running[2])
		require.Nil(t, w.status(rs).TerminatingReplicas)
		w.Wrote()
		w.ends(running[2])
		w.Settle()
		require.Empty(t, w.Wrote(), "what the server drops is no reason for a write")
	})
}

// A server before 1.35 keeps the number that a newer server has stored. During an upgrade, both
// kinds of servers may run.
func TestANumberOfTerminatingPodsThatIsThereIsKeptRight(t *testing.T) {
	rs := newReplicaSet(0)
	rs.Status = statusOf(rs, nil, []*corev1.Pod{settledPod("a", deleted)}, nil, noon)
	require.False(t, isWritten(rs, statusOf(rs, nil, nil, nil, noon), true))
}

func TestOrphansAreAdoptedAndPodsWithOtherLabelsReleased(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.Create(orphan("early", map[string]string{"app": "web"}))
		w.Create(orphan("stranger", map[string]string{"app": "shop"}))
		rs := w.set(2)
		w.run()
		require.Len(t, w.Pods(), 3, "one was adopted, and one made")
		status := w.status(rs)
		require.Equal(t, []int32{2, 1}, []int32{status.Replicas, status.FullyLabeledReplicas})
		w.Wrote()

		late := orphan("late", template)
		w.Create(late)
		w.Settle()
		require.Equal(t, map[string]int{"patch pods": 1, "delete pods": 1}, w.Wrote(),
			"one more than wanted: it is adopted, and one goes")

		early := orphan("early", nil)
		if w.isGone(early) {
			early = late
		}
		simulation.Edit(w.World, early, func(pod *corev1.Pod) {
			pod.Labels = map[string]string{"app": "debug"}
		})
		w.Settle()
		require.False(t, w.isGone(early))
		require.Empty(t, early.OwnerReferences, "it was released")
		require.Equal(t, int32(2), w.status(rs).Replicas, "and replaced")
		w.Wrote()
		simulation.Edit(w.World, early, func(pod *corev1.Pod) { pod.Labels = template })
		w.Settle()
		require.Equal(t, 1, w.Wrote()["patch pods"], "it came back")
		require.Equal(t, int32(2), w.status(rs).Replicas)
	})
}

// A Deployment would wait for available Pods forever.
func TestPodsBecomeAvailableWithoutAnEvent(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		rs := w.set(2, func(rs *appsv1.ReplicaSet) { rs.Spec.MinReadySeconds = 600 })
		w.run()
		pods := w.Pods()
		w.starts(pods[0], "n1")
		time.Sleep(5 * time.Minute)
		w.starts(pods[1], "n1")
		w.Settle()
		w.Wrote()
		available := func() []int32 {
			s := w.status(rs)
			return []int32{s.ReadyReplicas, s.AvailableReplicas}
		}
		require.Equal(t, []int32{2, 0}, available())
		time.Sleep(4*time.Minute - 2*time.Second)
		require.Equal(t, []int32{2, 0}, available())
		time.Sleep(3 * time.Second)
		require.Equal(t, []int32{2, 1}, available())
		time.Sleep(5 * time.Minute)
		require.Equal(t, []int32{2, 2}, available())
		require.Equal(t, map[string]int{"patch replicasets/status": 2}, w.Wrote())
		time.Sleep(24 * time.Hour)
		require.Empty(t, w.Wrote())
	})
}

// The garbage collector decides about the Pods by their owner references.
func TestAReplicaSetThatIsBeingDeletedIsLeftAlone(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		rs := w.set(2)
		w.run()
		require.NoError(t, w.Live.Delete(t.Context(), rs,
			client.PropagationPolicy(metav1.DeletePropagationForeground)))
		pods := w.Pods()
		w.ends(pods[0])
		simulation.Edit(w.World, pods[1], func(pod *corev1.Pod) { pod.Labels = nil })
		w.Create(orphan("orphan", template))
		w.Settle()
		did := w.Wrote()
		delete(did, "patch replicasets/status")
		require.Equal(t, map[string]int{"create pods": 2}, did,
			"no Pod is made again, released or adopted")
		require.Equal(t, int32(0), w.status(rs).Replicas)
	})
}

// Two controllers would create twice as many Pods.
func TestASecondControllerDoesNotStart(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.set(3)
		w.run()
		w.Wrote()
		err := Run(t.Context(), w.Server.Config(), 1)
		require.ErrorContains(t, err,
			"somebody else does the work of the replicaset-controller already")
		w.Settle()
		require.Equal(t, map[string]int{"patch replicasets/status": 1}, w.Wrote(),
			"to the probe, which is gone")
		require.Len(t, w.Pods(), 3)
		w.Stop()
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		require.NoError(t, Run(ctx, w.Server.Config(), 1))
	})
}

// A user has to see what keeps the controller from working before its process becomes the leader.
func TestAddSaysWhatKeepsTheControllerFromWorking(t *testing.T) {
	ours.RefusesMisuse(t, Add, "the ReplicaSet controller",
		"finding the Pods of a ReplicaSet")
}
