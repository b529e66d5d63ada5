package endpoints

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/metrics/server"
)

// agent is how the server knows the requests of the controller.
const agent = "endpoints-test"

var (
	watches         = fakeapi.Match{UserAgent: agent, Verb: "watch"}
	endpointsWrites = fakeapi.Match{UserAgent: agent, Resource: "endpoints"}
)

// world is an API server, the controller, and users.
type world struct {
	t        *testing.T
	server   *fakeapi.Server
	users    client.Client
	settings interface {
		Add(manager.Manager, controllers.Options) error
	}

	stop    context.CancelFunc
	running sync.WaitGroup
	ended   error // of the manager; read after running
}

// inWorld runs a test in a bubble. The controller does not run yet.
func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, server: fakeapi.New(fakeapi.Options{NoManagedFields: true}), settings: Settings{}, stop: func() {}}
		defer w.server.Close()
		connection := w.server.Config()
		connection.WarningHandlerWithContext = rest.NoWarnings{}
		var err error
		w.users, err = client.New(connection, client.Options{})
		require.NoError(t, err)
		defer w.end()
		test(t, w)
	})
}

// start starts the controller, and waits until it has nothing to do.
func (w *world) start() {
	w.t.Helper()
	connection := w.server.Config()
	connection.UserAgent = agent
	mgr, err := manager.New(connection, manager.Options{
		Logger: logr.Discard(), Metrics: server.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: new(true)},
	})
	require.NoError(w.t, err)
	require.NoError(w.t, w.settings.Add(mgr, controllers.Options{Probe: controllers.ProbeOptions{Skip: true}}))
	ctx, stop := context.WithCancel(w.t.Context())
	w.stop = stop
	w.running.Go(func() { w.ended = mgr.Start(ctx) })
	w.settle()
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

// service makes a Service as webService does.
func (w *world) service(changes ...func(*corev1.Service)) *corev1.Service {
	w.t.Helper()
	service := webService(changes...)
	w.create(service)
	return service
}

// pod makes a Pod as runningPod does.
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

func (w *world) delete(object client.Object, opts ...client.DeleteOption) {
	w.t.Helper()
	require.NoError(w.t, w.users.Delete(w.t.Context(), object, opts...))
}

// endpoints are those of the Service web, or nil.
func (w *world) endpoints() *corev1.Endpoints {
	w.t.Helper()
	endpoints := &corev1.Endpoints{}
	err := w.users.Get(w.t.Context(), client.ObjectKey{Namespace: "default", Name: "web"}, endpoints)
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(w.t, err)
	return endpoints
}

// says requires that the Endpoints of the Service web say this, when all is settled.
func (w *world) says(what string, lines ...string) {
	w.t.Helper()
	w.settle()
	endpoints := w.endpoints()
	require.NotNil(w.t, endpoints, what)
	require.Equal(w.t, lines, text(endpoints.Subsets), what)
}

// did counts the controller's writes, by verb and resource, and forgets them.
func (w *world) did() map[string]int {
	did := map[string]int{}
	for _, request := range w.server.Requests(fakeapi.Match{UserAgent: agent}) {
		if isWrite(request) {
			did[request.Verb+" "+request.Resource]++
		}
	}
	w.server.ForgetRequests()
	return did
}

func isWrite(r fakeapi.Request) bool {
	return slices.Contains([]string{"create", "update", "patch", "delete"}, r.Verb) && r.Resource != "events"
}

// notes are those of all events, by reason.
func (w *world) notes() map[string][]string {
	var list eventsv1.EventList
	require.NoError(w.t, w.users.List(w.t.Context(), &list))
	notes := map[string][]string{}
	for _, event := range list.Items {
		require.Equal(w.t, "Endpoints", event.Regarding.Kind)
		require.Equal(w.t, "endpoint-controller", event.ReportingController)
		notes[event.Reason] = append(notes[event.Reason], event.Note)
	}
	return notes
}

// byHand are Endpoints that a user has made.
func byHand(changes ...func(*corev1.Endpoints)) *corev1.Endpoints {
	endpoints := &corev1.Endpoints{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Subsets:    []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: "192.0.2.1"}}, Ports: ports(http)}},
	}
	for _, change := range changes {
		change(endpoints)
	}
	return endpoints
}
