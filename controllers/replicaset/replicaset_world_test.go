package replicaset

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/metrics/server"
)

// agent is how the server knows the requests of the controller.
const agent = "replicaset-test"

// world is an API server, the controller, and a user.
type world struct {
	t      *testing.T
	server *fakeapi.Server
	users  client.Client
	suffix func(length int) string // of the names of Pods
	burst  int

	stop    context.CancelFunc
	running sync.WaitGroup
	ended   error // of the manager; read after running
}

// inWorld runs a test in a bubble. The controller does not run yet.
func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, server: fakeapi.New(fakeapi.Options{NoManagedFields: true}), suffix: rand.String, burst: defaultBurst, stop: func() {}}
		defer w.server.Close()
		var err error
		w.users, err = client.New(w.server.Config(), client.Options{})
		require.NoError(t, err)
		defer w.end()
		test(t, w)
	})
}

// counter returns a source of suffixes that are numbers.
func counter() func(length int) string {
	var n atomic.Int32
	return func(length int) string { return fmt.Sprintf("%0*d", length, n.Add(1)) }
}

// start starts the controller, and waits until it has nothing to do.
func (w *world) start() {
	w.begin()
	w.settle()
}

func (w *world) begin() {
	connection := w.server.Config()
	connection.UserAgent = agent
	mgr, err := manager.New(connection, manager.Options{
		Logger: logr.Discard(), Metrics: server.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: new(true)},
	})
	require.NoError(w.t, err)
	require.NoError(w.t, add(mgr, controllers.Options{Probe: controllers.ProbeOptions{Skip: true}}, w.suffix, w.burst))
	ctx, stop := context.WithCancel(w.t.Context())
	w.stop = stop
	w.running.Go(func() { w.ended = mgr.Start(ctx) })
}

// end stops the controller, and waits for its end.
func (w *world) end() {
	w.stop()
	w.running.Wait()
	require.NoError(w.t, w.ended)
}

// settle gives everybody time. Events are written within it, too.
func (w *world) settle() {
	time.Sleep(time.Minute)
	synctest.Wait()
}

func (w *world) create(object client.Object) {
	w.t.Helper()
	require.NoError(w.t, w.users.Create(w.t.Context(), object))
}

// set is a ReplicaSet with the name web that selects app=web.
func (w *world) set(replicas int32, changes ...func(*appsv1.ReplicaSet)) *appsv1.ReplicaSet {
	w.t.Helper()
	rs := newReplicaSet(replicas)
	rs.UID, rs.Generation = "", 0
	for _, change := range changes {
		change(rs)
	}
	w.create(rs)
	return rs
}

// edit changes an object as it is now.
func edit[T client.Object](w *world, object T, how func(T)) {
	w.t.Helper()
	require.NoError(w.t, w.users.Get(w.t.Context(), client.ObjectKeyFromObject(object), object))
	how(object)
	require.NoError(w.t, w.users.Update(w.t.Context(), object))
}

// editStatus is edit for the status.
func editStatus[T client.Object](w *world, object T, how func(T)) {
	w.t.Helper()
	require.NoError(w.t, w.users.Get(w.t.Context(), client.ObjectKeyFromObject(object), object))
	how(object)
	require.NoError(w.t, w.users.Status().Update(w.t.Context(), object))
}

func (w *world) scale(rs *appsv1.ReplicaSet, replicas int32) {
	w.t.Helper()
	edit(w, rs, func(rs *appsv1.ReplicaSet) { rs.Spec.Replicas = &replicas })
	w.settle()
}

// pods are all Pods, by name.
func (w *world) pods() []corev1.Pod {
	var list corev1.PodList
	require.NoError(w.t, w.users.List(w.t.Context(), &list, client.InNamespace("default")))
	return list.Items
}

// status reads the ReplicaSet's status.
func (w *world) status(rs *appsv1.ReplicaSet) appsv1.ReplicaSetStatus {
	require.NoError(w.t, w.users.Get(w.t.Context(), client.ObjectKeyFromObject(rs), rs))
	return rs.Status
}

// starts plays scheduler and kubelet for a Pod.
func (w *world) starts(pod *corev1.Pod, node string) {
	w.t.Helper()
	if pod.Spec.NodeName == "" {
		binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: node}}
		require.NoError(w.t, w.users.SubResource("binding").Create(w.t.Context(), pod, binding))
	}
	editStatus(w, pod, func(pod *corev1.Pod) {
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
	})
}

// ends plays the kubelet for a Pod that is being deleted.
func (w *world) ends(pod *corev1.Pod) {
	w.t.Helper()
	require.NoError(w.t, w.users.Delete(w.t.Context(), pod, client.GracePeriodSeconds(0)))
}

// did counts the controller's requests with a verb and a resource, and forgets all.
func (w *world) did() map[string]int {
	did := map[string]int{}
	for _, request := range w.server.Requests(fakeapi.Match{UserAgent: agent}) {
		if slices.Contains([]string{"create", "update", "patch", "delete"}, request.Verb) && request.Resource != "events" {
			resource := request.Resource
			if request.Subresource != "" {
				resource += "/" + request.Subresource
			}
			did[request.Verb+" "+resource]++
		}
	}
	w.server.ForgetRequests()
	return did
}

// events are the notes of all events, by reason.
func (w *world) events() map[string][]string {
	var list eventsv1.EventList
	require.NoError(w.t, w.users.List(w.t.Context(), &list))
	notes := map[string][]string{}
	for _, event := range list.Items {
		require.Equal(w.t, "ReplicaSet", event.Regarding.Kind)
		require.Equal(w.t, controllerName, event.ReportingController)
		notes[event.Reason] = append(notes[event.Reason], event.Note)
	}
	return notes
}

// isGone reports whether an object is not there.
func (w *world) isGone(object client.Object) bool {
	err := w.users.Get(w.t.Context(), client.ObjectKeyFromObject(object), object)
	if err != nil && !apierrors.IsNotFound(err) {
		w.t.Fatal(err)
	}
	return err != nil
}

// orphan is a Pod that a user has made.
func orphan(name string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}},
	}
}

func names(pods []corev1.Pod) (names []string) {
	for i := range pods {
		names = append(names, fmt.Sprint(pods[i].Name))
	}
	return names
}
