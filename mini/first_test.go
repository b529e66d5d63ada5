package mini_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/mini"
)

// createReplicaSet is what kubectl does.
func (w *world) createReplicaSet(rs *appsv1.ReplicaSet) *appsv1.ReplicaSet {
	w.Helper()
	created, err := w.Other.AppsV1().ReplicaSets(rs.Namespace).Create(w.ctx, rs, metav1.CreateOptions{})
	require.NoError(w, err)
	return created
}

// changeReplicaSet is what kubectl does.
func (w *world) changeReplicaSet(name string, change func(*appsv1.ReplicaSet)) {
	w.Helper()
	rs := w.replicaSet(name)
	change(rs)
	_, err := w.Other.AppsV1().ReplicaSets("default").Update(w.ctx, rs, metav1.UpdateOptions{})
	require.NoError(w, err)
}

// replicaSet returns what the API server has when all is quiet.
func (w *world) replicaSet(name string) *appsv1.ReplicaSet {
	w.Helper()
	synctest.Wait()
	rs, err := w.Other.AppsV1().ReplicaSets("default").Get(w.ctx, name, metav1.GetOptions{})
	require.NoError(w, err)
	return rs
}

// pods returns what the API server has when all is quiet, without Pods that are ending.
func (w *world) pods() (live []*corev1.Pod) {
	w.Helper()
	synctest.Wait()
	list, err := w.Other.CoreV1().Pods("default").List(w.ctx, metav1.ListOptions{})
	require.NoError(w, err)
	for _, pod := range list.Items {
		if pod.DeletionTimestamp == nil {
			live = append(live, &pod)
		}
	}
	return live
}

// names are the names of objects, in their order.
func names[T mini.Object](objs []T) (all []string) {
	for _, obj := range objs {
		all = append(all, obj.GetName())
	}
	return all
}

// changePod changes everything but the status.
func (w *world) changePod(pod *corev1.Pod, change func(*corev1.Pod)) *corev1.Pod {
	w.Helper()
	pod = pod.DeepCopy()
	change(pod)
	pod, err := w.Other.CoreV1().Pods(pod.Namespace).Update(w.ctx, pod, metav1.UpdateOptions{})
	require.NoError(w, err)
	return pod
}

// changePodStatus is what the kubelet does.
func (w *world) changePodStatus(pod *corev1.Pod, change func(*corev1.Pod)) *corev1.Pod {
	w.Helper()
	pod = pod.DeepCopy()
	change(pod)
	pod, err := w.Other.CoreV1().Pods(pod.Namespace).UpdateStatus(w.ctx, pod, metav1.UpdateOptions{})
	require.NoError(w, err)
	return pod
}

// bind is what the scheduler does.
func (w *world) bind(pod *corev1.Pod, node string) *corev1.Pod {
	w.Helper()
	err := w.Other.CoreV1().Pods(pod.Namespace).Bind(w.ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}, metav1.CreateOptions{})
	require.NoError(w, err)
	bound, err := w.Other.CoreV1().Pods(pod.Namespace).Get(w.ctx, pod.Name, metav1.GetOptions{})
	require.NoError(w, err)
	return bound
}

func (w *world) deletePod(pod *corev1.Pod) {
	w.Helper()
	err := w.Other.CoreV1().Pods(pod.Namespace).Delete(w.ctx, pod.Name, metav1.DeleteOptions{})
	require.NoError(w, err)
}

// slowWatch makes the cache see changes of a resource late.
func (w *world) slowWatch(resource string, delay time.Duration) {
	w.Server.Inject(fakeapi.Fault{
		Match: fakeapi.Match{Verb: "watch", Resource: resource}, DelayEvents: delay,
	})
}

// runFirst runs the controller of the first ReplicaSet.
func (w *world) runFirst() *mini.FirstReplicaSet {
	first := &mini.FirstReplicaSet{Client: w.cached()}
	sets, err := first.Client.Cache.Informer(&appsv1.ReplicaSet{})
	require.NoError(w, err)
	pods, err := first.Client.Cache.Informer(&corev1.Pod{})
	require.NoError(w, err)
	c := mini.NewController("replicaset", first)
	c.Watch(sets, mini.EnqueueObject)
	c.Watch(pods, mini.EnqueueOwner(schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}))
	w.run(c.Run)
	return first
}

// This is what a ReplicaSet is for.
func TestThereAreAsManyPodsAsTheReplicaSetWants(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runFirst()
		w.createReplicaSet(replicaSet("web", 10))
		require.Len(w, names(w.pods()), 10)
		for _, replicas := range []int32{3, 4, 0, 2} {
			w.changeReplicaSet("web", func(rs *appsv1.ReplicaSet) { rs.Spec.Replicas = &replicas })
			require.Len(w, names(w.pods()), int(replicas), "Pods after scaling")
		}
	})
}

func TestAPodIsMadeFromTheTemplateAndBelongsToTheReplicaSet(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runFirst()
		rs := replicaSet("web", 1)
		rs.Spec.Template.Annotations = map[string]string{"a": "1"}
		rs.Spec.Template.Finalizers = []string{"example.com/wait"}
		rs = w.createReplicaSet(rs)
		pods := w.pods()
		require.Len(w, names(pods), 1)
		require.Equal(w, rs.Spec.Template.Labels, pods[0].Labels)
		require.Equal(w, rs.Spec.Template.Annotations, pods[0].Annotations)
		require.Equal(w, rs.Spec.Template.Finalizers, pods[0].Finalizers)
		require.Equal(w, rs.Spec.Template.Spec.Containers[0].Image, pods[0].Spec.Containers[0].Image)
		require.Contains(w, pods[0].Name, "web-", "kubectl's reader wants to see whose Pod it is")
		require.Equal(w, []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: rs.UID,
			Controller: new(true), BlockOwnerDeletion: new(true),
		}}, pods[0].OwnerReferences)
	})
}

func TestADeletedPodIsReplacedEvenWhileItIsStillEnding(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runFirst()
		w.createReplicaSet(replicaSet("web", 2))
		ending := w.bind(w.pods()[0], "node") // so that the deletion waits for a kubelet
		w.deletePod(ending)
		require.Len(w, names(w.pods()), 2, "a Pod that is ending does not count")
		w.deletePod(w.pods()[0])
		require.Len(w, names(w.pods()), 2)
		w.changeReplicaSet("web", func(rs *appsv1.ReplicaSet) { rs.Spec.Replicas = new(int32(1)) })
		require.Len(w, names(w.pods()), 1, "a Pod that's ending isn't one to delete")
	})
}

// Three Pods run, the ReplicaSet wants two, and two more are ending. Deleting one of these again changes nothing: three Pods
// would go on running.
func TestTheSurplusIsDeletedFromThePodsThatAreNotEnding(t *testing.T) {
	inMemory(t, func(w *world) {
		first := &mini.FirstReplicaSet{Client: w.cached()} // no controller calls it
		rs := w.createReplicaSet(replicaSet("web", 2))
		owner := metav1.NewControllerRef(rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))
		for _, name := range []string{"a-ends", "b", "c", "d", "e-ends"} {
			pod, err := w.Other.CoreV1().Pods("default").Create(w.ctx, &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{*owner}},
				Spec:       rs.Spec.Template.Spec,
			}, metav1.CreateOptions{})
			require.NoError(w, err)
			if len(name) > 1 {
				w.deletePod(w.bind(pod, "node")) // the deletion waits for a kubelet
			}
		}
		_, err := first.Reconcile(w.ctx, request("web"))
		require.NoError(w, err)
		require.Len(w, names(w.pods()), 2, "Pods that aren't ending")
	})
}

func TestADeletedReplicaSetCreatesNothingEvenWhileItIsStillEnding(t *testing.T) {
	inMemory(t, func(w *world) {
		first := w.runFirst()
		rs := replicaSet("web", 2)
		rs.Finalizers = []string{"example.com/wait"}
		w.createReplicaSet(rs)
		require.Len(w, names(w.pods()), 2)
		err := w.Other.AppsV1().ReplicaSets("default").Delete(w.ctx, "web", metav1.DeleteOptions{})
		require.NoError(w, err)
		w.deletePod(w.pods()[0])
		require.Len(w, names(w.pods()), 1, "the ReplicaSet is being deleted: no new Pods")
		w.changeReplicaSet("web", func(rs *appsv1.ReplicaSet) { rs.Finalizers = nil })
		synctest.Wait()
		_, err = first.Reconcile(w.ctx, mini.Request{Namespace: "default", Name: "web"})
		require.NoError(w, err, "a deleted ReplicaSet is the normal end, not a failure")
		require.Len(w, names(w.pods()), 1, "deleting the rest is the garbage collector's job")
	})
}

// A user deletes the ReplicaSet and keeps its Pods (--cascade=orphan). They belong to the user now, whatever the size says.
func TestADeletedReplicaSetDeletesNothingEither(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runFirst()
		rs := replicaSet("web", 3)
		rs.Finalizers = []string{metav1.FinalizerOrphanDependents}
		w.createReplicaSet(rs)
		require.Len(w, names(w.pods()), 3)
		err := w.Other.AppsV1().ReplicaSets("default").Delete(w.ctx, "web", metav1.DeleteOptions{})
		require.NoError(w, err)
		w.changeReplicaSet("web", func(rs *appsv1.ReplicaSet) { rs.Spec.Replicas = new(int32(1)) })
		require.Len(w, names(w.pods()), 3, "the ReplicaSet is being deleted: its Pods stay")
	})
}

func TestARefusedWriteIsTriedAgain(t *testing.T) {
	inMemory(t, func(w *world) {
		w.runFirst()
		for _, verb := range []string{"create", "delete"} {
			w.Server.Inject(fakeapi.Fault{
				Match: fakeapi.Match{Verb: verb, Resource: "pods"}, Times: 2, Status: fakeapi.Forbidden(),
			})
		}
		w.createReplicaSet(replicaSet("web", 3))
		time.Sleep(time.Second)
		require.Len(w, names(w.pods()), 3, "the API server refused two Pods, a second ago")
		w.changeReplicaSet("web", func(rs *appsv1.ReplicaSet) { rs.Spec.Replicas = new(int32(0)) })
		time.Sleep(time.Second)
		require.Empty(w, names(w.pods()), "the API server refused to delete two Pods, a second ago")
	})
}

// Without the error, the controller would not call again.
func TestOneReconcileDoesEverythingAndReturnsItsError(t *testing.T) {
	inMemory(t, func(w *world) {
		first := &mini.FirstReplicaSet{Client: w.cached()} // no controller calls it
		w.createReplicaSet(replicaSet("web", 3))
		for _, verb := range []string{"create", "delete"} {
			w.Server.Inject(fakeapi.Fault{
				Match: fakeapi.Match{Verb: verb, Resource: "pods"}, Times: 1, Status: fakeapi.Forbidden(),
			})
			_, err := first.Reconcile(w.ctx, request("web"))
			require.Error(w, err, "the API server has refused to %s a Pod", verb)
			_, err = first.Reconcile(w.ctx, request("web"))
			require.NoError(w, err)
			require.Len(w, names(w.pods()), int(*w.replicaSet("web").Spec.Replicas), "Pods after one reconcile")
			w.changeReplicaSet("web", func(rs *appsv1.ReplicaSet) { rs.Spec.Replicas = new(int32(0)) })
			synctest.Wait()
		}
	})
}

func TestWithoutAListOfPodsNothingIsCreatedAndAnErrorSaysSo(t *testing.T) {
	for _, resource := range []string{"replicasets", "pods"} {
		for _, replicas := range []int32{3, 0} {
			t.Run(fmt.Sprintf("%s, %d replicas", resource, replicas), func(t *testing.T) {
				inMemory(t, func(w *world) {
					w.Server.Inject(fakeapi.Fault{
						Match: fakeapi.Match{Verb: "list", Resource: resource}, Hang: true,
					})
					w.createReplicaSet(replicaSet("web", replicas))
					first := w.runFirst()
					impatient, cancel := context.WithTimeout(w.ctx, time.Second)
					defer cancel()
					_, err := first.Reconcile(impatient, request("web"))
					require.Error(w, err, "there may be Pods to delete")
					require.Empty(w, w.Server.Requests(fakeapi.Match{Verb: "create", Resource: "pods"}))
				})
			})
		}
	}
}

func TestTenPodsStayTenAlthoughTheWatchIsSlow(t *testing.T) {
	inMemory(t, func(w *world) {
		w.slowWatch("pods", time.Second)
		w.runFirst()
		w.createReplicaSet(replicaSet("web", 10))
		time.Sleep(100 * time.Millisecond)
		w.changeReplicaSet("web", func(rs *appsv1.ReplicaSet) { rs.Annotations = map[string]string{"a": "1"} })
		time.Sleep(time.Minute)
		require.Len(w, names(w.pods()), 10, "the second reconcile did not see the first one's Pods")
	})
}
