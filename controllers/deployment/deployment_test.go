package deployment

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/simulation/ours"
)

func TestADeploymentGetsItsReplicaSet(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		d := w.web(3, func(d *appsv1.Deployment) {
			d.Spec.MinReadySeconds = 5
			d.Annotations = map[string]string{
				"note": "yes", corev1.LastAppliedConfigAnnotation: "{}",
			}
		})
		did := w.did()
		require.LessOrEqual(t, did["patch deployments/status"], 5)
		delete(did, "patch deployments/status")
		require.Equal(t, map[string]int{"create replicasets": 1}, did)
		rs := w.sets()[0]
		hash := rs.Labels[hashLabel]
		require.Equal(t, "web-"+hash, rs.Name)
		require.Equal(t, map[string]string{"app": "web", hashLabel: hash}, rs.Labels)
		require.Equal(t, &metav1.LabelSelector{MatchLabels: rs.Labels}, rs.Spec.Selector)
		require.Equal(t, rs.Labels, rs.Spec.Template.Labels)
		require.Equal(t, int32(5), rs.Spec.MinReadySeconds)
		require.Equal(t, []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: d.UID,
			Controller: new(true), BlockOwnerDeletion: new(true),
		}}, rs.OwnerReferences)
		require.Equal(t, map[string]string{"note": "yes", revisionAnnotation: "1",
			desiredAnnotation: "3", maxAnnotation: "4"}, rs.Annotations)
		w.Read(d)
		require.Equal(t, "1", d.Annotations[revisionAnnotation])
		conditions := d.Status.Conditions
		d.Status.Conditions = nil
		require.Equal(t, appsv1.DeploymentStatus{
			ObservedGeneration: 1, Replicas: 3, UpdatedReplicas: 3, ReadyReplicas: 3,
			AvailableReplicas: 3, TerminatingReplicas: new(int32(0)),
		}, d.Status)
		require.Len(t, conditions, 2)
		require.Equal(t,
			map[appsv1.DeploymentConditionType]string{"Available": "True MinimumReplicasAvailable",
				"Progressing": "True NewReplicaSetAvailable"}, w.conditions(d))
		require.Equal(t, `ReplicaSet "`+rs.Name+`" has successfully progressed.`,
			d.Status.Conditions[1].Message)
		require.Equal(t, []string{"Scaled up replica set " + rs.Name + " from 0 to 3"},
			w.events("ScalingReplicaSet"))
		w.did()
		time.Sleep(time.Hour)
		require.Empty(t, w.did())
	})
}

func TestAnotherTemplateIsRolledOut(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		d := w.web(10)
		old := w.sets()[0]
		w.did()
		w.edit(d, image("web:2"))
		require.Equal(t, []string{"web:1: 0", "web:2: 10"}, w.sizes())
		w.Read(d)
		require.Equal(t, []int32{10, 10, 10, 0},
			[]int32{d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.AvailableReplicas,
				d.Status.UnavailableReplicas})
		require.Equal(t, "2", d.Annotations[revisionAnnotation])
		next := w.sets()[1]
		require.Equal(t, "2", next.Annotations[revisionAnnotation])
		events := w.events("ScalingReplicaSet")
		require.Equal(t, []string{
			"Scaled up replica set " + old.Name + " from 0 to 10",
			"Scaled up replica set " + next.Name + " from 0 to 3",
			"Scaled down replica set " + old.Name + " from 10 to 8",
			"Scaled up replica set " + next.Name + " from 3 to 5",
		}, events[:4])
		did := w.did()
		require.Equal(t, 1, did["create replicasets"])
		require.GreaterOrEqual(t, did["patch replicasets"], len(events)-2, "a write for each event")
		require.LessOrEqual(t, did["patch replicasets"], 2*(len(events)-2),
			"some are refused, because by then another number of Pods is available")
	})
}

func TestARollbackFindsTheOldReplicaSet(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		d := w.web(4, func(d *appsv1.Deployment) {
			d.Spec.ProgressDeadlineSeconds = new(int32(300))
		})
		w.edit(d, image("bad:2"))
		require.Equal(t, []string{"web:1: 3", "bad:2: 2"}, w.sizes(), "it is stuck")
		require.Equal(t, "True ReplicaSetUpdated", w.conditions(d)["Progressing"])
		time.Sleep(5 * time.Minute)
		require.Equal(t, "False ProgressDeadlineExceeded", w.conditions(d)["Progressing"])
		require.Equal(t, "True MinimumReplicasAvailable", w.conditions(d)["Available"])
		w.did()
		time.Sleep(time.Hour)
		require.Empty(t, w.did(), "nobody looks again and again")
		w.edit(d, image("web:1"))
		require.Equal(t, []string{"web:1: 4", "bad:2: 0"}, w.sizes())
		require.Equal(t, "True NewReplicaSetAvailable", w.conditions(d)["Progressing"])
		rs := w.sets()[0]
		require.Equal(t, []string{"3", "1"},
			[]string{rs.Annotations[revisionAnnotation], rs.Annotations[historyAnnotation]})
		w.Read(d)
		require.Equal(t, "3", d.Annotations[revisionAnnotation])
		require.Zero(t, w.did()["create replicasets"])
		w.edit(d, image("bad:2"))
		w.edit(d, image("web:1"))
		require.Equal(t, "1,3", w.sets()[0].Annotations[historyAnnotation])
		require.Equal(t, "5", w.sets()[0].Annotations[revisionAnnotation])
	})
}

// The deadline counts from the beginning of this rollout, and not from the end of the last one.
func TestARolledBackDeploymentIsNotLateFromTheBeginning(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		d := w.web(4, image("bad:1"), func(d *appsv1.Deployment) {
			d.Spec.ProgressDeadlineSeconds = new(int32(300))
		})
		w.edit(d, image("bad:2"))
		time.Sleep(time.Hour)
		require.Equal(t, "False ProgressDeadlineExceeded", w.conditions(d)["Progressing"])
		w.edit(d, image("bad:1"))
		require.Contains(t, []string{"True FoundNewReplicaSet", "True ReplicaSetUpdated"},
			w.conditions(d)["Progressing"])
		time.Sleep(10 * time.Minute)
		require.Equal(t, "False ProgressDeadlineExceeded", w.conditions(d)["Progressing"])
	})
}

func TestAPausedDeploymentIsScaledAndNotRolledOut(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		d := w.web(4)
		w.edit(d, pause(true))
		require.Equal(t, "Unknown DeploymentPaused", w.conditions(d)["Progressing"])
		w.edit(d, image("web:2"))
		require.Equal(t, []string{"web:1: 4"}, w.sizes())
		w.edit(d, replicas(6))
		require.Equal(t, []string{"web:1: 6"}, w.sizes())
		require.Equal(t, d.Generation, d.Status.ObservedGeneration+1,
			"as it was read before the last change")
		w.Read(d)
		require.Equal(t, d.Generation, d.Status.ObservedGeneration)
		require.Equal(t, int32(0), d.Status.UpdatedReplicas)
		w.edit(d, replicas(0))
		w.edit(d, replicas(3))
		require.Equal(t, []string{"web:1: 3"}, w.sizes(), "the latest there is")
		w.edit(d, pause(false))
		require.Equal(t, []string{"web:1: 0", "web:2: 3"}, w.sizes())
		require.Equal(t, "True NewReplicaSetAvailable", w.conditions(d)["Progressing"])
	})
}

func TestAResumedDeploymentHasItsWholeDeadline(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		d := w.web(4, func(d *appsv1.Deployment) {
			d.Spec.ProgressDeadlineSeconds = new(int32(300))
		})
		w.edit(d, image("bad:2"))
		w.edit(d, pause(true))
		time.Sleep(time.Hour)
		require.Equal(t, "Unknown DeploymentPaused", w.conditions(d)["Progressing"])
		w.edit(d, pause(false))
		time.Sleep(3 * time.Minute)
		require.Equal(t, "Unknown DeploymentResumed", w.conditions(d)["Progressing"])
		time.Sleep(2 * time.Minute)
		require.Equal(t, "False ProgressDeadlineExceeded", w.conditions(d)["Progressing"])
		w.edit(d, pause(true))
		require.Equal(t, "False ProgressDeadlineExceeded", w.conditions(d)["Progressing"],
			"what is late stays late")
	})
}

func TestAScaledRolloutKeepsItsShares(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		d := w.web(10, limit("3", "2"))
		w.edit(d, image("bad:2"))
		require.Equal(t, []string{"web:1: 8", "bad:2: 5"}, w.sizes())
		w.did()
		w.edit(d, replicas(20))
		require.Equal(t, []string{"web:1: 14", "bad:2: 9"}, w.sizes(),
			"of 23, 8 thirteenths and 5 thirteenths")
		require.Equal(t, 2, w.did()["patch replicasets"])
		w.edit(d, replicas(5))
		require.Equal(t, []string{"web:1: 3", "bad:2: 5"}, w.sizes(),
			"5 and 3, and then the rollout goes on: 3 have to serve, so 2 may go, and 2 may come")
		for _, rs := range w.sets() {
			require.Equal(t, []string{"5", "8"},
				[]string{rs.Annotations[desiredAnnotation], rs.Annotations[maxAnnotation]})
		}
		w.edit(d, replicas(0))
		require.Equal(t, []string{"web:1: 0", "bad:2: 0"}, w.sizes())
		w.edit(d, replicas(2), image("web:3"))
		require.Equal(t, []string{"web:1: 0", "bad:2: 0", "web:3: 2"}, w.sizes())
	})
}

func TestRecreateStartsNobodyBeforeTheLastHasEnded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		d := w.web(3, recreate)
		versions := map[string]bool{}
		watching, err := w.Live.Watch(t.Context(), &corev1.PodList{})
		require.NoError(t, err)
		w.Go(func() {
			for range watching.ResultChan() {
				seen := map[string]bool{}
				for _, pod := range w.Pods() {
					seen[pod.Spec.Containers[0].Image] = true
				}
				if len(seen) > 1 {
					versions["both"] = true
				}
			}
		})
		w.edit(d, image("web:2"))
		require.Equal(t, []string{"web:1: 0", "web:2: 3"}, w.sizes())
		watching.Stop()
		require.Empty(t, versions)
		require.Len(t, w.Pods(), 3)
		require.Equal(t, "True NewReplicaSetAvailable", w.conditions(d)["Progressing"])
	})
}

// An API server may be upgraded, or go back to the version before, while the controllers run. If
// the old number of terminating Pods stayed in the status, the Deployment would wait for them
// forever.
func TestRecreateComesToItsEndOnAServerThatIsUpgradedAndBack(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.KnowsTerminating(false)
		d := w.web(2, recreate)
		require.Nil(t, d.Status.TerminatingReplicas)

		w.KnowsTerminating(true)
		w.edit(d, image("web:2"))
		require.Equal(t, []string{"web:1: 0", "web:2: 2"}, w.sizes())
		require.Equal(t, "True NewReplicaSetAvailable", w.conditions(d)["Progressing"])
		require.Equal(t, int32(0), *d.Status.TerminatingReplicas)

		w.KnowsTerminating(false)
		w.edit(d, image("web:3"))
		require.Equal(t, []string{"web:1: 0", "web:2: 0", "web:3: 2"}, w.sizes())
		require.Equal(t, "True NewReplicaSetAvailable", w.conditions(d)["Progressing"])
		require.Nil(t, d.Status.TerminatingReplicas)
	})
}

// Kubernetes' own controller treats it as a Deployment that was scaled, changes nothing, and never
// goes on with the rollout.
func TestRecreateWithAnotherSizeInTheMiddleOfARollout(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		d := w.web(4)
		w.edit(d, image("bad:2"))
		require.Equal(t, []string{"web:1: 3", "bad:2: 2"}, w.sizes())
		w.edit(d, recreate, replicas(6), image("web:3"))
		w.Settle()
		require.Equal(t, []string{"web:1: 0", "bad:2: 0", "web:3: 6"}, w.sizes())
	})
}

// A status that is older than the size does not count the Pods that are being created now.
func TestAReplicaSetMayHavePodsUntilItsStatusSaysOtherwise(t *testing.T) {
	for _, c := range []struct {
		status appsv1.ReplicaSetStatus
		want   bool
	}{
		{appsv1.ReplicaSetStatus{ObservedGeneration: 2, TerminatingReplicas: new(int32(0))}, false},
		{appsv1.ReplicaSetStatus{ObservedGeneration: 1, TerminatingReplicas: new(int32(0))}, true},
		{
			appsv1.ReplicaSetStatus{
				ObservedGeneration: 2, Replicas: 1, TerminatingReplicas: new(int32(0)),
			},
			true,
		},
		{appsv1.ReplicaSetStatus{ObservedGeneration: 2, TerminatingReplicas: new(int32(1))}, true},
	} {
		runs, err := (&deploymentSync{}).mayRun(t.Context(),
			&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Status: c.status})
		require.NoError(t, err)
		require.Equal(t, c.want, runs, "%+v", c.status)
	}
}

// Two of them would undo each other's work.
func TestASecondControllerDoesNotStart(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.web(3)
		w.did()
		require.ErrorContains(t, Run(t.Context(), w.Server.Config(), 1),
			"somebody else does the work of the deployment-controller already")
		w.Settle()
		require.Equal(t, map[string]int{"patch deployments/status": 1}, w.did(),
			"to the probe, which is gone")
	})
	inWorld(t, func(t *testing.T, w *world) {
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		require.NoError(t, Run(ctx, w.Server.Config(), 1))
	})
}

// A user has to see what keeps the controller from working before its process becomes the leader.
func TestAddSaysWhatKeepsTheControllerFromWorking(t *testing.T) {
	ours.RefusesMisuse(t, Add, "the Deployment controller",
		"finding the ReplicaSets of a Deployment")
}
