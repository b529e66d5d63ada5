package mini_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

func deadline(seconds int32) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = &seconds }
}

// condition returns the Deployment's condition, or an empty one.
func (w *rolloutWorld) condition(kind appsv1.DeploymentConditionType) appsv1.DeploymentCondition {
	w.Helper()
	var found []appsv1.DeploymentCondition
	for _, c := range w.get().Status.Conditions {
		if c.Type == kind {
			found = append(found, c)
		}
	}
	require.LessOrEqual(w, len(found), 1, "each condition exists once")
	if found == nil {
		return appsv1.DeploymentCondition{}
	}
	return found[0]
}

// progress returns the status and the reason of the Progressing condition.
func (w *rolloutWorld) progress() string {
	w.Helper()
	c := w.condition(appsv1.DeploymentProgressing)
	return fmt.Sprintf("%s %s", c.Status, c.Reason)
}

// kubectl rollout status reads these numbers, and believes them if the generation is the current one.
//
// Function: deploymentStatus
func TestTheStatusAddsUpWhatTheReplicaSetsReport(t *testing.T) {
	inRollout(t, mini.NewDeploymentController, func(w *rolloutWorld) {
		w.create(deployment(10, fenceposts("3", "2")))
		want := appsv1.DeploymentStatus{
			ObservedGeneration: 1, Replicas: 10, UpdatedReplicas: 10, ReadyReplicas: 10, AvailableReplicas: 10,
		}
		status := func() appsv1.DeploymentStatus {
			s := w.get().Status
			s.Conditions, s.TerminatingReplicas = nil, nil
			return s
		}
		require.Equal(w, want, status())
		w.change(image("bad"))
		time.Sleep(time.Minute)
		require.Equal(w, appsv1.DeploymentStatus{
			ObservedGeneration: w.get().Generation,
			Replicas:           13, UpdatedReplicas: 5, ReadyReplicas: 8, AvailableReplicas: 8, UnavailableReplicas: 5,
		}, status())
		require.Equal(w, "2", w.get().Annotations[mini.RevisionAnnotation])
		w.change(image("v1"))
		time.Sleep(time.Minute)
		want.ObservedGeneration = w.get().Generation
		require.Equal(w, want, status())
		require.Equal(w, "3", w.get().Annotations[mini.RevisionAnnotation], "kubectl rollout shows it")
	})
}

// A user is paged when a Deployment is not available.
func TestAvailableMeansThatEnoughPodsServe(t *testing.T) {
	inRollout(t, mini.NewDeploymentController, func(w *rolloutWorld) {
		_, err := w.Other.AppsV1().Deployments("default").Create(
			w.ctx, deployment(4, fenceposts("0", "1"), func(d *appsv1.Deployment) { d.Spec.MinReadySeconds = 10 }),
			metav1.CreateOptions{})
		require.NoError(w, err)
		available := func() string {
			c := w.condition(appsv1.DeploymentAvailable)
			return fmt.Sprintf("%s %s", c.Status, c.Reason)
		}
		time.Sleep(9 * time.Second)
		require.EqualValues(w, 4, w.get().Status.ReadyReplicas)
		require.Equal(w, "False MinimumReplicasUnavailable", available(), "they have to be ready for 10 s")
		since := w.condition(appsv1.DeploymentAvailable).LastTransitionTime
		require.Less(w, time.Since(since.Time), 10*time.Second)
		time.Sleep(5 * time.Second)
		require.Equal(w, "True MinimumReplicasAvailable", available())
		require.True(w, since.Before(new(w.condition(appsv1.DeploymentAvailable).LastTransitionTime)))

		since = w.condition(appsv1.DeploymentAvailable).LastTransitionTime
		w.change(image("bad"))
		time.Sleep(time.Minute)
		require.EqualValues(w, 3, w.get().Status.AvailableReplicas)
		require.Equal(w, "True MinimumReplicasAvailable", available(), "one may be missing")
		require.Equal(w, since, w.condition(appsv1.DeploymentAvailable).LastTransitionTime)
	})
}

// A script that waits for a release reads the reason.
func TestProgressIsReported(t *testing.T) {
	inRollout(t, mini.NewDeploymentController, func(w *rolloutWorld) {
		bad := deployment(2, image("bad"), fenceposts("1", "0"))
		_, err := w.Other.AppsV1().Deployments("default").Create(w.ctx, bad, metav1.CreateOptions{})
		require.NoError(w, err)
		time.Sleep(time.Second)
		require.Equal(w, "True ReplicaSetUpdated", w.progress())
		w.change(image("v1"))
		time.Sleep(time.Minute)
		require.Equal(w, "True NewReplicaSetAvailable", w.progress())
		since := w.condition(appsv1.DeploymentProgressing)
		w.change(replicas(3))
		time.Sleep(time.Minute)
		require.Equal(w, since, w.condition(appsv1.DeploymentProgressing), "scaling isn't a rollout")
	})
}

// Otherwise the deadline of this rollout would count from the end of the last one.
//
// Function: progressingCondition
func TestARolloutThatHasJustBegunSaysSo(t *testing.T) {
	inRollout(t, mini.NewDeploymentController, func(w *rolloutWorld) {
		w.create(deployment(2))
		w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "update", Resource: "replicasets", Subresource: "status"}, Delay: 10 * time.Second,
		})
		for _, template := range []string{"v2", "v1"} {
			w.change(image(template))
			time.Sleep(time.Second)
			require.Equal(w, "True ReplicaSetUpdated", w.progress(), "no ReplicaSet has reported anything yet")
			require.Less(w, time.Since(w.condition(appsv1.DeploymentProgressing).LastUpdateTime.Time), 3*time.Second,
				"the deadline counts from the beginning of this rollout")
			time.Sleep(2 * time.Minute)
			require.Equal(w, "True NewReplicaSetAvailable", w.progress(), "the rollout is over")
		}
	})
}

// A failure that no condition reports, or one that comes and goes, stops no release.
func TestARolloutThatMakesNoProgressExceedsItsDeadline(t *testing.T) {
	inRollout(t, mini.NewDeploymentController, func(w *rolloutWorld) {
		w.create(deployment(10, fenceposts("3", "2"), deadline(60)))
		w.change(image("bad"))
		time.Sleep(30 * time.Second)
		require.Equal(w, "True ReplicaSetUpdated", w.progress())
		time.Sleep(28 * time.Second)
		require.Equal(w, "True ReplicaSetUpdated", w.progress(), "too early")
		time.Sleep(4 * time.Second)
		require.Equal(w, "False ProgressDeadlineExceeded", w.progress(),
			"no watch event comes then: the controller has to set an alarm")
		exceeded := w.condition(appsv1.DeploymentProgressing)
		require.Equal(w, exceeded.LastUpdateTime, exceeded.LastTransitionTime)

		// What happens afterwards is no progress.
		w.change(func(d *appsv1.Deployment) { d.Labels = map[string]string{"another": "label"} })
		time.Sleep(time.Hour)
		w.change(deadline(24 * 60 * 60))
		time.Sleep(time.Hour)
		require.Equal(w, exceeded, w.condition(appsv1.DeploymentProgressing), "the condition flips")

		w.change(image("v2"))
		time.Sleep(time.Minute)
		require.Equal(w, "True NewReplicaSetAvailable", w.progress())
		require.True(w, exceeded.LastTransitionTime.Before(
			new(w.condition(appsv1.DeploymentProgressing).LastTransitionTime)))
	})
}

// A slow rollout of many Pods is not a failed one.
func TestEachBitOfProgressMovesTheDeadline(t *testing.T) {
	inRollout(t, mini.NewDeploymentController, func(w *rolloutWorld) {
		w.create(deployment(8, fenceposts("1", "0"), deadline(15), func(d *appsv1.Deployment) { d.Spec.MinReadySeconds = 10 }))
		time.Sleep(time.Minute)
		transition := w.condition(appsv1.DeploymentProgressing).LastTransitionTime
		w.change(image("v2")) // one Pod after the other, 11 s each
		for range 18 {
			time.Sleep(5 * time.Second)
			require.Equal(w, corev1.ConditionTrue, w.condition(appsv1.DeploymentProgressing).Status)
		}
		require.Equal(w, "True NewReplicaSetAvailable", w.progress())
		require.Equal(w, transition, w.condition(appsv1.DeploymentProgressing).LastTransitionTime, "it was True all the time")
	})
}

// A tool that rolls back failed releases would roll back one that has worked for a month.
//
// Function: progressingCondition
func TestACompleteRolloutDoesNotBecomeLateAgain(t *testing.T) {
	inRollout(t, mini.NewDeploymentController, func(w *rolloutWorld) {
		w.create(deployment(2, deadline(30)))
		complete := w.condition(appsv1.DeploymentProgressing)
		require.Equal(w, "NewReplicaSetAvailable", complete.Reason)
		list, err := w.Other.CoreV1().Pods("default").List(w.ctx, metav1.ListOptions{})
		require.NoError(w, err)
		pod := &list.Items[0]
		pod.Status.Conditions[0].Status = corev1.ConditionFalse // for example, its node is gone
		_, err = w.Other.CoreV1().Pods("default").UpdateStatus(w.ctx, pod, metav1.UpdateOptions{})
		require.NoError(w, err)
		time.Sleep(time.Hour)
		require.EqualValues(w, 1, w.get().Status.AvailableReplicas)
		require.Equal(w, complete, w.condition(appsv1.DeploymentProgressing),
			"a Pod that fails long after the rollout isn't a failure of the rollout")
	})
}

// A user who pauses for an hour would be told that the rollout has failed.
//
// Function: progressingCondition
func TestAPausedRolloutIsNotLate(t *testing.T) {
	inRollout(t, mini.NewDeploymentController, func(w *rolloutWorld) {
		w.create(deployment(10, fenceposts("3", "2"), deadline(60)))
		w.change(image("bad"))
		time.Sleep(30 * time.Second)
		w.change(pause(true))
		time.Sleep(time.Hour)
		require.Equal(w, "Unknown DeploymentPaused", w.progress())
		w.change(pause(false))
		require.Equal(w, "Unknown DeploymentResumed", w.progress())
		time.Sleep(57 * time.Second)
		require.Equal(w, "Unknown DeploymentResumed", w.progress(), "the deadline starts over")
		time.Sleep(5 * time.Second)
		require.Equal(w, "False ProgressDeadlineExceeded", w.progress())
	})
}

// Without this, no Pod of the new template would ever start.
func TestARecreateIsWokenByTheEndOfTheLastPod(t *testing.T) {
	inRollout(t, mini.NewDeploymentController, func(w *rolloutWorld) {
		w.create(deployment(3, recreate))
		w.watch()
		w.change(image("v2"))
		time.Sleep(4 * time.Second)            // the old Pods are ending
		lift := w.Server.Inject(fakeapi.Fault{ // so the ReplicaSets do not change when a Pod ends
			Match:  fakeapi.Match{Verb: "update", Resource: "replicasets", Subresource: "status"},
			Status: fakeapi.Forbidden(),
		})
		time.Sleep(16 * time.Second)
		require.Equal(w, map[string]int{"v2": 3}, w.ready(), "only the end of a Pod could wake the controller")
		require.False(w, w.mixed)
		require.True(w, slices.ContainsFunc(w.Cluster.Trace.Events(), func(e trace.Event) bool {
			return e.Kind == trace.ReconcileEnd && e.Layer == "deployment"
		}), "the flight recorder shows the controller at work")
		lift()
		time.Sleep(time.Minute)
		require.Equal(w, "True NewReplicaSetAvailable", w.progress())
	})
}

// Each rollout of a Deployment that is a month old would begin with a failure.
//
// Function: progressingCondition
func TestTheNextRolloutIsNotLateBeforeItHasAReplicaSet(t *testing.T) {
	inRollout(t, mini.NewDeploymentController, func(w *rolloutWorld) {
		w.create(deployment(3, recreate, deadline(60)))
		transition := w.condition(appsv1.DeploymentProgressing).LastTransitionTime
		time.Sleep(time.Hour)
		w.slowPods(0, time.Second)
		w.change(image("v2"))
		status := w.get().Status // while the old ReplicaSet has Pods
		require.EqualValues(w, 2, status.ObservedGeneration, "kubectl would show the status of the old template")
		require.Zero(w, status.UpdatedReplicas, "the Pods of the old template are not updated")
		time.Sleep(20 * time.Second)
		require.Equal(w, "True NewReplicaSetAvailable", w.progress())
		require.Equal(w, transition, w.condition(appsv1.DeploymentProgressing).LastTransitionTime,
			"the last rollout's deadline has passed, but not this one's")
	})
}

// Without a limit, ReplicaSets pile up; with a wrong one, there is nothing to roll back to.
//
// Function: Deployments.cleanupDeployment
func TestTheHistoryHasALimit(t *testing.T) {
	inRollout(t, mini.NewDeploymentController, func(w *rolloutWorld) {
		w.create(deployment(1, func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = new(int32(2)) }))
		for i := 2; i <= 4; i++ {
			w.change(image(fmt.Sprint("v", i)))
			time.Sleep(30 * time.Second)
		}
		require.Equal(w, map[string]int32{"v2": 0, "v3": 0, "v4": 1}, w.sizes(), "2 old ones, and the new one")
		w.change(image("v2")) // revision 5
		time.Sleep(30 * time.Second)
		w.change(image("v5"))
		time.Sleep(30 * time.Second)
		require.Equal(w, map[string]int32{"v2": 0, "v4": 0, "v5": 1}, w.sizes(), "it is the revision that counts, and not the age")

		w.change(image("bad"))
		time.Sleep(30 * time.Second)
		require.Len(w, w.sizes(), 4, "a rollout that's still running may have to be undone")
		w.change(func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit, d.Spec.Paused = new(int32(1)), true })
		time.Sleep(30 * time.Second)
		require.Equal(w, map[string]int32{"v5": 1, "bad": 1}, w.sizes(), "an old one with Pods counts as well")
		w.change(func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = new(int32(0)) })
		time.Sleep(30 * time.Second)
		require.Equal(w, map[string]int32{"v5": 1, "bad": 1}, w.sizes(), "a ReplicaSet with Pods stays")
	})
}

// A controller that wakes itself keeps the API server busy forever.
//
// Function: Deployments.syncDeploymentStatus
func TestADeploymentsStatusIsWrittenOnlyIfItDiffers(t *testing.T) {
	inRollout(t, mini.NewDeploymentController, func(w *rolloutWorld) {
		w.create(deployment(2))
		version := w.get().ResourceVersion
		w.Server.ForgetRequests()
		d := &mini.Deployments{Client: w.Manager.Client}
		for range 3 {
			_, err := d.Reconcile(w.ctx, web)
			require.NoError(w, err)
			synctest.Wait()
		}
		time.Sleep(time.Hour)
		require.Equal(w, version, w.get().ResourceVersion, "each write wakes the controller, which would write again")
		require.Zero(w, w.requestsTo("update", "deployments"), "each reconcile would cost the API server a write")
		w.change(func(d *appsv1.Deployment) { d.Annotations = nil })
		require.EqualValues(w, 1, mini.Revision(w.get()), "kubectl rollout status --revision reads it")
	})
}

// A status that stays old is a wrong one.
func TestAFailedStatusIsWrittenAgain(t *testing.T) {
	inRollout(t, mini.NewDeploymentController, func(w *rolloutWorld) {
		for _, match := range []fakeapi.Match{
			{Verb: "update", Resource: "deployments", Subresource: "status"}, {Verb: "delete", Resource: "replicasets"},
			{Verb: "create", Resource: "replicasets"},
		} {
			w.Server.Inject(fakeapi.Fault{Match: match, Times: 2, Status: fakeapi.Unavailable()})
		}
		w.create(deployment(2, func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = new(int32(0)) }))
		w.change(image("v2"))
		time.Sleep(time.Minute)
		require.Equal(w, "True NewReplicaSetAvailable", w.progress())
		require.Equal(w, map[string]int32{"v2": 2}, w.sizes())
		w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "update", Resource: "deployments", Subresource: "status"},
			Times: 1, Status: fakeapi.Unavailable(),
		})
		w.change(deadline(700)) // nothing else changes: no other event comes
		time.Sleep(time.Minute)
		require.Equal(w, w.get().Generation, w.get().Status.ObservedGeneration, "a refused status is written later")
		require.NoError(w, w.Other.AppsV1().Deployments("default").Delete(w.ctx, "web", metav1.DeleteOptions{}))
		d := &mini.Deployments{Client: w.Manager.Client}
		synctest.Wait()
		_, err := d.Reconcile(w.ctx, web)
		require.NoError(w, err)
	})
}

// A user deletes the Deployment while it is being reconciled: the log would show an error for each.
//
// Function: Deployments.syncDeploymentStatus
func TestADeploymentThatIsDeletedBeforeItsStatusIsWrittenIsNotAFailure(t *testing.T) {
	inRollout(t, mini.NewDeploymentController, func(w *rolloutWorld) {
		w.create(deployment(3))
		w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "update", Resource: "deployments", Subresource: "status"}, Status: notFound,
		})
		w.change(func(d *appsv1.Deployment) { d.Spec.Paused = true })
		synctest.Wait()
		deployments := &mini.Deployments{Client: w.Manager.Client}
		_, err := deployments.Reconcile(w.ctx, keyOfWeb)
		require.NoError(w, err)
	})
}

// byHand runs a test without controllers and kubelet: the test writes what the ReplicaSets
// report, and calls the Reconciler.
func byHand(t *testing.T, test func(w *rolloutWorld)) {
	t.Helper()
	inMemory(t, func(world *world) {
		w := &rolloutWorld{world: world, Manager: mini.NewManager(world.Cluster)}
		w.run(w.Manager.Run)
		test(w)
	})
}

// reconcile calls the Reconciler when the cache shows all.
func (w *rolloutWorld) reconcile() error {
	synctest.Wait()
	d := &mini.Deployments{Client: w.Manager.Client}
	_, err := d.Reconcile(w.ctx, web)
	return err
}

// report writes the status of the ReplicaSet with this image, and reconciles.
func (w *rolloutWorld) report(image string, replicas, ready, available int32) {
	w.Helper()
	rs := w.sets()[image]
	require.NotNil(w, rs, "there is no ReplicaSet of %s", image)
	rs.Status.ObservedGeneration, rs.Status.Replicas = rs.Generation, replicas
	rs.Status.ReadyReplicas, rs.Status.AvailableReplicas = ready, available
	_, err := w.Other.AppsV1().ReplicaSets(web.Namespace).UpdateStatus(w.ctx, rs, metav1.UpdateOptions{})
	require.NoError(w, err)
	require.NoError(w, w.reconcile())
}

// Otherwise a rollout that makes only one kind of progress would count as stuck.
//
// Function: progressingCondition
func TestProgressIsAnyOfFourChanges(t *testing.T) {
	byHand(t, func(w *rolloutWorld) {
		w.create(deployment(4, fenceposts("2", "0")))
		require.NoError(w, w.reconcile())
		w.report("v1", 4, 4, 4)
		w.change(image("v2"))
		require.NoError(w, w.reconcile())
		for _, step := range []struct {
			image                      string
			replicas, ready, available int32
			progress                   bool
			what                       string
		}{
			{"v2", 1, 0, 0, true, "there is a new Pod"},
			{"v2", 1, 0, 0, false, "all is as before"},
			{"v2", 1, 1, 0, true, "a Pod has become ready"},
			{"v2", 1, 1, 1, true, "a Pod has become available"},
			{"v1", 3, 3, 3, true, "there is an old Pod less"},
			{"v1", 3, 2, 2, false, "a Pod has failed"},
			{"v2", 0, 0, 0, false, "there is a new Pod less"},
		} {
			before := w.condition(appsv1.DeploymentProgressing).LastUpdateTime
			time.Sleep(10 * time.Second)
			w.report(step.image, step.replicas, step.ready, step.available)
			require.Equal(w, "True ReplicaSetUpdated", w.progress(), step.what)
			require.Equal(w, step.progress, before != w.condition(appsv1.DeploymentProgressing).LastUpdateTime,
				"whether the deadline moves: %s", step.what)
		}
	})
}

// A script would go on with a release that is half done, or would never go on.
//
// Function: deploymentComplete
func TestCompleteMeansThatAllNewPodsAreAvailableAndNoOldOnesAreLeft(t *testing.T) {
	byHand(t, func(w *rolloutWorld) {
		w.create(deployment(4, deadline(60)))
		require.NoError(w, w.reconcile())
		w.change(image("v2"))
		require.NoError(w, w.reconcile())
		w.report("v2", 2, 2, 2)
		require.Equal(w, "True ReplicaSetUpdated", w.progress(), "there are 2 of 4 Pods")
		w.report("v2", 4, 4, 3)
		require.Equal(w, "True ReplicaSetUpdated", w.progress(), "3 of 4 Pods are available")
		w.report("v1", 1, 1, 1)
		w.report("v2", 4, 4, 4)
		require.Equal(w, "True ReplicaSetUpdated", w.progress(), "an old Pod is left")
		w.report("v1", 0, 0, 0)
		require.Equal(w, "True NewReplicaSetAvailable", w.progress())
		complete := w.condition(appsv1.DeploymentProgressing)
		time.Sleep(time.Hour)
		w.report("v1", 1, 0, 0)
		require.Equal(w, complete, w.condition(appsv1.DeploymentProgressing), "a complete rollout has no deadline")
		w.report("v1", 1, 1, 0)
		require.Equal(w, "True ReplicaSetUpdated", w.progress(), "there are old Pods left, but it makes progress")

		w.report("v1", 0, 0, 0)
		d := w.get()
		d.Status.Conditions = nil
		_, err := w.Other.AppsV1().Deployments("default").UpdateStatus(w.ctx, d, metav1.UpdateOptions{})
		require.NoError(w, err)
		require.NoError(w, w.reconcile())
		require.Equal(w, "True ReplicaSetUpdated", w.progress(), "without an earlier condition, a rollout begins")
	})
}

// A negative number of Pods makes no sense, and a lost count makes the next name collide again.
//
// Function: deploymentStatus
func TestTheStatusCountsNoPodsBelowZeroAndKeepsTheCollisions(t *testing.T) {
	byHand(t, func(w *rolloutWorld) {
		w.create(deployment(4))
		require.NoError(w, w.reconcile())
		d := w.get()
		d.Status.CollisionCount = new(int32(3))
		_, err := w.Other.AppsV1().Deployments("default").UpdateStatus(w.ctx, d, metav1.UpdateOptions{})
		require.NoError(w, err)
		w.report("v1", 0, 0, 0)
		w.report("v1", 4, 3, 2)
		require.EqualValues(w, 2, w.get().Status.UnavailableReplicas)
		w.report("v1", 6, 6, 6)
		require.Zero(w, w.get().Status.UnavailableReplicas, "2 more Pods are available than the ReplicaSets want")
		require.Equal(w, new(int32(3)), w.get().Status.CollisionCount)
	})
}

// Its Pods would run on without an owner.
//
// Function: Deployments.cleanupDeployment
func TestAReplicaSetIsKeptUntilItsLastPodHasEnded(t *testing.T) {
	byHand(t, func(w *rolloutWorld) {
		w.create(deployment(1, fenceposts("1", "0"), func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = new(int32(0)) }))
		require.NoError(w, w.reconcile())
		w.report("v1", 0, 0, 0)
		w.report("v1", 1, 1, 1)
		w.change(image("v2"))
		require.NoError(w, w.reconcile())
		w.report("v2", 0, 0, 0)
		w.report("v2", 1, 1, 1)
		require.Equal(w, map[string]int32{"v1": 0, "v2": 1}, w.sizes())
		w.change(pause(true))
		w.report("v1", 1, 0, 0)
		require.Len(w, w.sizes(), 2, "a ReplicaSet of size 0 has a Pod left")
		w.report("v1", 0, 0, 0)
		require.Equal(w, map[string]int32{"v2": 1}, w.sizes())
	})
}

// An error that isn't returned isn't retried.
//
// Function: Deployments.Reconcile
func TestEachFailureOfADeploymentIsReported(t *testing.T) {
	for _, match := range []fakeapi.Match{
		{Verb: "patch", Resource: "replicasets"}, {Verb: "create", Resource: "replicasets"},
		{Verb: "delete", Resource: "replicasets"}, {Verb: "update", Resource: "deployments", Subresource: "status"},
	} {
		byHand(t, func(w *rolloutWorld) {
			w.create(deployment(0, func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = new(int32(0)) }))
			require.NoError(w, w.reconcile())
			w.report("v1", 0, 0, 0)
			w.orphan("v0", 0)
			lift := w.Server.Inject(fakeapi.Fault{Match: match, Status: fakeapi.Forbidden()})
			w.change(image("v2"))
			var errs []error
			for range 3 {
				errs = append(errs, w.reconcile())
			}
			require.Error(w, errors.Join(errs...), "%s of %s was refused", match.Verb, match.Resource)
			lift()
			require.NoError(w, w.reconcile())
		})
	}
}

// One Deployment whose ReplicaSet is created slowly must not keep the others waiting.
func TestFiveDeploymentsAreReconciledAtTheSameTime(t *testing.T) {
	inRollout(t, mini.NewDeploymentController, func(w *rolloutWorld) {
		w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "create", Resource: "replicasets"}, Delay: time.Second})
		for i := range 7 {
			d := deployment(1)
			d.Name = fmt.Sprint("web-", i)
			_, err := w.Other.AppsV1().Deployments("default").Create(w.ctx, d, metav1.CreateOptions{})
			require.NoError(w, err)
		}
		for _, created := range []int{5, 7} {
			time.Sleep(1500 * time.Millisecond)
			list, err := w.Other.AppsV1().ReplicaSets("default").List(w.ctx, metav1.ListOptions{})
			require.NoError(w, err)
			require.Len(w, list.Items, created, "each of five workers creates one in a second")
		}
	})
}

// A user creates a Deployment, and does not want it to start yet.
//
// Function: progressingCondition
func TestADeploymentThatIsPausedFromTheBeginningSaysSo(t *testing.T) {
	inRollout(t, mini.NewDeploymentController, func(w *rolloutWorld) {
		w.create(deployment(1, pause(true)))
		require.Equal(w, "Unknown DeploymentPaused", w.progress())
		require.Empty(w, w.sets())
	})
}

// A Pod may outlive its ReplicaSet by an hour.
func TestTheEndOfAPodWhoseReplicaSetWasDeletedConcernsNoDeployment(t *testing.T) {
	inRollout(t, mini.NewDeploymentController, func(w *rolloutWorld) {
		w.create(deployment(1))
		pod := w.world.orphan(replicaSet("other", 0), "late")
		w.changePod(pod, func(pod *corev1.Pod) {
			pod.OwnerReferences = []metav1.OwnerReference{controllerRef("gone", "uid-of-gone")}
		})
		w.deletePod(pod)
		w.change(image("v2"))
		time.Sleep(time.Minute)
		require.Equal(w, map[string]int{"v2": 1}, w.ready())
	})
}

// Without one of its watches, the controller would miss what it has to do, and no error would say so.
func TestTheDeploymentControllerNeedsAllItsKinds(t *testing.T) {
	inMemory(t, func(w *world) {
		d, rs, pod := &appsv1.Deployment{}, &appsv1.ReplicaSet{}, &corev1.Pod{}
		_, err := mini.NewDeploymentController(w.withKinds(d, rs, pod))
		require.NoError(w, err)
		for _, kinds := range [][]runtime.Object{{rs, pod}, {d, pod}, {d, rs}} {
			_, err := mini.NewDeploymentController(w.withKinds(kinds...))
			require.Error(w, err, "the scheme has two of three kinds")
		}
	})
}

// adopted waits, and returns the ReplicaSets that Deployments own, by their name.
func (w *rolloutWorld) adopted(wait time.Duration) map[string]string {
	w.Helper()
	time.Sleep(wait)
	synctest.Wait()
	list, err := w.Other.AppsV1().ReplicaSets("default").List(w.ctx, metav1.ListOptions{})
	require.NoError(w, err)
	owners := map[string]string{}
	for _, rs := range list.Items {
		if owner := metav1.GetControllerOf(&rs); owner != nil {
			owners[rs.Name] = owner.Name
		}
	}
	return owners
}

// relabelSet changes the labels of a ReplicaSet, as a user does with kubectl.
func (w *rolloutWorld) relabelSet(name string, labels map[string]string) {
	w.Helper()
	w.changeReplicaSet(name, func(rs *appsv1.ReplicaSet) { rs.Labels = labels })
}

// Its Pods serve, nobody counts them, and the next rollout doesn't replace them.
func TestAnOrphanedReplicaSetThatComesLaterIsAdoptedAndItsExtraPodsGo(t *testing.T) {
	inRollout(t, mini.NewDeploymentController, func(w *rolloutWorld) {
		w.create(deployment(3))
		time.Sleep(time.Hour) // the alarm of the progress deadline has rung, and sets no other
		w.orphan("v0", 3)
		require.Contains(w, w.adopted(time.Minute), "v0", "it matches the Deployment's selector")
		require.Equal(w, map[string]int32{"v0": 0, "v1": 3}, w.sizes())
		require.Equal(w, map[string]int{"v1": 3}, w.ready(), "three extra Pods stay forever")
	})
}

// A user removes a ReplicaSet by changing a label, inspects its Pods, and puts it back.
func TestAReplicaSetThatIsRelabelledIsReleasedAndThenAdoptedAgain(t *testing.T) {
	inRollout(t, mini.NewDeploymentController, func(w *rolloutWorld) {
		w.create(deployment(3))
		first := w.sets()["v1"]
		time.Sleep(time.Hour)
		w.relabelSet(first.Name, map[string]string{"app": "debug"})
		owners := w.adopted(time.Minute)
		require.NotContains(w, owners, first.Name, "the garbage collector would delete it with the Deployment")
		require.Len(w, owners, 1, "another one takes its place")
		require.Equal(w, map[string]int{"v1": 6}, w.ready(), "and the user can look into the three old Pods")

		time.Sleep(time.Hour)
		w.relabelSet(first.Name, first.Labels)
		require.Len(w, w.adopted(time.Minute), 2, "both are the Deployment's")
		require.Equal(w, map[string]int{"v1": 3}, w.ready(), "three extra Pods stay forever")
		require.EqualValues(w, 3, w.get().Status.UpdatedReplicas)
	})
}

// Two owners would scale one ReplicaSet up and down in turn.
func TestOfTwoDeploymentsThatMatchAReplicaSetOneAdoptsItAndTheOtherLeavesItAlone(t *testing.T) {
	inRollout(t, mini.NewDeploymentController, func(w *rolloutWorld) {
		w.create(deployment(1))
		rival := deployment(1, image("v2"))
		rival.Name = "rival"
		w.create(rival)
		time.Sleep(time.Hour)
		w.orphan("v0", 3)
		owner := w.adopted(time.Minute)["v0"]
		require.NotEmpty(w, owner, "both wake, and one of them wins")
		require.Equal(w, map[string]int{"v1": 1, "v2": 1}, w.ready(), "each has its own Pods, and no other")

		// kubectl delete --cascade=orphan of the winner
		require.NoError(w, w.Other.AppsV1().Deployments("default").Delete(w.ctx, owner, metav1.DeleteOptions{}))
		synctest.Wait()
		for name, of := range w.adopted(0) {
			if of == owner {
				w.changeReplicaSet(name, func(rs *appsv1.ReplicaSet) { rs.OwnerReferences = nil })
			}
		}
		owners := w.adopted(time.Minute)
		require.Len(w, owners, 3)
		require.NotContains(w, slices.Collect(maps.Values(owners)), owner, "the other one takes them over")
		synctest.Wait()
		total := 0
		for _, n := range w.ready() {
			total += n
		}
		require.Equal(w, 1, total, "and keeps the one Pod that its user wants")
	})
}

// The garbage collector would delete what it adopts.
func TestADeploymentThatIsBeingDeletedAdoptsNoReplicaSet(t *testing.T) {
	for _, lag := range []time.Duration{0, time.Minute} { // until the cache shows the deletion
		inRollout(t, mini.NewDeploymentController, func(w *rolloutWorld) {
			w.slowWatch("deployments", lag)
			w.create(deployment(1, func(d *appsv1.Deployment) { d.Finalizers = []string{"example.com/wait"} }))
			time.Sleep(time.Hour)
			first := w.sets()["v1"]
			require.NoError(w, w.Other.AppsV1().Deployments("default").Delete(w.ctx, "web", metav1.DeleteOptions{}))
			w.orphan("v0", 1)
			for range 4 {
				require.Equal(w, map[string]string{first.Name: "web"}, w.adopted(30*time.Second), "lag %s", lag)
			}
		})
	}
}

// With the UID of the old Deployment as its owner, the ReplicaSet would be deleted as
// garbage.
func TestADeploymentThatHasBeenReplacedAdoptsNothingUnderItsOldUID(t *testing.T) {
	inRollout(t, mini.NewDeploymentController, func(w *rolloutWorld) {
		w.slowWatch("deployments", time.Minute)
		w.create(deployment(1))
		time.Sleep(time.Hour)
		require.NoError(w, w.Other.AppsV1().Deployments("default").Delete(w.ctx, "web", metav1.DeleteOptions{}))
		w.create(deployment(1)) // takes 20 seconds
		w.orphan("v0", 1)
		require.NotContains(w, w.adopted(10*time.Second), "v0", "the cache still shows the old Deployment")
		require.Equal(w, "web", w.adopted(time.Hour)["v0"])
		require.True(w, metav1.IsControlledBy(w.replicaSet("v0"), w.get()))
	})
}

// A user scales an old ReplicaSet up to look into the bug that it has.
//
// Function: Deployments.cleanupDeployment
func TestAnOldReplicaSetThatIsScaledUpAtThatMomentIsNotCleanedUp(t *testing.T) {
	inRollout(t, mini.NewDeploymentController, func(w *rolloutWorld) {
		w.slowWatch("replicasets", time.Minute)
		w.create(deployment(1))
		time.Sleep(time.Hour)
		w.change(image("v2"))
		time.Sleep(time.Hour)
		old := w.sets()["v1"]
		require.Zero(w, *old.Spec.Replicas)
		w.changeReplicaSet(old.Name, func(rs *appsv1.ReplicaSet) { rs.Spec.Replicas = new(int32(1)) })
		w.change(func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = new(int32(0)) })
		time.Sleep(time.Second)
		require.Contains(w, w.sizes(), "v1", "its Pod would be deleted without a rollout, or stay without an owner")
	})
}

// The API server refuses to delete an old ReplicaSet that has just changed. Whoever swallows that error never tries again: nothing else
// wakes the controller.
//
// Function: Deployments.Reconcile
func TestAConflictOfTheCleanUpIsReturned(t *testing.T) {
	quiet(t)
	inRollout(t, mini.NewDeploymentController, func(w *rolloutWorld) {
		w.create(deployment(1))
		w.change(image("v2"))
		time.Sleep(time.Minute)
		w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "delete", Resource: "replicasets"}, Status: fakeapi.Conflict(),
		})
		w.change(func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = new(int32(0)) })
		synctest.Wait()
		_, err := (&mini.Deployments{Client: w.Manager.Client}).Reconcile(w.ctx, web)
		require.True(w, apierrors.IsConflict(err), "%v", err)
	})
}
