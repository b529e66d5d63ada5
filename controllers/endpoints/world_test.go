package endpoints

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/simulation"
	"github.com/loopwright/loopwright/internal/simulation/ours"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/client"
)

// agent is the user agent of the controller's requests.
const agent = simulation.Agent

var (
	watches         = fakeapi.Match{UserAgent: agent, Verb: "watch"}
	endpointsWrites = fakeapi.Match{UserAgent: agent, Resource: "endpoints"}
)

// world is a World with one of the two controllers.
type world struct {
	t        *testing.T
	server   *fakeapi.Server
	users    client.Client
	whole    *simulation.World
	settings interface {
		Add(manager.Manager, controllers.Options) error
	}
}

// inWorld runs a test in a bubble. The controller does not run yet.
func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, settings: Settings{}}
		w.whole = simulation.New(t, ours.Process(func(
			mgr manager.Manager, options controllers.Options,
		) error {
			return w.settings.Add(mgr, options)
		}))
		w.server, w.users = w.whole.Server, w.whole.Live
		test(t, w)
	})
}

// start starts the controller, and waits until it has nothing to do.
func (w *world) start() {
	w.whole.Start()
	w.settle()
}

func (w *world) end() { w.whole.Stop() }

func (w *world) settle() { w.whole.Settle() }

func (w *world) create(object client.Object) {
	w.t.Helper()
	w.whole.Create(object)
}

// service creates the Service that webService returns.
func (w *world) service(changes ...func(*corev1.Service)) *corev1.Service {
	w.t.Helper()
	service := webService(changes...)
	w.create(service)
	return service
}

// pod creates the Pod that runningPod returns.
func (w *world) pod(n int, changes ...func(*corev1.Pod)) *corev1.Pod {
	w.t.Helper()
	pod := runningPod(n, changes...)
	pod.UID = ""
	status := pod.Status
	w.create(pod)
	pod.Status = status
	require.NoError(w.t, w.users.Status().Update(w.t.Context(), pod))
	return pod
}

func edit[T client.Object](w *world, object T, how func(T)) {
	w.t.Helper()
	simulation.Edit(w.whole, object, how)
}

func editStatus[T client.Object](w *world, object T, how func(T)) {
	w.t.Helper()
	simulation.EditStatus(w.whole, object, how)
}

func (w *world) delete(object client.Object, opts ...client.DeleteOption) {
	w.t.Helper()
	require.NoError(w.t, w.users.Delete(w.t.Context(), object, opts...))
}

// endpoints returns the Endpoints of the Service web, or nil.
func (w *world) endpoints() *corev1.Endpoints {
	w.t.Helper()
	endpoints := &corev1.Endpoints{}
	err := w.users.Get(w.t.Context(), client.ObjectKey{Namespace: "default", Name: "web"},
		endpoints)
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(w.t, err)
	return endpoints
}

// says waits, and requires that the Endpoints of the Service web have this content.
func (w *world) says(what string, lines ...string) {
	w.t.Helper()
	w.settle()
	endpoints := w.endpoints()
	require.NotNil(w.t, endpoints, what)
	require.Equal(w.t, lines, text(endpoints.Subsets), what)
}

// did counts the controller's writes, by verb and resource, and clears the log.
func (w *world) did() map[string]int { return w.whole.Wrote() }

// notes returns the notes of all events, by reason.
func (w *world) notes() map[string][]string {
	return w.whole.Notes("endpoint-controller", "Endpoints")
}

// byHand are Endpoints that a user has created.
func byHand(changes ...func(*corev1.Endpoints)) *corev1.Endpoints {
	endpoints := &corev1.Endpoints{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Subsets: []corev1.EndpointSubset{
			{Addresses: []corev1.EndpointAddress{{IP: "192.0.2.1"}}, Ports: ports(http)},
		},
	}
	for _, change := range changes {
		change(endpoints)
	}
	return endpoints
}
