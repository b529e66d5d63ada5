package mini_test

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

// runReplicaSets runs the controller in a manager, as a program does. To stop the manager
// before the test ends is to kill the process: what it knew is gone.
func (w *world) runReplicaSets() (kill context.CancelFunc) {
	manager := mini.NewManager(w.Cluster)
	c, err := mini.NewReplicaSetController(manager)
	require.NoError(w, err)
	manager.AddController(c)
	ctx, kill := context.WithCancel(w.ctx)
	w.run(func(context.Context) error { return manager.Run(ctx) })
	return kill
}

// reconciler returns the Reconciler without a controller, for a test that calls it.
func (w *world) reconciler() *mini.ReplicaSets {
	cache := mini.NewCache(w.Cluster)
	w.run(cache.Run)
	return &mini.ReplicaSets{Client: mini.NewCachedClient(cache)}
}

var keyOfWeb = mini.Request{Namespace: "default", Name: "web"}

// requestsTo is how many requests there were since ForgetRequests.
func (w *world) requestsTo(verb, resource string) int {
	synctest.Wait()
	return len(w.Server.Requests(fakeapi.Match{Verb: verb, Resource: resource}))
}

// toPods are the requests that create or delete Pods.
func toPods(verb string) fakeapi.Match { return fakeapi.Match{Verb: verb, Resource: "pods"} }

// orphan creates a Pod of the template, without an owner.
func (w *world) orphan(rs *appsv1.ReplicaSet, name string) *corev1.Pod {
	pod := &corev1.Pod{Spec: rs.Spec.Template.Spec}
	pod.Name, pod.Labels = name, rs.Spec.Template.Labels
	pod, err := w.Other.CoreV1().Pods(rs.Namespace).Create(w.ctx, pod, metav1.CreateOptions{})
	require.NoError(w, err)
	return pod
}

func (w *world) scale(name string, replicas int32) {
	w.changeReplicaSet(name, func(rs *appsv1.ReplicaSet) { rs.Spec.Replicas = &replicas })
}

// ready is what the kubelet does when a Pod runs.
func (w *world) ready(pod *corev1.Pod) *corev1.Pod {
	w.Helper()
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}
	return w.changePodStatus(pod, func(pod *corev1.Pod) {
		pod.Status.Phase, pod.Status.Conditions = corev1.PodRunning, []corev1.PodCondition{ready}
	})
}

// Level 1: count, create and delete.
func TestLevel1EveryReplicaSetGetsThePodsThatItWants(t *testing.T) {
	inMemory(t, func(w *world) {
		w.createReplicaSet(replicaSet("before", 2))
		w.runReplicaSets()
		w.createReplicaSet(replicaSet("web", 5))
		require.Len(w, names(w.pods()), 7, "two for before, which existed before the controller, and five for web")
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

// Level 1: a ReplicaSet that was deleted, or is being deleted, gets no Pods.
//
// Function: ReplicaSets.Reconcile
func TestLevel1AReplicaSetThatIsBeingDeletedIsLeftToTheGarbageCollector(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runReplicaSets()
		rs := replicaSet("web", 3)
		rs.Finalizers = []string{"example.com/wait"}
		w.createReplicaSet(rs)
		require.Len(w, names(w.pods()), 3)
		err := w.Other.AppsV1().ReplicaSets("default").Delete(w.ctx, "web", metav1.DeleteOptions{})
		require.NoError(w, err)
		w.deletePod(w.pods()[0])
		require.Len(w, names(w.pods()), 2, "the garbage collector deletes Pods: new ones would never end")
		w.scale("web", 1)
		require.Len(w, names(w.pods()), 2, "deleting Pods is the garbage collector's job now")
		w.changeReplicaSet("web", func(rs *appsv1.ReplicaSet) { rs.Finalizers = nil })
		_, err = w.reconciler().Reconcile(w.ctx, keyOfWeb)
		require.NoError(w, err, "a deleted ReplicaSet is the normal end, not a failure")
	})
}

// Level 1: 500 deletions one after another would keep a worker for minutes.
func TestLevel1PodsAreDeletedInParallelAndTheLeastUsefulFirst(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runReplicaSets()
		w.createReplicaSet(replicaSet("web", 20))
		useful := w.pods()[7]
		w.ready(w.bind(useful, "node"))
		w.Server.Inject(fakeapi.Fault{Match: toPods("delete"), Delay: time.Second})
		w.scale("web", 1)
		time.Sleep(1500 * time.Millisecond)
		require.Len(w, names(w.pods()), 1, "19 deletions of a second each")
		require.Equal(w, useful.Name, w.pods()[0].Name, "the only Pod that serves has to stay")
	})
}

// Level 1: if another process has deleted the Pod, that's what we wanted.
//
// Function: ReplicaSets.manageReplicas
func TestLevel1APodThatAnotherProcessDeletesAtTheSameTimeIsNotAFailure(t *testing.T) {
	inMemory(t, func(w *world) {
		sets := w.reconciler()
		w.createReplicaSet(replicaSet("web", 3))
		_, err := sets.Reconcile(w.ctx, keyOfWeb)
		require.NoError(w, err)
		pods := w.pods()
		w.scale("web", 0)
		synctest.Wait()
		w.Server.Inject(fakeapi.Fault{Match: toPods("delete"), Times: 3, Delay: time.Second})
		result := make(chan error, 1) // the test receives the only value at the end
		w.running.Go(func() {
			_, err := sets.Reconcile(w.ctx, keyOfWeb)
			result <- err
		})
		synctest.Wait()
		w.deletePod(pods[0])
		w.deletePod(pods[1])
		w.orphan(replicaSet("other", 0), pods[1].Name)
		require.NoError(w, <-result, "a deleted Pod is what we wanted")
		require.Empty(w, w.replicaSet("web").Status.Conditions)
		require.Equal(w, []string{pods[1].Name}, names(w.pods()), "another Pod has the name now, and isn't ours to delete")
	})
}

// Level 2: a stale cache turns ten Pods into eleven, or nine.
func TestLevel2TenPodsStayTenAlthoughTheWatchIsSlow(t *testing.T) {
	inMemory(t, func(w *world) {
		w.slowWatch("pods", time.Second)
		w.runReplicaSets()
		w.createReplicaSet(replicaSet("web", 9))
		change := func(replicas, atLeast, atMost int) {
			for i := range 10 {
				time.Sleep(200 * time.Millisecond)
				w.changeReplicaSet("web", func(rs *appsv1.ReplicaSet) {
					rs.Annotations = map[string]string{"change": strconv.Itoa(i)}
					rs.Spec.Replicas = new(int32(replicas))
				})
				n := len(w.pods())
				require.True(w, atLeast <= n && n <= atMost, "%d Pods: the controller did not see its own writes", n)
			}
			time.Sleep(time.Minute)
			require.Len(w, names(w.pods()), replicas)
		}
		change(15, 9, 15)
		for _, pod := range w.pods() {
			w.ready(w.bind(pod, "node")) // now each deletion takes time
		}
		time.Sleep(time.Minute)
		change(10, 10, 15)
	})
}

// Level 2: a new process has no memory, and doesn't need any.
func TestLevel2AProcessThatIsKilledInTheMiddleIsFollowedByOneThatCreatesTheRest(t *testing.T) {
	for _, killedAfter := range []time.Duration{50, 350} {
		inMemory(t, func(w *world) {
			w.Server.Inject(fakeapi.Fault{Match: toPods("create"), Delay: 100 * time.Millisecond})
			w.slowWatch("pods", 30*time.Millisecond)
			kill := w.runReplicaSets()
			w.createReplicaSet(replicaSet("web", 20))
			time.Sleep(killedAfter * time.Millisecond)
			kill()
			time.Sleep(time.Second) // the requests that were under way have ended
			w.Server.ForgetRequests()
			w.runReplicaSets()
			time.Sleep(time.Minute)
			require.Len(w, names(w.pods()), 20)
			require.Zero(w, w.requestsTo("delete", "pods"), "there was one Pod too many")
		})
	}
}

// Level 3: a quota that refuses one Pod refuses 500.
//
// Function: slowStartBatch
func TestLevel3FiveHundredRefusedPodsAreOneRequest(t *testing.T) {
	inMemory(t, func(w *world) {
		w.Server.Inject(fakeapi.Fault{Match: toPods("create"), Status: fakeapi.Forbidden()})
		sets := w.reconciler()
		w.createReplicaSet(replicaSet("web", 500))
		w.Server.ForgetRequests()
		_, err := sets.Reconcile(w.ctx, keyOfWeb)
		require.Error(w, err, "the controller has to try again, later each time")
		require.Equal(w, 1, w.requestsTo("create", "pods"), "the quota that refuses one Pod refuses 500")
	})
}

// Level 3: batches of 1, 2, 4 and so on, each in parallel.
//
// Function: slowStartBatch
func TestLevel3CreationsDoubleAndEndWithTheBatchThatFails(t *testing.T) {
	inMemory(t, func(w *world) {
		sets := w.reconciler()
		// The fifth one is refused at once, in the batch of the fourth to the seventh.
		w.Server.Inject(fakeapi.Fault{Match: toPods("create"), Skip: 4, Times: 1, Status: fakeapi.Forbidden()})
		w.Server.Inject(fakeapi.Fault{Match: toPods("create"), Times: 4, Delay: time.Second})
		w.Server.Inject(fakeapi.Fault{Match: toPods("create"), Skip: 5, Delay: time.Second})
		w.createReplicaSet(replicaSet("web", 40))
		began := time.Now()
		_, err := sets.Reconcile(w.ctx, keyOfWeb)
		require.Error(w, err)
		require.Equal(w, 3*time.Second, time.Since(began), "batches of 1, 2 and 4: a failure waits for the others")
		require.Equal(w, 1+2+4, w.requestsTo("create", "pods"))
		require.Len(w, names(w.pods()), 1+2+3)
		began = time.Now()
		_, err = sets.Reconcile(w.ctx, keyOfWeb)
		require.NoError(w, err)
		require.Equal(w, 6*time.Second, time.Since(began), "34 Pods: 1, 2, 4, 8, 16 and the last 3")
		require.Len(w, names(w.pods()), 40)
	})
}

// Level 3: one huge ReplicaSet must not keep a worker from all others.
//
// Function: ReplicaSets.manageReplicas
func TestLevel3OneReconcileCreatesAndDeletesNoMoreThanTheBurst(t *testing.T) {
	inMemory(t, func(w *world) {
		sets := w.reconciler()
		sets.Burst = 10
		w.createReplicaSet(replicaSet("web", 13))
		for _, step := range []struct{ replicas, pods int }{{13, 10}, {13, 13}, {1, 3}, {1, 1}} {
			w.scale("web", int32(step.replicas))
			synctest.Wait()
			_, err := sets.Reconcile(w.ctx, keyOfWeb)
			require.NoError(w, err)
			require.Len(w, w.pods(), step.pods, "10 are created or deleted at most, and the next call does the rest")
		}
	})
}

// Level 3: 500 is the original's number.
//
// Function: ReplicaSets.manageReplicas
func TestLevel3TheBurstIsFiveHundred(t *testing.T) {
	inMemory(t, func(w *world) {
		rs := w.createReplicaSet(replicaSet("web", 0))
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Labels: rs.Spec.Template.Labels}}
		pod.OwnerReferences = []metav1.OwnerReference{controllerRef("web", string(rs.UID))}
		for i := range 503 {
			pod.Name = "web-" + strconv.Itoa(i)
			_, err := w.Server.Load(corev1.SchemeGroupVersion.WithResource("pods"), pod.DeepCopy())
			require.NoError(w, err)
		}
		w.Server.Inject(fakeapi.Fault{Match: toPods("delete"), Status: notFound}) // counted, and not carried out
		_, err := w.reconciler().Reconcile(w.ctx, keyOfWeb)
		require.NoError(w, err)
		require.Equal(w, 500, w.requestsTo("delete", "pods"))
	})
}

// Level 4: orphans that the selector matches count, and another controller's Pods do not.
//
// Function: ReplicaSets.claimPods
func TestLevel4OrphansThatMatchAreAdoptedAndStrangersAreNot(t *testing.T) {
	inMemory(t, func(w *world) {
		rs := replicaSet("web", 3)
		w.orphan(rs, "a")
		w.orphan(rs, "b")
		w.changePodStatus(w.orphan(rs, "failed"), func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed })
		stranger := w.changePod(w.orphan(rs, "stranger"), func(pod *corev1.Pod) {
			pod.OwnerReferences = []metav1.OwnerReference{controllerRef("web", "uid-of-an-earlier-web")}
		})
		w.runReplicaSets()
		rs = w.createReplicaSet(rs)
		pods := w.pods()
		require.Len(w, names(pods), 5, "a, b, a new one, and two that do not count")
		require.True(w, metav1.IsControlledBy(pods[0], rs) && metav1.IsControlledBy(pods[1], rs))
		require.Empty(w, pods[2].OwnerReferences, "a Pod that has failed does not count, and is not adopted")
		w.scale("web", 0)
		require.Equal(w, []string{"failed", "stranger"}, names(w.pods()))
		require.Equal(w, stranger.ResourceVersion, w.pods()[1].ResourceVersion)
	})
}

// Level 4: an orphan names no owner, so it wakes each ReplicaSet that may adopt it.
func TestLevel4AnOrphanThatComesLaterIsAdoptedAndTheSurplusPodIsDeleted(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runReplicaSets()
		rs := w.createReplicaSet(replicaSet("web", 2))
		w.createReplicaSet(replicaSet("other", 1))
		old := w.pods()
		for _, pod := range old {
			w.ready(w.bind(pod, "node-of-"+pod.Name))
		}
		unlabelled := replicaSet("web", 0)
		unlabelled.Spec.Template.Labels = nil
		late := w.orphan(unlabelled, "late")
		far := replicaSet("web", 0)
		far.Namespace = "kube-system"
		w.orphan(far, "far")
		require.Len(w, names(w.pods()), 4, "a Pod without labels concerns no ReplicaSet")
		w.changePod(late, func(pod *corev1.Pod) { pod.Labels = rs.Spec.Template.Labels })
		require.Equal(w, names(old), names(w.pods()), "the ReplicaSet got a third Pod, and deletes the least useful one")
		others := func() int {
			return len(slices.DeleteFunc(w.Cluster.Trace.Events(), func(e trace.Event) bool {
				return e.Kind != trace.ReconcileEnd || e.Name != "other"
			}))
		}
		before := others()
		w.orphan(rs, "later")
		require.Equal(w, names(old), names(w.pods()), "an orphan that matches from the beginning")
		require.Equal(w, before, others(), "it wakes only those that may adopt it")
	})
}

// Level 4: otherwise each change of a Pod would cost a reconcile of all that match it.
func TestLevel4APodThatHasAnOwnerWakesNoOther(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runReplicaSets()
		w.createReplicaSet(replicaSet("web", 2))
		rival := replicaSet("web", 0) // with the same selector
		rival.Name = "rival"
		w.createReplicaSet(rival)
		pods := w.pods()
		reconciles := func() int {
			synctest.Wait()
			return len(slices.DeleteFunc(w.Cluster.Trace.Events(), func(e trace.Event) bool {
				return e.Kind != trace.ReconcileEnd || e.Name != "rival"
			}))
		}
		before := reconciles()
		w.ready(pods[0])
		require.EqualValues(w, 1, w.replicaSet("web").Status.ReadyReplicas,
			"web counts its ready Pods, which calculateStatus does")
		require.Equal(w, before, reconciles(), "web's Pod is none of rival's business")
	})
}

// Level 4: by changing a label, a user takes a Pod out and keeps it.
//
// Function: ReplicaSets.claimPods
func TestLevel4APodThatLosesItsLabelIsReleasedAndReplaced(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runReplicaSets()
		w.createReplicaSet(replicaSet("web", 3))
		debugged := w.changePod(w.pods()[1], func(pod *corev1.Pod) { pod.Labels["app"] = "debug" })
		require.Len(w, names(w.pods()), 4, "a user takes a Pod out by a label, to look into it: another one takes its place")
		w.scale("web", 0)
		left := w.pods()
		require.Equal(w, []string{debugged.Name}, names(left))
		require.Empty(w, left[0].OwnerReferences, "it must not be deleted with the ReplicaSet")
	})
}

// Level 4: an orphan that is not ours yet may be ours at the next try.
func TestLevel4AFailedAdoptionCreatesNoPodInItsPlace(t *testing.T) {
	inMemory(t, func(w *world) {
		rs := replicaSet("web", 1)
		w.orphan(rs, "a")
		w.Server.Inject(fakeapi.Fault{Match: toPods("patch"), Times: 3, Status: fakeapi.InternalError()})
		w.runReplicaSets()
		w.createReplicaSet(rs)
		for range 20 {
			time.Sleep(time.Second)
			require.Equal(w, []string{"a"}, names(w.pods()))
		}
		require.NotEmpty(w, w.pods()[0].OwnerReferences, "the controller tries again")
	})
}

// Level 4: only Pods that run, or are going to, count.
//
// Function: ReplicaSets.claimPods
func TestLevel4DeletedEndingAndFinishedPodsAreReplaced(t *testing.T) {
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
			"finished Pods don't count, and aren't deleted")
	})
}

// Level 4: retrying doesn't make an invalid selector valid.
//
// Function: ReplicaSets.claimPods
func TestLevel4AnInvalidSelectorIsAFailureThatNoRetryCures(t *testing.T) {
	inMemory(t, func(w *world) {
		broken := replicaSet("broken", 3)
		broken.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Resembles"}}
		_, err := w.Server.Load(appsv1.SchemeGroupVersion.WithResource("replicasets"), broken)
		require.NoError(w, err)
		w.runReplicaSets()
		w.orphan(w.createReplicaSet(replicaSet("web", 1)), "a")
		time.Sleep(time.Hour)
		require.Len(w, names(w.pods()), 1, "the other ReplicaSet has to work")
		tries := slices.DeleteFunc(w.Cluster.Trace.Events(), func(e trace.Event) bool {
			return e.Kind != trace.ReconcileEnd || e.Name != "broken"
		})
		require.Len(w, tries, 1, "TerminalError says that a retry won't help")
		_, err = w.reconciler().Reconcile(w.ctx, mini.KeyOf(broken))
		require.Error(w, err)
	})
}

// Level 4: not knowing the Pods isn't the same as having none.
func TestLevel4WithoutReadingPodsOrReplicaSetsThereIsAnErrorAndNoPod(t *testing.T) {
	for _, resource := range []string{"replicasets", "pods"} {
		inMemory(t, func(w *world) {
			w.createReplicaSet(replicaSet("web", 3))
			w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "list", Resource: resource}, Hang: true})
			impatient, cancel := context.WithTimeout(w.ctx, time.Second)
			defer cancel()
			_, err := w.reconciler().Reconcile(impatient, keyOfWeb)
			require.Error(w, err, "it couldn't read the %s", resource)
			require.Zero(w, w.requestsTo("create", "pods"))
		})
	}
	inMemory(t, func(w *world) { // even if there is nothing to create, and nothing new to report
		kill := w.runReplicaSets()
		w.createReplicaSet(replicaSet("web", 0))
		require.EqualValues(w, 1, w.replicaSet("web").Status.ObservedGeneration)
		kill()
		w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "list", Resource: "pods"}, Hang: true})
		impatient, cancel := context.WithTimeout(w.ctx, time.Second)
		defer cancel()
		_, err := w.reconciler().Reconcile(impatient, keyOfWeb)
		require.Error(w, err, "it couldn't read the Pods, and there may be some to delete")
	})
}

// The status: what kubectl get shows.
//
// Function: calculateStatus
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

		w.changeReplicaSet("web", func(rs *appsv1.ReplicaSet) { rs.Finalizers = []string{"example.com/wait"} })
		err := w.Other.AppsV1().ReplicaSets("default").Delete(w.ctx, "web", metav1.DeleteOptions{})
		require.NoError(w, err)
		synctest.Wait() // the cache shows that it is being deleted
		w.deletePod(pods[0])
		require.EqualValues(w, 4, w.replicaSet("web").Status.Replicas, "even while it's being deleted")
	})
}

// A user has given a Pod one label more, for a dashboard. It has all labels of the template all the same.
//
// Function: calculateStatus
func TestAPodWithMoreLabelsThanTheTemplateIsFullyLabeled(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runReplicaSets()
		w.createReplicaSet(replicaSet("web", 2))
		w.changePod(w.pods()[0], func(pod *corev1.Pod) { pod.Labels["color"] = "red" })
		require.EqualValues(w, 2, w.replicaSet("web").Status.FullyLabeledReplicas)
	})
}

// The status: each write is an event, and brings the next reconcile.
//
// Function: ReplicaSets.Reconcile
func TestTheStatusIsWrittenOnlyIfItDiffersAndAgainIfTheWriteFails(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runReplicaSets()
		writes := fakeapi.Match{Verb: "update", Resource: "replicasets", Subresource: "status"}
		w.Server.Inject(fakeapi.Fault{Match: writes, Times: 3, Status: fakeapi.Conflict()})
		w.createReplicaSet(replicaSet("web", 2))
		require.Len(w, names(w.pods()), 2, "Pods are still created")
		time.Sleep(time.Minute)
		require.EqualValues(w, 2, w.replicaSet("web").Status.Replicas)
		w.Server.ForgetRequests()
		_, err := w.reconciler().Reconcile(w.ctx, keyOfWeb)
		require.NoError(w, err)
		time.Sleep(time.Hour)
		require.Zero(w, w.requestsTo("update", ""), "nothing has changed")
	})
}

// The status: it's the only place that says why there are no Pods.
func TestTheStatusShowsAFailureUntilItIsOver(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runReplicaSets()
		lift := w.Server.Inject(fakeapi.Fault{Match: toPods("create"), Status: fakeapi.Forbidden()})
		w.createReplicaSet(replicaSet("web", 3))
		time.Sleep(100 * time.Millisecond)
		conditions := w.replicaSet("web").Status.Conditions
		require.Len(w, conditions, 1, "kubectl describe shows it: nothing else says why there are no Pods")
		require.Equal(w, []any{appsv1.ReplicaSetReplicaFailure, corev1.ConditionTrue, "FailedCreate"},
			[]any{conditions[0].Type, conditions[0].Status, conditions[0].Reason})
		require.Contains(w, conditions[0].Message, "forbidden", "the API server's own words")
		require.WithinDuration(w, time.Now(), conditions[0].LastTransitionTime.Time, 2*time.Second)
		version := w.replicaSet("web").ResourceVersion
		time.Sleep(10 * time.Second)
		require.Equal(w, version, w.replicaSet("web").ResourceVersion, "the same failure again isn't news")
		lift()
		time.Sleep(time.Hour)
		require.Len(w, names(w.pods()), 3)
		require.Empty(w, w.replicaSet("web").Status.Conditions, "all is well again")
		w.Server.Inject(fakeapi.Fault{Match: toPods("delete"), Times: 1, Status: fakeapi.Forbidden()})
		w.Server.Inject(fakeapi.Fault{Match: toPods("delete"), Skip: 3, Delay: time.Hour})
		w.scale("web", 0)
		require.Len(w, names(w.pods()), 1, "the other two don't have to wait for it")
		require.Equal(w, "FailedDelete", w.replicaSet("web").Status.Conditions[0].Reason)
		time.Sleep(2 * time.Hour)
		require.Empty(w, names(w.pods()))
	})
}

// The status: no watch shows that a Pod becomes available, so Reconcile has to say when
// to come back.
func TestTheStatusIsUpdatedWhenAPodHasBeenReadyForLongEnough(t *testing.T) {
	inMemory(t, func(w *world) {
		sets := w.reconciler()
		rs := replicaSet("web", 3)
		rs.Spec.MinReadySeconds = 60
		w.createReplicaSet(rs)
		next := func(available int32) time.Duration {
			synctest.Wait()
			result, err := sets.Reconcile(w.ctx, keyOfWeb)
			require.NoError(w, err)
			require.EqualValues(w, available, w.replicaSet("web").Status.AvailableReplicas)
			return result.RequeueAfter
		}
		require.Zero(w, next(0), "no Pod is ready: an event will come first")
		pods := w.pods()
		w.ready(pods[1])
		time.Sleep(20 * time.Second)
		w.ready(pods[0])
		w.ready(pods[2])
		require.Equal(w, 40*time.Second, next(0))
		time.Sleep(40 * time.Second)
		require.Equal(w, 20*time.Second, next(1), "the first Pod is available: the next ones count")
		time.Sleep(20 * time.Second)
		require.Zero(w, next(3), "all are available")
	})
}

// notFound is how the API server answers if there is no such object.
var notFound = fakeapi.NotFound()

// A user deletes the ReplicaSet while it is being reconciled: the log would show an error for each.
//
// Function: ReplicaSets.Reconcile
func TestAReplicaSetThatIsDeletedBeforeItsStatusIsWrittenIsNotAFailure(t *testing.T) {
	inMemory(t, func(w *world) {
		sets := w.reconciler()
		w.createReplicaSet(replicaSet("web", 2))
		w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "update", Resource: "replicasets", Subresource: "status"}, Status: notFound,
		})
		_, err := sets.Reconcile(w.ctx, keyOfWeb)
		require.NoError(w, err)
		require.Equal(w, 1, w.requestsTo("update", "replicasets"))
	})
}

// withKinds returns a manager whose scheme has these kinds only.
func (w *world) withKinds(kinds ...runtime.Object) *mini.Manager {
	w.Helper()
	some := runtime.NewScheme()
	for _, kind := range kinds {
		full, _, err := scheme.Scheme.ObjectKinds(kind)
		require.NoError(w, err)
		some.AddKnownTypes(full[0].GroupVersion(), kind)
	}
	cluster, err := mini.NewCluster(w.Server.Config(), some)
	require.NoError(w, err)
	return mini.NewManager(cluster)
}

// Without one of its watches, the controller would miss what it has to do, and no error
// would say so.
func TestTheReplicaSetControllerNeedsBothKinds(t *testing.T) {
	inMemory(t, func(w *world) {
		rs, pod := &appsv1.ReplicaSet{}, &corev1.Pod{}
		_, err := mini.NewReplicaSetController(w.withKinds(rs, pod))
		require.NoError(w, err)
		for _, kind := range []runtime.Object{rs, pod} {
			_, err := mini.NewReplicaSetController(w.withKinds(kind))
			require.Error(w, err, "the scheme has one of two kinds")
		}
	})
}

// One ReplicaSet whose Pods are created slowly must not keep the others waiting, and more
// workers would send the API server more requests at once.
func TestFiveReplicaSetsAreReconciledAtTheSameTime(t *testing.T) {
	inMemory(t, func(w *world) {
		w.Server.Inject(fakeapi.Fault{Match: toPods("create"), Delay: time.Second})
		w.runReplicaSets()
		for i := range 7 {
			w.createReplicaSet(replicaSet("web-"+strconv.Itoa(i), 1))
		}
		time.Sleep(1500 * time.Millisecond)
		require.Len(w, names(w.pods()), 5, "each of five workers has created a Pod in a second")
		time.Sleep(time.Second)
		require.Len(w, names(w.pods()), 7)
	})
}

// Level 2: a Pod was created, its answer got lost, and the watch is late: the next try makes a second one.
func TestLevel2APodWhoseAnswerWasLostIsOneTooManyForAMoment(t *testing.T) {
	inMemory(t, func(w *world) {
		w.slowWatch("pods", time.Second)
		w.Server.Inject(fakeapi.Fault{Match: toPods("create"), Times: 1, LoseResponse: true})
		w.runReplicaSets()
		w.createReplicaSet(replicaSet("web", 3))
		time.Sleep(500 * time.Millisecond)
		require.Len(w, names(w.pods()), 4, "the caveat of ReplicaSets says so")
		time.Sleep(time.Minute)
		require.Len(w, names(w.pods()), 3, "one Pod too many stays forever")
	})
}
