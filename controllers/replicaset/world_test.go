package replicaset

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/internal/simulation"
	"github.com/loopwright/loopwright/internal/simulation/ours"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/client"
)

// agent is the user agent of the controller's requests.
const agent = simulation.Agent

// world is a World with this controller.
type world struct {
	*simulation.World
	suffix func(length int) string // of the names of Pods
	burst  int
}

// inWorld runs a test in a bubble. The controller does not run yet.
func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{suffix: rand.String, burst: defaultBurst}
		w.World = simulation.New(t, ours.Process(func(
			mgr manager.Manager, options controllers.Options,
		) error {
			return add(mgr, options, w.suffix, w.burst)
		}))
		test(t, w)
	})
}

// counter returns a source of suffixes that are numbers.
func counter() func(length int) string {
	var n atomic.Int32
	return func(length int) string { return fmt.Sprintf("%0*d", length, n.Add(1)) }
}

// run starts the controller, and waits until it has nothing to do.
func (w *world) run() {
	w.Start()
	w.Settle()
}

// set creates the ReplicaSet web, which selects app=web.
func (w *world) set(replicas int32, changes ...func(*appsv1.ReplicaSet)) *appsv1.ReplicaSet {
	w.T.Helper()
	rs := newReplicaSet(replicas)
	rs.UID, rs.Generation = "", 0
	for _, change := range changes {
		change(rs)
	}
	w.Create(rs)
	return rs
}

func (w *world) scale(rs *appsv1.ReplicaSet, replicas int32) {
	w.T.Helper()
	simulation.Edit(w.World, rs, func(rs *appsv1.ReplicaSet) { rs.Spec.Replicas = &replicas })
	w.Settle()
}

// status reads the ReplicaSet's status.
func (w *world) status(rs *appsv1.ReplicaSet) appsv1.ReplicaSetStatus {
	w.Read(rs)
	return rs.Status
}

// starts plays scheduler and kubelet for a Pod.
func (w *world) starts(pod *corev1.Pod, node string) {
	w.T.Helper()
	if pod.Spec.NodeName == "" {
		binding := &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
			Target:     corev1.ObjectReference{Kind: "Node", Name: node},
		}
		require.NoError(w.T, w.Live.SubResource("binding").Create(w.T.Context(), pod, binding))
	}
	simulation.EditStatus(w.World, pod, func(pod *corev1.Pod) {
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()},
		}
	})
}

// ends plays the kubelet for a terminating Pod.
func (w *world) ends(pod *corev1.Pod) {
	w.T.Helper()
	require.NoError(w.T, w.Live.Delete(w.T.Context(), pod, client.GracePeriodSeconds(0)))
}

// events returns the notes of all events, by reason.
func (w *world) events() map[string][]string { return w.Notes(controllerName, "ReplicaSet") }

func (w *world) isGone(object client.Object) bool {
	err := w.Live.Get(w.T.Context(), client.ObjectKeyFromObject(object), object)
	if err != nil && !apierrors.IsNotFound(err) {
		w.T.Fatal(err)
	}
	return err != nil
}

// orphan is a Pod that a user has created.
func orphan(name string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}},
	}
}

func names(pods []*corev1.Pod) (names []string) {
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	return names
}
