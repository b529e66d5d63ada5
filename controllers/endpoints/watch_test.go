package endpoints

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/internal/simulation"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/fake"
	"github.com/loopwright/loopwright/manager/client/interceptor"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/manager/reconcile"
)

// woken is a queue that records what is added to it.
type woken struct {
	queue
	names []string
}

func (w *woken) Add(request reconcile.Request) { w.names = append(w.names, request.Name) }

func (w *woken) AddAfter(request reconcile.Request, after time.Duration) {
	w.names = append(w.names, fmt.Sprint(request.Name, " in ", after))
}

// wakes returns the requests that an event leads to.
func wakes(t *testing.T, h handler.EventHandler, e any) []string {
	q := &woken{}
	switch e := e.(type) {
	case event.CreateEvent:
		h.Create(t.Context(), e, q)
	case event.UpdateEvent:
		h.Update(t.Context(), e, q)
	case event.DeleteEvent:
		h.Delete(t.Context(), e, q)
	}
	return q.names
}

func selecting(name string, selector map[string]string) *corev1.Service {
	return webService(func(s *corev1.Service) { s.Name, s.Spec.Selector = name, selector })
}

// services returns a cache with some Services: web and shop select app=web, and new selects
// version=2.
func services(t *testing.T, funcs interceptor.Funcs) client.Reader {
	elsewhere := selecting("elsewhere", map[string]string{"app": "web"})
	elsewhere.Namespace = "other"
	return fake.NewClientBuilder().
		WithIndex(&corev1.Service{}, selectorIndex, selectorIndexValues).
		WithInterceptorFuncs(funcs).WithObjects(
		selecting("web", map[string]string{"app": "web"}),
		selecting("shop", map[string]string{"app": "web", "tier": "front"}),
		selecting("new", map[string]string{"version": "2"}), selecting("all", nil), elsewhere,
	).Build()
}

// A needless reconcile of a Service reads all its Pods; without a needed one, the Service routes to
// Pods that are gone.
func TestWhomAnEventOfAPodWakes(t *testing.T) {
	events := podEvents{services: services(t, simulation.Sharing(t)), index: selectorIndex}
	with := func(labels map[string]string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Labels = labels }
	}
	front := map[string]string{"app": "web", "tier": "front"}
	started := runningPod(1)
	update := func(before, now *corev1.Pod) event.UpdateEvent {
		return event.UpdateEvent{ObjectOld: before, ObjectNew: now}
	}
	for _, c := range []struct {
		name  string
		event any
		want  []string
	}{
		{"it is new, and has an address", event.CreateEvent{Object: started}, []string{"web"}},
		{
			"it has more labels", event.CreateEvent{Object: runningPod(1, with(front))},
			[]string{"shop", "web"},
		},
		{"it is new, and has no address", event.CreateEvent{Object: runningPod(1, withIPs())}, nil},
		{
			"it was there at the start", event.CreateEvent{Object: started, IsInInitialList: true},
			nil,
		},
		{"nothing that matters has changed", update(started, runningPod(1, func(pod *corev1.Pod) {
			pod.Annotations = front
		})), nil},
		{"it has got its address", update(runningPod(1, withIPs()), started), []string{"web"}},
		{"it has lost its address", update(started, runningPod(1, withIPs())), []string{"web"}},
		{
			"it has no address yet, and is scheduled",
			update(runningPod(1, withIPs(), notReady), runningPod(1, withIPs())), nil,
		},
		{
			"it has another address", update(started, runningPod(1, withIPs("10.0.0.9"))),
			[]string{"web"},
		},
		{"it is not ready any more", update(started, runningPod(1, notReady)), []string{"web"}},
		{"it is being deleted", update(started, runningPod(1, deleted)), []string{"web"}},
		{"it has ended", update(started, runningPod(1, failed)), []string{"web"}},
		{
			"it has ended while it is being deleted",
			update(runningPod(1, deleted), runningPod(1, deleted, failed)), []string{"web"},
		},
		{
			"it has another label, and nothing else", update(started, runningPod(1, with(front))),
			[]string{"shop"},
		},
		{"it has lost a label", update(runningPod(1, with(front)), started), []string{"shop"}},
		{
			"it has another label, and is not ready",
			update(started, runningPod(1, with(front), notReady)), []string{"web", "shop"},
		},
		{"it is gone", event.DeleteEvent{Object: started}, []string{"web"}},
		{
			"it is gone, and never had an address",
			event.DeleteEvent{Object: runningPod(1, withIPs())}, nil,
		},
	} {
		require.ElementsMatch(t, c.want, wakes(t, events.handler(), c.event), c.name)
	}
	events.period = time.Second
	require.Equal(t, []string{"web in 1s"},
		wakes(t, events.handler(), event.CreateEvent{Object: started}))
}

// If one lookup fails, the controller must log it, and make the others.
func TestWhoCannotBeLookedUpIsInTheLogAndTheOthersAreWoken(t *testing.T) {
	lookups := 0
	fails := interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch,
		list client.ObjectList, opts ...client.ListOption) error {
		if lookups++; lookups == 1 { // the one for the label app
			return errors.New("not there")
		}
		return c.List(ctx, list, opts...)
	}}
	var logged []string
	ctx := log.IntoContext(t.Context(), funcr.New(func(_, line string) {
		logged = append(logged, line)
	}, funcr.Options{}))
	pod := runningPod(1, func(pod *corev1.Pod) { pod.Labels["version"] = "2" })
	found := podEvents{services: services(t, fails), index: selectorIndex}.selecting(ctx, pod)
	require.Equal(t, []client.ObjectKey{{Namespace: "default", Name: "new"}}, found)
	require.Len(t, logged, 1)
	require.Contains(t, logged[0], "pod-1")
	require.Contains(t, logged[0], "not there")
}

// The controller restores Endpoints that a controller has created. It keeps those that a user
// creates by hand, with or without a Service.
func TestWhomAnEventOfEndpointsWakes(t *testing.T) {
	var memory memory
	memory.writes(webKey)
	memory.wrote(webKey, "5", time.Time{})
	events := endpointsEvents{services(t, simulation.Sharing(t)), &memory}
	version := func(version string, changes ...func(*corev1.Endpoints)) *corev1.Endpoints {
		endpoints := byHand(changes...)
		endpoints.ResourceVersion = version
		return endpoints
	}
	managed := func(e *corev1.Endpoints) { e.Labels = map[string]string{managedBy: controllerName} }
	other := func(e *corev1.Endpoints) { e.Name = "nobody" }
	for _, c := range []struct {
		name  string
		event any
		wakes bool
	}{
		{
			"at the start, all are looked at",
			event.CreateEvent{Object: version("5"), IsInInitialList: true}, true,
		},
		{"a user has made some", event.CreateEvent{Object: version("6")}, false},
		{
			"another controller has made some", event.CreateEvent{Object: version("6", managed)},
			true,
		},
		{"this controller has made some", event.CreateEvent{Object: version("5", managed)}, false},
		{
			"a user has changed their own",
			event.UpdateEvent{ObjectOld: version("4"), ObjectNew: version("6")}, false,
		},
		{
			"somebody has changed the controller's",
			event.UpdateEvent{ObjectOld: version("5", managed), ObjectNew: version("6", managed)},
			true,
		},
		{
			"somebody has taken the label away",
			event.UpdateEvent{ObjectOld: version("5", managed), ObjectNew: version("6")}, true,
		},
		{
			"somebody has added the label",
			event.UpdateEvent{ObjectOld: version("4"), ObjectNew: version("6", managed)}, true,
		},
		{
			"this controller has changed them",
			event.UpdateEvent{ObjectOld: version("4", managed), ObjectNew: version("5", managed)},
			false,
		},
		{"they are gone", event.DeleteEvent{Object: version("6")}, true},
		{
			"they are gone, and there is no Service",
			event.DeleteEvent{Object: version("6", other)}, false,
		},
	} {
		require.Equal(t, c.wakes, len(wakes(t, events.handler(), c.event)) == 1, c.name)
	}
}
