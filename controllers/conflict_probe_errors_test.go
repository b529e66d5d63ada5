package controllers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/fake"
	"github.com/loopwright/loopwright/manager/client/interceptor"
	"github.com/loopwright/loopwright/manager/metrics/server"
)

// A process that gives up while the API server restarts is down for longer than the API server; one
// that does not give up when another controller has answered never says why it does nothing.
func TestWhichErrorsOfAProbeAreFinal(t *testing.T) {
	sets := schema.GroupResource{Group: "apps", Resource: "replicasets"}
	status := func(code int32) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code}}
	}
	for _, err := range []error{
		&otherOwnerError{}, &rivalError{}, fmt.Errorf("wrapped: %w", &otherOwnerError{}),
		fmt.Errorf("wrapped: %w", &rivalError{}),
		status(400), status(499), apierrors.NewForbidden(sets, "a", nil),
		apierrors.NewNotFound(sets, "a"),
		&refusedError{err: apierrors.NewForbidden(sets, "a", nil)},
	} {
		require.True(t, isFinal(err), "%v", err)
	}
	for _, err := range []error{
		errors.New("the connection broke"), status(0), status(399), status(408), status(429),
		status(500), apierrors.NewServiceUnavailable("stopping"),
	} {
		require.False(t, isFinal(err), "%v", err)
	}
}

// An administrator has to find the other controller.
func TestWhoHasAnsweredIsNamedAsManagedFieldsNameThem(t *testing.T) {
	var set appsv1.ReplicaSet
	require.Empty(t, writersOf(&set))
	for _, manager := range []string{probeManager, "kube-controller-manager", "",
		"kube-controller-manager", "other"} {
		set.ManagedFields = append(set.ManagedFields, metav1.ManagedFieldsEntry{Manager: manager})
	}
	require.Equal(t, []string{"kube-controller-manager", "other"}, writersOf(&set))
	e := &otherOwnerError{
		original: "replicaset-controller", probe: "ReplicaSet default/a",
		after: 1234567 * time.Microsecond,
	}
	require.ErrorContains(t, e,
		"already: somebody has answered the probe ReplicaSet default/a after 1.235s. ")
	e.by = []string{"one"}
	require.ErrorContains(t, e, ": one has answered")
	e.by = []string{"one", "two"}
	require.ErrorContains(t, e, ": one and two has answered")
}

// A name that stands there twice looks like two controllers.
func TestARefusalNamesTheControllerOnce(t *testing.T) {
	inWorld(t, func(w *world) {
		stop := w.other(time.Second, w.writesStatus, &appsv1.ReplicaSetList{})
		defer stop()
		err := w.starts(setProbe, ProbeOptions{}, time.Minute)
		require.ErrorContains(w, err, "has answered")
		require.Equal(w, 1, strings.Count(err.Error(), "controller replicaset: "), "%v", err)
	})
}

// Someone whose other terminal runs `make controllers` would look for a flag of kube-controller-manager.
func TestAnErrorSaysHowToStopWhatHasAnswered(t *testing.T) {
	for _, c := range []struct {
		by         []string
		says, cant string
	}{
		{[]string{"kube-controller-manager"}, "so switch Kubernetes' own off with kube-controller-manager " +
			"--controllers=*,-replicaset-controller, and", "stop the program"},
		{[]string{"controllers"}, "so stop the program that writes as controllers: it is not Kubernetes' own",
			"--controllers=*"},
		{[]string{"controllers", "mini"}, "so stop the program that writes as controllers or mini: ", "--controllers=*"},
		{nil, "so stop the other one: `make controllers`, `make mini` or the like, or Kubernetes' own with " +
			"kube-controller-manager --controllers=*,-replicaset-controller", "writes as"},
	} {
		e := &otherOwnerError{original: "replicaset-controller", by: c.by}
		require.ErrorContains(t, e, c.says)
		require.NotContains(t, e.Error(), c.cant)
	}
}

func TestARuleNamesTheResourceOfTheKind(t *testing.T) {
	p := &prober{client: fake.NewFakeClient()}
	ignorant := &prober{
		client: fake.NewClientBuilder().WithRESTMapper(meta.NewDefaultRESTMapper(nil)).Build(),
	}
	require.Equal(t,
		`the rule {apiGroups: ["networking.k8s.io"], resources: ["networkpolicies"], verbs: ["get"]}`,
		p.rule(schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1",
			Kind: "NetworkPolicy"}, `["get"]`))
	require.Equal(t, `the rule {apiGroups: ["example.com"], resources: ["widget"], verbs: ["get"]}`,
		ignorant.rule(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"},
			`["get"]`), "or as near as it can be guessed")
}

// A mistake in a controller's Probe has to say what is wrong with it.
func TestAKindThatDoesNotServeIsAnError(t *testing.T) {
	pods := corev1.SchemeGroupVersion.WithKind("Pod")
	made, err := newOf[client.Object](scheme.Scheme, pods)
	require.NoError(t, err)
	require.Equal(t, &corev1.Pod{}, made)
	_, err = newOf[client.Object](scheme.Scheme, corev1.SchemeGroupVersion.WithKind("Nothing"))
	require.ErrorContains(t, err, `no kind "Nothing"`)
	_, err = newOf[client.ObjectList](scheme.Scheme, pods)
	require.ErrorContains(t, err, "the kind /v1, Kind=Pod is a *v1.Pod in Go, which a probe can't use")
}

func TestAProbeOfAKindWithoutAListIsAnError(t *testing.T) {
	nothing, name := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"},
		client.ObjectKey{Namespace: "default", Name: "probe"}
	p := &prober{
		client: fake.NewFakeClient(), probes: nothing, answers: nothing, namespace: "default",
	}
	require.ErrorContains(t, p.removeLeftovers(t.Context()), `no kind "WidgetList"`)
	_, err := p.watch(t.Context(), name)
	require.ErrorContains(t, err, `no kind "WidgetList"`)
	_, err = p.ask(t.Context(), name)
	require.ErrorContains(t, err, `no kind "Widget"`)
	p.AnswerLabel = "for"
	_, err = p.ask(t.Context(), name)
	require.ErrorContains(t, err, `no kind "WidgetList"`)
}

// An object that has the label, but no status yet, is no answer.
func TestTheFirstAnswerCounts(t *testing.T) {
	set := func(name string, generation int64) *appsv1.ReplicaSet {
		set := newSet(name)
		set.Labels, set.Status.ObservedGeneration = map[string]string{"for": "probe"}, generation
		return set
	}
	p := &prober{
		Probe: setProbe, client: fake.NewFakeClient(set("a", 0), set("b", 1), set("c", 1)),
		answers: appsv1.SchemeGroupVersion.WithKind("ReplicaSet"),
	}
	p.AnswerLabel = "for"
	answer, err := p.ask(t.Context(), client.ObjectKey{Namespace: "default", Name: "probe"})
	require.NoError(t, err)
	require.Equal(t, "b", answer.GetName())
}

// Of two processes that start at once, one deletes the other's probe, and may have created its own
// under that name. But if a controller has answered before, the administrator has to see that.
func TestAProbeThatSomebodyHasDeletedMeansARivalUnlessItWasAnswered(t *testing.T) {
	sets, kind := appsv1.Resource("replicasets"), appsv1.SchemeGroupVersion.WithKind("ReplicaSet")
	for _, gone := range []error{apierrors.NewNotFound(sets, "probe"),
		apierrors.NewConflict(sets, "probe", errors.New("another UID"))} {
		for _, isAnswered := range []bool{false, true} {
			inWorld(t, func(w *world) {
				live := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
					Delete: func(context.Context, client.WithWatch, client.Object,
						...client.DeleteOption) error {
						return gone
					},
				}).Build()
				p := &prober{
					Probe: setProbe, client: live, namespace: "default", name: "probe",
					wait: time.Second, probes: kind, answers: kind,
				}
				p.IsAnswered = func(client.Object) bool { return isAnswered }
				err := p.probe(w.Context())
				var rival *rivalError
				var other *otherOwnerError
				require.Equal(w, []bool{!isAnswered, isAnswered},
					[]bool{errors.As(err, &rival), errors.As(err, &other)}, "%v", err)
			})
		}
	}
}

// If the server does not answer a watch, the probe reads the object when the time is over.
func TestAWatchThatHangsIsNoAnswer(t *testing.T) {
	inWorld(t, func(w *world) {
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: ours, Verb: "watch"},
			Hang: true})
		began := time.Now()
		require.NoError(w, w.source(3*time.Second, logr.Discard()).WaitForSync(w.Context()))
		require.Equal(w, 3*time.Second, time.Since(began))
	})
}

// source is that of a probe of ReplicaSets, as a manager starts it.
func (w *world) source(wait time.Duration, logger logr.Logger) *probeSource {
	w.Helper()
	live, err := client.NewWithWatch(w.connection(), client.Options{})
	require.NoError(w, err)
	kind := appsv1.SchemeGroupVersion.WithKind("ReplicaSet")
	return &probeSource{
		&prober{
			Probe: setProbe, client: live, namespace: "default", name: "probe", wait: wait,
			probes: kind, answers: kind,
		},
		logger,
	}
}

// A user who waits for a controller to start sees what it waits for, and the second between two
// tries spares the server.
func TestAProbeSaysWhatItDoesAndRestsBetweenTwoTries(t *testing.T) {
	inWorld(t, func(w *world) {
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: ours, Verb: "list",
			Resource: "replicasets"}, Times: 2, Status: fakeapi.InternalError()})
		var lines []string
		var after []time.Duration
		began := time.Now()
		source := w.source(3*time.Second, funcr.New(func(_, line string) {
			lines, after = append(lines, line), append(after, time.Since(began))
		}, funcr.Options{}))
		require.Equal(w, "probe of the replicaset-controller", source.String())
		require.NoError(w, source.WaitForSync(w.Context()))
		require.Equal(w, 5*time.Second, time.Since(began),
			"two pauses, and then three seconds for an answer")
		require.Len(w, lines, 5)
		for i, want := range []string{"Probing whether", "Probing again", "Probing whether",
			"Probing again", "Probing whether"} {
			require.Contains(w, lines[i], want)
			require.Contains(w, lines[i], `"namespace"="default"`)
		}
		require.Contains(w, lines[1], "list ReplicaSet in namespace default")
		require.Equal(w, []time.Duration{0, 0, time.Second, time.Second, 2 * time.Second}, after,
			"a failure is told at once")
	})
}

// nowhere is a type that no scheme knows.
type nowhere struct{ corev1.Pod }

func TestAProbeWhoseKindTheSchemeDoesNotKnowIsAnErrorBeforeTheStart(t *testing.T) {
	inWorld(t, func(w *world) {
		mgr, err := manager.New(w.connection(),
			manager.Options{Logger: logr.Discard(), Metrics: server.Options{BindAddress: "0"}})
		require.NoError(w, err)
		for _, probe := range []Probe{{Original: "them", Object: &nowhere{}},
			{Original: "them", Object: &corev1.Pod{}, Answer: &nowhere{}}} {
			_, err = newProbeSource(mgr, probe, ProbeOptions{})
			require.ErrorContains(w, err, "the probe of the them: ")
			require.ErrorContains(w, err, "nowhere")
		}
		source, err := newProbeSource(mgr, Probe{Original: "them", Object: &corev1.Pod{}},
			ProbeOptions{})
		require.NoError(w, err)
		require.Equal(w, source.prober.probes, source.prober.answers)
	})
}

// Without a limit, a server that hangs would keep a process from ending.
func TestADeletionThatHangsIsGivenUpAndTriedAgain(t *testing.T) {
	inWorld(t, func(w *world) {
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{UserAgent: ours, Verb: "delete"},
			Times: 1, Hang: true})
		began := time.Now()
		require.NoError(w, w.source(3*time.Second, logr.Discard()).WaitForSync(w.Context()))
		require.Equal(w, 17*time.Second, time.Since(began),
			"three for an answer, ten for the deletion, a pause, and three once more")
		w.nothingIsLeft(setProbe)
	})
}

func TestAWatchThatEndsIsBegunAgainAfterASecond(t *testing.T) {
	inWorld(t, func(w *world) {
		watches := fakeapi.Match{UserAgent: ours, Verb: "watch"}
		w.server.Inject(fakeapi.Fault{Match: watches, CutAfter: 500 * time.Millisecond})
		require.NoError(w, w.source(10*time.Second, logr.Discard()).WaitForSync(w.Context()))
		require.Len(w, w.server.Requests(watches), 7, "after 0, 1.5, 3, 4.5, 6, 7.5 and 9 seconds")
	})
}
