package mini_test

import (
	"context"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/mini"
)

// runReplicaSets runs the controller in a manager, as a program does. To stop the manager
// before the test ends is to kill the process: what it knew is gone.
func (w *world) runReplicaSets() (manager *mini.Manager, kill func()) {
	w.Helper()
	manager = mini.NewManager(w.Cluster)
	c, err := mini.NewReplicaSetController(manager)
	require.NoError(w, err)
	manager.AddController(c)
	ctx, stop := context.WithCancel(w.ctx)
	ended := make(chan struct{})
	w.run(func(context.Context) error {
		defer close(ended)
		return manager.Run(ctx)
	})
	return manager, func() {
		stop()
		<-ended
	}
}

// requests is how many requests the controller has sent since ForgetRequests.
func (w *world) podRequests(verb, resource, subresource string) int {
	w.Helper()
	synctest.Wait()
	return len(w.Server.Requests(fakeapi.Match{Verb: verb, Resource: resource, Subresource: subresource}))
}

// quota refuses all Pods from now on.
func (w *world) quota() (lift func()) {
	return w.Server.Inject(fakeapi.Fault{
		Match: fakeapi.Match{Verb: "create", Resource: "pods"}, Status: fakeapi.Forbidden(),
	})
}

func (w *world) scale(name string, replicas int32) {
	w.Helper()
	w.changeReplicaSet(name, func(rs *appsv1.ReplicaSet) { rs.Spec.Replicas = &replicas })
}

// ready is what the kubelet does when a Pod runs.
func (w *world) ready(pod *corev1.Pod) *corev1.Pod {
	w.Helper()
	return w.changePodStatus(pod, func(pod *corev1.Pod) {
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()},
		}
	})
}

// Level 1: count and create.

func TestEveryReplicaSetGetsThePodsThatItAsksFor(t *testing.T) {
	inMemory(t, func(w *world) {
		w.createReplicaSet(replicaSet("before", 2))
		w.runReplicaSets()
		w.createReplicaSet(replicaSet("web", 5))
		require.Len(w, names(w.pods()), 7, "two for before, which was there before the controller, and five for web")
		for _, pod := range w.pods() {
			require.NotNil(w, metav1.GetControllerOf(pod), "the garbage collector has to know whose Pod %s is", pod.Name)
		}
		w.scale("before", 0)
		for _, replicas := range []int32{3, 4, 0, 2} {
			w.scale("web", replicas)
			require.Len(w, names(w.pods()), int(replicas), "Pods after scaling")
		}
	})
}

func TestPodsThatAreGoneEndingOrFinishedAreReplaced(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runReplicaSets()
		w.createReplicaSet(replicaSet("web", 4))
		pods := w.pods()
		w.deletePod(pods[0])
		require.Len(w, names(w.pods()), 4, "a Pod was deleted")
		w.deletePod(w.bind(pods[1], "node")) // a kubelet has to end it
		require.Len(w, names(w.pods()), 4, "a Pod is ending")
		for i, phase := range []corev1.PodPhase{corev1.PodFailed, corev1.PodSucceeded} {
			w.changePodStatus(pods[2+i], func(pod *corev1.Pod) { pod.Status.Phase = phase })
			require.Len(w, names(w.pods()), 5+i, "a Pod has %s: another takes its place, and it stays for the user to see", phase)
		}
		w.scale("web", 0)
		require.Equal(w, []string{pods[2].Name, pods[3].Name}, names(w.pods()),
			"finished Pods neither count nor have to go")
	})
}

func TestAReplicaSetThatIsBeingDeletedCreatesNothingAndSaysWhatItHas(t *testing.T) {
	inMemory(t, func(w *world) {
		manager, _ := w.runReplicaSets()
		rs := replicaSet("web", 3)
		rs.Finalizers = []string{"example.com/wait"}
		w.createReplicaSet(rs)
		require.Len(w, names(w.pods()), 3)
		err := w.Other.AppsV1().ReplicaSets("default").Delete(w.ctx, "web", metav1.DeleteOptions{})
		require.NoError(w, err)
		w.deletePod(w.pods()[0])
		require.Len(w, names(w.pods()), 2, "the garbage collector deletes Pods: new ones would never end")
		require.EqualValues(w, 2, w.replicaSet("web").Status.Replicas)
		w.scale("web", 1)
		require.Len(w, names(w.pods()), 2, "which Pods go is the garbage collector's business now")

		w.changeReplicaSet("web", func(rs *appsv1.ReplicaSet) { rs.Finalizers = nil })
		require.Len(w, names(w.pods()), 2)
		_, err = (&mini.ReplicaSets{Client: manager.Client}).Reconcile(w.ctx,
			mini.Request{Namespace: "default", Name: "web"})
		require.NoError(w, err, "a ReplicaSet that is gone is the normal end, not a failure")
	})
}

func TestTheStatusSaysHowManyPodsThereAre(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runReplicaSets()
		rs := replicaSet("web", 4)
		rs.Spec.Template.Labels = map[string]string{"app": "web", "track": "stable"}
		w.createReplicaSet(rs)
		pods := w.pods()
		w.ready(pods[0])
		w.ready(pods[1])
		w.changePod(pods[2], func(pod *corev1.Pod) { delete(pod.Labels, "track") })
		require.Equal(w, appsv1.ReplicaSetStatus{
			Replicas: 4, FullyLabeledReplicas: 3, ReadyReplicas: 2, AvailableReplicas: 2,
			TerminatingReplicas: new(int32(0)), ObservedGeneration: 1,
		}, w.replicaSet("web").Status)

		w.changePodStatus(w.pods()[0], func(pod *corev1.Pod) {
			pod.Status.Conditions[0].Status = corev1.ConditionFalse
		})
		w.deletePod(w.bind(pods[3], "node"))
		w.scale("web", 5)
		require.Equal(w, appsv1.ReplicaSetStatus{
			Replicas: 5, FullyLabeledReplicas: 4, ReadyReplicas: 1, AvailableReplicas: 1,
			TerminatingReplicas: new(int32(1)), ObservedGeneration: 2,
		}, w.replicaSet("web").Status)
	})
}

func TestAPodIsAvailableWhenItHasBeenReadyForLongEnough(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runReplicaSets()
		rs := replicaSet("web", 3)
		rs.Spec.MinReadySeconds = 60
		w.createReplicaSet(rs)
		available := func() int32 { return w.replicaSet("web").Status.AvailableReplicas }
		pods := w.pods()
		w.ready(pods[1])
		time.Sleep(20 * time.Second)
		w.ready(pods[2])
		w.ready(pods[0])
		require.EqualValues(w, 3, w.replicaSet("web").Status.ReadyReplicas)
		time.Sleep(39 * time.Second)
		require.EqualValues(w, 0, available(), "no Pod has been ready for a minute")
		time.Sleep(2 * time.Second)
		require.EqualValues(w, 1, available(), "one Pod has been ready for a minute, and no watch shows that")
		time.Sleep(20 * time.Second)
		require.EqualValues(w, 3, available())
		w.Server.ForgetRequests()
		time.Sleep(10 * time.Minute)
		require.Zero(w, w.podRequests("update", "replicasets", "status"), "nothing happens any more")
	})
}

func TestAReconcileAsksToComeBackWhenTheNextPodIsAvailable(t *testing.T) {
	inMemory(t, func(w *world) {
		cache := mini.NewCache(w.Cluster)
		w.run(cache.Run)
		sets := &mini.ReplicaSets{Client: mini.NewCachedClient(cache)}
		rs := replicaSet("web", 3)
		rs.Spec.MinReadySeconds = 60
		w.createReplicaSet(rs)
		after := func() time.Duration {
			synctest.Wait()
			result, err := sets.Reconcile(w.ctx, mini.KeyOf(rs))
			require.NoError(w, err)
			return result.RequeueAfter
		}
		require.Zero(w, after(), "no Pod is ready: an event will come first")
		pods := w.pods()
		w.ready(pods[1])
		time.Sleep(20 * time.Second)
		w.ready(pods[0])
		w.ready(pods[2])
		require.Equal(w, 40*time.Second, after())
		time.Sleep(50 * time.Second)
		require.Equal(w, 10*time.Second, after(), "the first Pod is available: the next ones count")
		time.Sleep(10 * time.Second)
		require.Zero(w, after(), "all are available")
	})
}

func TestAStatusIsWrittenOnlyIfItDiffers(t *testing.T) {
	inMemory(t, func(w *world) {
		manager, _ := w.runReplicaSets()
		w.createReplicaSet(replicaSet("web", 2))
		w.ready(w.pods()[0])
		version := w.replicaSet("web").ResourceVersion
		sets := &mini.ReplicaSets{Client: manager.Client}
		for range 3 {
			_, err := sets.Reconcile(w.ctx, mini.Request{Namespace: "default", Name: "web"})
			require.NoError(w, err)
		}
		require.Equal(w, version, w.replicaSet("web").ResourceVersion)
		w.Server.ForgetRequests()
		time.Sleep(time.Hour)
		require.Zero(w, w.podRequests("update", "", ""), "each write is an event, and asks for the next reconcile")
	})
}

func TestTheLeastUsefulPodsGoFirst(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runReplicaSets()
		w.createReplicaSet(replicaSet("web", 4))
		pods := w.pods()
		w.ready(w.bind(pods[1], "node"))
		w.ready(w.bind(pods[3], "other"))
		w.scale("web", 2)
		require.Equal(w, []string{pods[1].Name, pods[3].Name}, names(w.pods()), "the Pods that serve have to stay")
	})
}

func TestPodsAreDeletedInParallel(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runReplicaSets()
		w.createReplicaSet(replicaSet("web", 20))
		require.Len(w, names(w.pods()), 20)
		w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "delete", Resource: "pods"}, Delay: time.Second,
		})
		w.scale("web", 0)
		time.Sleep(1500 * time.Millisecond)
		require.Empty(w, names(w.pods()), "twenty deletions of a second each")
	})
}

// Level 2: a stale cache makes eleven of ten.

func TestTenPodsAreTenAlthoughTheControllersWatchIsSlow(t *testing.T) {
	inMemory(t, func(w *world) {
		w.slowWatch("pods", time.Second)
		w.runReplicaSets()
		w.createReplicaSet(replicaSet("web", 9))
		for i := range 20 {
			time.Sleep(100 * time.Millisecond)
			w.changeReplicaSet("web", func(rs *appsv1.ReplicaSet) {
				rs.Annotations = map[string]string{"change": strconv.Itoa(i)}
				rs.Spec.Replicas = new(int32(10))
			})
			require.LessOrEqual(w, len(w.pods()), 10, "the controller did not see its own Pods")
		}
		time.Sleep(time.Minute)
		require.Len(w, names(w.pods()), 10)
	})
}

func TestTenPodsAreNotNineAlthoughTheControllersWatchIsSlow(t *testing.T) {
	inMemory(t, func(w *world) {
		w.slowWatch("pods", time.Second)
		w.runReplicaSets()
		w.createReplicaSet(replicaSet("web", 15))
		time.Sleep(time.Minute)
		for _, pod := range w.pods() {
			w.ready(w.bind(pod, "node")) // now each deletion takes time
		}
		time.Sleep(time.Minute)
		w.scale("web", 10)
		for i := range 20 {
			time.Sleep(100 * time.Millisecond)
			w.changeReplicaSet("web", func(rs *appsv1.ReplicaSet) {
				rs.Annotations = map[string]string{"change": strconv.Itoa(i)}
			})
			require.GreaterOrEqual(w, len(w.pods()), 10, "the controller did not see its own deletions")
		}
		time.Sleep(time.Minute)
		require.Len(w, names(w.pods()), 10)
	})
}

func TestAProcessThatIsKilledInTheMiddleIsFollowedByOneThatCreatesTheRest(t *testing.T) {
	for _, killedAfter := range []time.Duration{0, 50 * time.Millisecond, 350 * time.Millisecond, 400 * time.Millisecond} {
		t.Run(killedAfter.String(), func(t *testing.T) {
			inMemory(t, func(w *world) {
				w.Server.Inject(fakeapi.Fault{
					Match: fakeapi.Match{Verb: "create", Resource: "pods"}, Delay: 100 * time.Millisecond,
				})
				w.slowWatch("pods", 30*time.Millisecond)
				_, kill := w.runReplicaSets()
				w.createReplicaSet(replicaSet("web", 20))
				time.Sleep(killedAfter)
				kill()
				before := len(w.pods())
				require.Less(w, before, 20, "the test wants to kill it in the middle")
				time.Sleep(time.Second) // the requests that were under way have ended
				w.Server.ForgetRequests()
				w.runReplicaSets()
				time.Sleep(time.Minute)
				require.Len(w, names(w.pods()), 20)
				require.Zero(w, w.podRequests("delete", "pods", ""), "there was a Pod too many")
			})
		})
	}
}

func TestAPodThatAnotherProcessDeletesAtTheSameTimeIsNoFailure(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runReplicaSets()
		w.createReplicaSet(replicaSet("web", 3))
		require.Len(w, names(w.pods()), 3)
		w.Server.Inject(fakeapi.Fault{ // the controller's deletions arrive late
			Match: fakeapi.Match{Verb: "delete", Resource: "pods"}, Times: 3, Delay: time.Second,
		})
		pods := w.pods()
		w.scale("web", 0)
		synctest.Wait()
		w.deletePod(pods[0])
		w.deletePod(pods[1])
		_, err := w.Other.CoreV1().Pods("default").Create(w.ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: pods[1].Name}, Spec: pods[1].Spec,
		}, metav1.CreateOptions{})
		require.NoError(w, err)
		time.Sleep(time.Minute)
		require.Equal(w, []string{pods[1].Name}, names(w.pods()), "another Pod has the name, and is not ours to delete")
		require.Empty(w, w.replicaSet("web").Status.Conditions, "a Pod that is gone is what we wanted")
		require.Zero(w, w.replicaSet("web").Status.Replicas)
	})
}

// Level 3: a quota refuses five hundred, so start slowly.

func TestFiveHundredRefusedPodsAreOneRequest(t *testing.T) {
	inMemory(t, func(w *world) {
		w.quota()
		cache := mini.NewCache(w.Cluster)
		w.run(cache.Run)
		sets := &mini.ReplicaSets{Client: mini.NewCachedClient(cache)}
		rs := w.createReplicaSet(replicaSet("web", 500))
		w.Server.ForgetRequests()
		_, err := sets.Reconcile(w.ctx, mini.KeyOf(rs))
		require.Error(w, err, "the controller has to try again, later each time")
		require.Equal(w, 1, w.podRequests("create", "pods", ""), "the quota that refuses one Pod refuses 500")
	})
}

func TestCreationsDoubleAndEndWithTheBatchThatFails(t *testing.T) {
	inMemory(t, func(w *world) {
		cache := mini.NewCache(w.Cluster)
		w.run(cache.Run)
		sets := &mini.ReplicaSets{Client: mini.NewCachedClient(cache)}
		w.Server.Inject(fakeapi.Fault{ // the fifth one is refused, in the batch of 4th to 7th
			Match: fakeapi.Match{Verb: "create", Resource: "pods"}, Skip: 4, Times: 1, Status: fakeapi.Forbidden(),
		})
		w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "create", Resource: "pods"}, Delay: time.Second,
		})
		rs := w.createReplicaSet(replicaSet("web", 40))
		began := time.Now()
		_, err := sets.Reconcile(w.ctx, mini.KeyOf(rs))
		require.Error(w, err)
		require.Equal(w, 3*time.Second, time.Since(began), "batches of 1, 2 and 4, each of a second")
		require.Equal(w, 1+2+4, w.podRequests("create", "pods", ""))
		require.Len(w, names(w.pods()), 1+2+3)
		began = time.Now()
		_, err = sets.Reconcile(w.ctx, mini.KeyOf(rs))
		require.NoError(w, err)
		require.Equal(w, 6*time.Second, time.Since(began), "34 Pods: 1, 2, 4, 8, 16 and the last 3")
		require.Len(w, names(w.pods()), 40)
	})
}

func TestOneReconcileCreatesAndDeletesNoMoreThanTheBurst(t *testing.T) {
	inMemory(t, func(w *world) {
		cache := mini.NewCache(w.Cluster)
		w.run(cache.Run)
		sets := &mini.ReplicaSets{Client: mini.NewCachedClient(cache), Burst: 10}
		reconcile := func(want int, why string) {
			w.Helper()
			synctest.Wait()
			_, err := sets.Reconcile(w.ctx, mini.Request{Namespace: "default", Name: "web"})
			require.NoError(w, err)
			require.Len(w, names(w.pods()), want, why)
		}
		w.createReplicaSet(replicaSet("web", 13))
		reconcile(10, "one huge ReplicaSet must not keep a worker from all others")
		reconcile(13, "the rest")
		w.scale("web", 1)
		reconcile(3, "10 are deleted")
		reconcile(1, "the rest")
	})
}

func TestTheBurstIsFiveHundred(t *testing.T) {
	inMemory(t, func(w *world) {
		rs := w.createReplicaSet(replicaSet("web", 0))
		for i := range 503 {
			_, err := w.Server.Load(corev1.SchemeGroupVersion.WithResource("pods"), &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: "default", Name: "web-" + strconv.Itoa(i), Labels: rs.Spec.Template.Labels,
					OwnerReferences: []metav1.OwnerReference{controllerRef("web", string(rs.UID))},
				},
			})
			require.NoError(w, err)
		}
		w.Server.Inject(fakeapi.Fault{ // the deletions are counted and not carried out
			Match:  fakeapi.Match{Verb: "delete", Resource: "pods"},
			Status: &metav1.Status{Status: "Failure", Code: 404, Reason: metav1.StatusReasonNotFound},
		})
		cache := mini.NewCache(w.Cluster)
		w.run(cache.Run)
		_, err := (&mini.ReplicaSets{Client: mini.NewCachedClient(cache)}).Reconcile(w.ctx, mini.KeyOf(rs))
		require.NoError(w, err)
		require.Equal(w, 500, w.podRequests("delete", "pods", ""))
	})
}

func TestThePodsBeyondTheBurstFollow(t *testing.T) {
	inMemory(t, func(w *world) {
		manager := mini.NewManager(w.Cluster)
		c, err := mini.NewReplicaSetController(manager)
		require.NoError(w, err)
		c.Reconciler = &mini.ReplicaSets{Client: manager.Client, Burst: 5}
		manager.AddController(c)
		w.run(manager.Run)
		w.createReplicaSet(replicaSet("web", 23))
		require.Len(w, names(w.pods()), 23)
		w.scale("web", 0)
		require.Empty(w, names(w.pods()))
	})
}

func TestAQuotaShowsInTheStatusUntilItIsLifted(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runReplicaSets()
		lift := w.quota()
		w.createReplicaSet(replicaSet("web", 3))
		time.Sleep(100 * time.Millisecond)
		conditions := w.replicaSet("web").Status.Conditions
		require.Len(w, conditions, 1, "kubectl describe shows it: nothing else says why there are no Pods")
		require.Equal(w, appsv1.ReplicaSetReplicaFailure, conditions[0].Type)
		require.Equal(w, corev1.ConditionTrue, conditions[0].Status)
		require.Equal(w, "FailedCreate", conditions[0].Reason)
		require.Contains(w, conditions[0].Message, "forbidden", "the API server's own words")
		require.WithinDuration(w, time.Now(), conditions[0].LastTransitionTime.Time, 2*time.Second)
		version := w.replicaSet("web").ResourceVersion
		time.Sleep(10 * time.Second)
		require.Equal(w, version, w.replicaSet("web").ResourceVersion, "the same failure again is no news")
		lift()
		time.Sleep(time.Hour)
		require.Len(w, names(w.pods()), 3)
		require.Empty(w, w.replicaSet("web").Status.Conditions)
	})
}

func TestARefusedDeletionShowsInTheStatusAndIsTriedAgain(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runReplicaSets()
		w.createReplicaSet(replicaSet("web", 3))
		require.Len(w, names(w.pods()), 3)
		other := appsv1.ReplicaSetCondition{Type: "Other", Status: corev1.ConditionTrue}
		rs := w.replicaSet("web")
		rs.Status.Conditions = []appsv1.ReplicaSetCondition{other}
		_, err := w.Other.AppsV1().ReplicaSets("default").UpdateStatus(w.ctx, rs, metav1.UpdateOptions{})
		require.NoError(w, err)
		lift := w.Server.Inject(fakeapi.Fault{
			Match:  fakeapi.Match{Verb: "delete", Resource: "pods", Name: w.pods()[1].Name},
			Status: fakeapi.Forbidden(),
		})
		w.scale("web", 0)
		time.Sleep(100 * time.Millisecond)
		require.Len(w, names(w.pods()), 1, "the other two need not wait for it")
		conditions := w.replicaSet("web").Status.Conditions
		require.Len(w, conditions, 2)
		require.Equal(w, "FailedDelete", conditions[1].Reason)
		lift()
		time.Sleep(time.Hour)
		require.Empty(w, names(w.pods()))
		require.Equal(w, []appsv1.ReplicaSetCondition{other}, w.replicaSet("web").Status.Conditions,
			"a condition of another type is another program's")
	})
}

func TestAFailureToWriteTheStatusIsAnErrorAndPodsAreCreatedAllTheSame(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runReplicaSets()
		w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "update", Resource: "replicasets", Subresource: "status"},
			Times: 3, Status: fakeapi.Conflict(),
		})
		w.createReplicaSet(replicaSet("web", 3))
		require.Len(w, names(w.pods()), 3)
		time.Sleep(time.Minute)
		require.EqualValues(w, 3, w.replicaSet("web").Status.Replicas)
	})
}

// Level 4: strangers' and orphaned Pods, so adopt and release.

// orphan creates a Pod of the template, without an owner.
func (w *world) orphan(rs *appsv1.ReplicaSet, name string) *corev1.Pod {
	w.Helper()
	pod, err := w.Other.CoreV1().Pods("default").Create(w.ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: rs.Spec.Template.Labels},
		Spec:       rs.Spec.Template.Spec,
	}, metav1.CreateOptions{})
	require.NoError(w, err)
	return pod
}

func TestOrphansThatMatchAreAdoptedInPlaceOfNewPods(t *testing.T) {
	inMemory(t, func(w *world) {
		rs := replicaSet("web", 3)
		w.orphan(rs, "a")
		w.orphan(rs, "b")
		failed := w.orphan(rs, "failed")
		w.changePodStatus(failed, func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed })
		w.runReplicaSets()
		rs = w.createReplicaSet(rs)
		pods := w.pods()
		require.Len(w, names(pods), 4, "two that were there, one that has failed, and one that is new")
		require.True(w, metav1.IsControlledBy(pods[0], rs))
		require.True(w, metav1.IsControlledBy(pods[1], rs))
		require.Empty(w, pods[2].OwnerReferences, "a Pod that has failed does not count, so nothing is won")
	})
}

func TestAnOrphanThatComesLaterIsAdoptedAndOneTooManyGoes(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runReplicaSets()
		rs := w.createReplicaSet(replicaSet("web", 2))
		w.createReplicaSet(replicaSet("other", 1))
		old := w.pods()
		for _, pod := range old {
			w.ready(w.bind(pod, "node-of-"+pod.Name))
		}
		pod, err := w.Other.CoreV1().Pods("default").Create(w.ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "late"}, Spec: rs.Spec.Template.Spec,
		}, metav1.CreateOptions{})
		require.NoError(w, err)
		require.Len(w, names(w.pods()), 4, "a Pod without labels concerns no ReplicaSet")
		w.changePod(pod, func(pod *corev1.Pod) { pod.Labels = rs.Spec.Template.Labels })
		require.Equal(w, names(old), names(w.pods()), "the ReplicaSet got a third Pod, and the least useful one goes")
	})
}

func TestAPodThatLosesItsLabelIsReleasedAndReplaced(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runReplicaSets()
		w.createReplicaSet(replicaSet("web", 3))
		debugged := w.changePod(w.pods()[1], func(pod *corev1.Pod) { pod.Labels["app"] = "debug" })
		pods := w.pods()
		require.Len(w, names(pods), 4, "a user takes a Pod out by a label, to look into it: another one takes its place")
		i := slices.IndexFunc(pods, func(pod *corev1.Pod) bool { return pod.UID == debugged.UID })
		require.Empty(w, pods[i].OwnerReferences, "it must not be deleted with the ReplicaSet")
		w.scale("web", 0)
		require.Equal(w, []string{debugged.Name}, names(w.pods()))
	})
}

func TestStrangersPodsAreNeitherCountedNorDeleted(t *testing.T) {
	inMemory(t, func(w *world) {
		rs := replicaSet("web", 2)
		stranger := w.orphan(rs, "stranger")
		stranger = w.changePod(stranger, func(pod *corev1.Pod) {
			pod.OwnerReferences = []metav1.OwnerReference{controllerRef("web", "uid-of-an-earlier-web")}
		})
		_, err := w.Other.CoreV1().Pods("kube-system").Create(w.ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "far", Labels: rs.Spec.Template.Labels}, Spec: rs.Spec.Template.Spec,
		}, metav1.CreateOptions{})
		require.NoError(w, err)
		w.runReplicaSets()
		w.createReplicaSet(rs)
		require.Len(w, names(w.pods()), 3, "two of its own, and the stranger")
		w.scale("web", 0)
		require.Equal(w, []string{"stranger"}, names(w.pods()))
		require.Equal(w, stranger.ResourceVersion, w.pods()[0].ResourceVersion)
		far, err := w.Other.CoreV1().Pods("kube-system").Get(w.ctx, "far", metav1.GetOptions{})
		require.NoError(w, err)
		require.Empty(w, far.OwnerReferences)
	})
}

func TestAnOrphanWakesAllReplicaSetsOfItsNamespaceThatMatch(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runReplicaSets()
		rs := w.createReplicaSet(replicaSet("web", 0))
		_, err := w.Other.CoreV1().Pods("kube-system").Create(w.ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "far", Labels: rs.Spec.Template.Labels}, Spec: rs.Spec.Template.Spec,
		}, metav1.CreateOptions{})
		require.NoError(w, err)
		w.orphan(rs, "near")
		require.Empty(w, names(w.pods()), "adopted, and one too many")
		w.orphan(replicaSet("nobody", 0), "unrelated")
		require.Equal(w, []string{"unrelated"}, names(w.pods()))
	})
}

func TestAFailedAdoptionCreatesNoPodInItsPlace(t *testing.T) {
	inMemory(t, func(w *world) {
		rs := replicaSet("web", 1)
		w.orphan(rs, "a")
		w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "patch", Resource: "pods"}, Times: 3, Status: fakeapi.InternalError(),
		})
		w.runReplicaSets()
		w.createReplicaSet(rs)
		for range 20 {
			time.Sleep(time.Second)
			require.Equal(w, []string{"a"}, names(w.pods()))
		}
		require.NotEmpty(w, w.pods()[0].OwnerReferences, "the controller tries again")
	})
}

func TestAnInvalidSelectorIsAFailureThatNoRetryCures(t *testing.T) {
	inMemory(t, func(w *world) {
		broken := replicaSet("broken", 3)
		broken.Spec.Selector = &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Resembles"}},
		}
		_, err := w.Server.Load(appsv1.SchemeGroupVersion.WithResource("replicasets"), broken)
		require.NoError(w, err)
		manager, _ := w.runReplicaSets()
		rs := w.createReplicaSet(replicaSet("web", 1))
		w.orphan(rs, "a")
		time.Sleep(time.Hour)
		require.Len(w, names(w.pods()), 1, "the other ReplicaSet has to work")
		_, err = (&mini.ReplicaSets{Client: manager.Client}).Reconcile(w.ctx, mini.KeyOf(broken))
		require.Error(w, err)
		var tries atomic.Int32
		c, err := mini.NewReplicaSetController(manager)
		require.NoError(w, err)
		inner := c.Reconciler
		c.Reconciler = mini.ReconcilerFunc(func(ctx context.Context, req mini.Request) (mini.Result, error) {
			if req.Name == "broken" {
				tries.Add(1)
			}
			return inner.Reconcile(ctx, req)
		})
		w.run(c.Run)
		time.Sleep(time.Hour)
		require.EqualValues(w, 1, tries.Load())
	})
}

func TestWithoutReadingPodsOrReplicaSetsThereIsAnErrorAndNoPod(t *testing.T) {
	for _, resource := range []string{"replicasets", "pods"} {
		t.Run(resource, func(t *testing.T) {
			inMemory(t, func(w *world) {
				w.createReplicaSet(replicaSet("web", 3))
				w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "list", Resource: resource}, Hang: true})
				cache := mini.NewCache(w.Cluster)
				w.run(cache.Run)
				impatient, cancel := context.WithTimeout(w.ctx, time.Second)
				defer cancel()
				_, err := (&mini.ReplicaSets{Client: mini.NewCachedClient(cache)}).Reconcile(impatient,
					mini.Request{Namespace: "default", Name: "web"})
				require.Error(w, err)
				require.Zero(w, w.podRequests("create", "pods", ""))
			})
		})
	}
}
