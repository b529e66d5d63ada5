package controllers

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/metrics/server"
	"github.com/loopwright/loopwright/manager/reconcile"
)

const (
	ours   = "ours"   // user agent of the controller that starts
	theirs = "theirs" // user agent of the other controller
)

// setProbe is a probe with an answer in its status, and serviceProbe one with an answer in another
// object.
var (
	setProbe = Probe{
		Original: "replicaset-controller",
		Object:   newSet(""),
		IsAnswered: func(o client.Object) bool {
			return o.(*appsv1.ReplicaSet).Status.ObservedGeneration > 0
		},
	}
	serviceProbe = Probe{
		Original: "endpoints-controller",
		Object: &corev1.Service{Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, Selector: map[string]string{"nobody": "has this"},
			Ports: []corev1.ServicePort{{Port: 80}},
		}},
		//lint:ignore SA1019 Endpoints are deprecated, and are what this is about
		Answer: &corev1.Endpoints{},
	}
)

func newSet(name string) *appsv1.ReplicaSet {
	labels := map[string]string{"app": "web"}
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: new(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}},
			},
		},
	}
}

// world is an API server, on which a controller starts.
type world struct {
	*testing.T
	server *fakeapi.Server
	live   client.WithWatch // of the other controller

	mu         sync.Mutex // guards reconciled
	reconciled []string
}

func inWorld(t *testing.T, test func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, server: fakeapi.New(fakeapi.Options{})}
		defer w.server.Close()
		connection := w.server.Config()
		connection.UserAgent, connection.WarningHandler = theirs, rest.NoWarnings{}
		var err error
		w.live, err = client.NewWithWatch(connection, client.Options{})
		require.NoError(w, err)
		test(w)
	})
}

// connection is that of the controller.
func (w *world) connection() *rest.Config {
	connection := w.server.Config()
	connection.UserAgent = ours
	return connection
}

// starts starts a controller, and returns the error with which it ends: within the time, or when it
// is stopped then.
func (w *world) starts(probe Probe, options ProbeOptions, within time.Duration) error {
	w.Helper()
	mgr, err := manager.New(w.connection(), manager.Options{
		Logger: logr.Discard(), Metrics: server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	require.NoError(w, err)
	build, err := Options{Probe: options}.Builder(mgr, probe)
	require.NoError(w, err)
	require.NoError(w, build.For(probe.Object).Complete(reconcile.Func(func(_ context.Context,
		r reconcile.Request) (reconcile.Result, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.reconciled = append(w.reconciled, r.Name)
		return reconcile.Result{}, nil
	})))
	ctx, stop := context.WithTimeout(w.Context(), within)
	defer stop()
	return mgr.Start(ctx)
}

// other plays a controller that answers each ReplicaSet after a time, or each Service, until the
// returned function is called.
func (w *world) other(
	after time.Duration, answer func(client.Object) error, list client.ObjectList,
) (stop func()) {
	watching, err := w.live.Watch(w.Context(), list)
	require.NoError(w, err)
	var running sync.WaitGroup
	running.Go(func() {
		for event := range watching.ResultChan() {
			if event.Type != watch.Added {
				continue
			}
			object := event.Object.(client.Object)
			running.Go(func() {
				time.Sleep(after)
				if err := answer(object); client.IgnoreNotFound(err) != nil {
					w.Error(err)
				}
			})
		}
	})
	return func() {
		watching.Stop()
		running.Wait()
	}
}

func (w *world) writesStatus(object client.Object) error {
	object.(*appsv1.ReplicaSet).Status.ObservedGeneration = object.GetGeneration()
	return w.live.Status().Update(w.Context(), object, client.FieldOwner("kube-controller-manager"))
}

func (w *world) makesEndpoints(service client.Object) error {
	//lint:ignore SA1019 see above
	endpoints := &corev1.Endpoints{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: service.GetNamespace(), Name: service.GetName(), Labels: service.GetLabels(),
		},
	}
	return w.live.Create(w.Context(), endpoints, client.FieldOwner("kube-controller-manager"))
}

// did counts what the controller has asked the server, and forgets it.
func (w *world) did(resource string) map[string]int {
	did := map[string]int{}
	for _, request := range w.server.Requests(fakeapi.Match{UserAgent: ours, Resource: resource}) {
		did[request.Verb]++
	}
	w.server.ForgetRequests()
	return did
}

func (w *world) nothingIsLeft(probe Probe) {
	w.Helper()
	for _, list := range []client.ObjectList{&appsv1.ReplicaSetList{}, &corev1.ServiceList{}} {
		require.NoError(w, w.live.List(w.Context(), list, client.HasLabels{probeLabel}))
		require.NoError(w, eachItem(list, func(o client.Object) error {
			return errors.New("there is still " + o.GetName())
		}))
	}
}

// Two controllers that create Pods for one ReplicaSet create twice as many.
func TestAControllerDoesNotStartWhereAnotherOneAnswers(t *testing.T) {
	for _, c := range []struct {
		name  string
		probe Probe
		other func(w *world) (stop func())
		wants string
	}{
		{"in the status", setProbe, func(w *world) func() {
			return w.other(time.Second, w.writesStatus, &appsv1.ReplicaSetList{})
		},
			"kube-controller-manager has answered the probe ReplicaSet default/loopwright-probe-"},
		{"in another object", serviceProbe, func(w *world) func() {
			return w.other(time.Second, w.makesEndpoints, &corev1.ServiceList{})
		},
			"kube-controller-manager has answered the probe Service default/loopwright-probe-"},
		{"in an object of another name", sliceProbe, func(w *world) func() {
			return w.other(time.Second, w.makesSlices, &corev1.ServiceList{})
		},
			"kube-controller-manager has answered the probe Service default/loopwright-probe-"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				stop := c.other(w)
				defer stop()
				require.NoError(w, w.live.Create(w.Context(), newSet("web")))
				began := time.Now()
				err := w.starts(c.probe, ProbeOptions{}, time.Hour)
				require.ErrorContains(w, err, c.wants)
				require.ErrorContains(w, err, " after 1s.")
				require.ErrorContains(w, err,
					"kube-controller-manager --controllers=*,-"+c.probe.Original)
				where := map[bool]string{
					false: "leaving " + c.probe.Original + " out of ORIGINALS",
					true:  "adding -" + c.probe.Original + " to ORIGINALS",
				}
				require.ErrorContains(w, err, where[c.probe.Optional])
				require.Equal(w, time.Second, time.Since(began), "an answer is seen when it comes")
				require.Empty(w, w.reconciled)
				w.nothingIsLeft(c.probe)
			})
		})
	}
}

func TestAControllerStartsWhereNobodyAnswers(t *testing.T) {
	for _, probe := range []Probe{setProbe, serviceProbe, sliceProbe} {
		inWorld(t, func(w *world) {
			require.NoError(w, w.live.Create(w.Context(), newSet("web")))
			service := serviceProbe.Object.DeepCopyObject().(client.Object)
			service.SetNamespace("default")
			service.SetName("web")
			require.NoError(w, w.live.Create(w.Context(), service))
			w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: ours, Verb: "watch"},
				CutAfter: 700 * time.Millisecond})
			require.NoError(w, w.starts(probe, ProbeOptions{}, 2900*time.Millisecond))
			require.Empty(w, w.reconciled, "not before 3 seconds are over")
			w.nothingIsLeft(probe)
			require.NoError(w, w.starts(probe, ProbeOptions{}, 3100*time.Millisecond))
			require.Contains(w, w.reconciled, "web")
			w.nothingIsLeft(probe)
		})
	}
}

// The cost is documented.
func TestAProbeTakesFiveRequests(t *testing.T) {
	inWorld(t, func(w *world) {
		require.NoError(w, w.starts(serviceProbe, ProbeOptions{Skip: true}, time.Minute))
		without := w.did("services")
		require.NoError(w, w.starts(serviceProbe, ProbeOptions{}, time.Minute))
		with, answers := w.did("services"), w.did("endpoints")
		require.Equal(w, map[string]int{"list": without["list"] + 1, "watch": without["watch"],
			"create": 1, "delete": 1}, with)
		require.Empty(w, answers)
	})
}

// This is a documented limit of the probe.
func TestAnAnswerThatComesTooLateIsNotSeen(t *testing.T) {
	inWorld(t, func(w *world) {
		stop := w.other(11*time.Second, w.writesStatus, &appsv1.ReplicaSetList{})
		defer stop()
		require.NoError(w, w.starts(setProbe, ProbeOptions{Wait: 10 * time.Second}, time.Minute))
		require.ErrorContains(w, w.starts(setProbe, ProbeOptions{Wait: 12 * time.Second},
			time.Minute), "after 11s")
	})
}

func TestWhatACrashHasLeftIsRemoved(t *testing.T) {
	inWorld(t, func(w *world) {
		left := newSet("loopwright-probe-left")
		left.Labels = map[string]string{probeLabel: setProbe.Original}
		foreign := newSet("foreign")
		foreign.Labels = map[string]string{probeLabel: "another-controller"}
		for _, set := range []*appsv1.ReplicaSet{left, foreign, newSet("web")} {
			require.NoError(w, w.live.Create(w.Context(), set))
		}
		require.NoError(w, w.starts(setProbe, ProbeOptions{}, time.Minute))
		require.True(w, apierrors.IsNotFound(w.live.Get(w.Context(),
			client.ObjectKeyFromObject(left), left)))
		require.NoError(w, w.live.Get(w.Context(), client.ObjectKeyFromObject(foreign), foreign))
		require.Subset(w, w.reconciled, []string{"web", "foreign"})
	})
}

// Two controllers that start at the same time do not answer each other's probes yet.
func TestOfTwoThatStartAtOnceOneIsLeft(t *testing.T) {
	inWorld(t, func(w *world) {
		var started sync.WaitGroup
		var first, second error
		started.Go(func() { first = w.starts(setProbe, ProbeOptions{}, time.Minute) })
		time.Sleep(time.Second)
		started.Go(func() { second = w.starts(setProbe, ProbeOptions{}, time.Minute) })
		started.Wait()
		require.ErrorContains(w, first, "another process starts its own replicaset-controller")
		require.NoError(w, second)
		w.nothingIsLeft(setProbe)
	})
}

// A user who stops the process must not find a probe in the cluster.
func TestAProbeIsRemovedIfTheProcessIsStopped(t *testing.T) {
	inWorld(t, func(w *world) {
		require.NoError(w, w.starts(setProbe, ProbeOptions{Wait: time.Hour}, time.Second))
		require.Equal(w, 1, w.did("replicasets")["create"])
		w.nothingIsLeft(setProbe)
	})
}

// A late cache shows the controller its own probe after the end, and it must answer another
// program's probe, which looks the same.
func TestAControllerAnswersTheProbesOfOthersOnly(t *testing.T) {
	for _, probe := range []Probe{setProbe, serviceProbe} {
		inWorld(t, func(w *world) {
			named := func(name string) client.Object {
				object := probe.Object.DeepCopyObject().(client.Object)
				object.SetNamespace("default")
				object.SetName(name)
				object.SetLabels(map[string]string{probeLabel: probe.Original})
				return object
			}
			w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: ours, Verb: "watch"},
				DelayEvents: 10 * time.Second})
			var others sync.WaitGroup
			others.Go(func() {
				time.Sleep(20 * time.Second) // by then, the events of our own probe have come
				if err := w.live.Create(w.Context(), named("loopwright-probe-theirs")); err != nil {
					w.Error(err)
				}
			})
			require.NoError(w, w.starts(probe, ProbeOptions{}, time.Minute))
			others.Wait()
			require.Equal(w, []string{"loopwright-probe-theirs"}, w.reconciled)
		})
	}
}

// An object in another namespace may have the probe's name, and the answer may have a label instead
// of the name.
func TestTheProbeAndItsAnswerAreKnown(t *testing.T) {
	p := &prober{namespace: "default", name: "probe"}
	require.False(t, p.isOther(newSet("probe")))
	require.True(t, p.isOther(newSet("web")))
	elsewhere := newSet("probe")
	elsewhere.Namespace = "shop"
	require.True(t, p.isOther(elsewhere))

	answer := newSet("probe-x7k2p")
	answer.Labels = map[string]string{"for": "probe"}
	require.True(t, p.isOther(answer))
	p.AnswerLabel = "for"
	require.False(t, p.isOther(answer))
	answer.Labels["for"] = "another"
	require.True(t, p.isOther(answer))
}

// sliceProbe is a probe with an answer whose name is not known.
var sliceProbe = Probe{
	Original: "endpointslice-controller", Optional: true,
	Object: serviceProbe.Object, Answer: &discoveryv1.EndpointSlice{},
	AnswerLabel: discoveryv1.LabelServiceName,
}

// makesSlices answers a Service with an object of another name.
func (w *world) makesSlices(service client.Object) error {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: service.GetNamespace(), GenerateName: service.GetName() + "-",
			Labels: map[string]string{discoveryv1.LabelServiceName: service.GetName()},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
	}
	return w.live.Create(w.Context(), slice, client.FieldOwner("kube-controller-manager"))
}

// A watch may be late, and a get is not.
func TestAnAnswerIsSeenThoughTheWatchIsLate(t *testing.T) {
	inWorld(t, func(w *world) {
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: ours, Verb: "watch"},
			DelayEvents: time.Hour})
		stop := w.other(time.Second, w.writesStatus, &appsv1.ReplicaSetList{})
		defer stop()
		require.ErrorContains(w, w.starts(setProbe, ProbeOptions{}, time.Minute), "has answered")
		stopToo := w.other(time.Second, w.makesSlices, &corev1.ServiceList{})
		defer stopToo()
		require.ErrorContains(w, w.starts(sliceProbe, ProbeOptions{}, time.Minute), "has answered")
	})
}

// Two controllers that reconcile one kind fight about every object of it, and one that believes in a fight that there
// isn't never starts. A proxy's 404 says neither.
func TestAProxys404IsNoAnswerOfAnotherController(t *testing.T) {
	text := &metav1.Status{Status: metav1.StatusFailure, Code: 404, Reason: metav1.StatusReasonNotFound}
	inWorld(t, func(w *world) {
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: ours, Verb: "get", Resource: "endpoints"}, Status: text})
		require.Error(w, w.starts(serviceProbe, ProbeOptions{}, time.Hour), "nobody has said that there's no answer")
	})
	inWorld(t, func(w *world) {
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: ours, Verb: "delete", Resource: "replicasets"}, Status: text})
		err := w.starts(setProbe, ProbeOptions{}, time.Hour)
		require.Error(w, err)
		var rival *rivalError
		require.False(w, errors.As(err, &rival), "nobody has said that the probe was deleted: %v", err)
	})
}

// A program that has no manager would otherwise fight with a controller that it could have found.
func TestAProgramWithoutAManagerFindsTheOtherControllerToo(t *testing.T) {
	inWorld(t, func(w *world) {
		require.NoError(w, setProbe.Check(w.Context(), w.connection(), ProbeOptions{}))
		stop := w.other(time.Second, w.writesStatus, &appsv1.ReplicaSetList{})
		defer stop()
		require.NoError(w, setProbe.Check(w.Context(), w.connection(), ProbeOptions{Skip: true}))
		require.ErrorContains(w, setProbe.Check(w.Context(), w.connection(), ProbeOptions{}),
			"kube-controller-manager has answered the probe ReplicaSet default/loopwright-probe-")
		w.nothingIsLeft(setProbe)
	})
}
