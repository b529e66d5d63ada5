package informer

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/trace"
)

// The documentation promises these, and timeouts elsewhere are chosen by them.
func TestTheDefaultsAreWhatTheDocumentationSays(t *testing.T) {
	options := func(o ReflectorOptions) ReflectorOptions {
		return NewReflector(ListerWatcher[*corev1.ConfigMap](&sameToken{}),
			Sink[*corev1.ConfigMap](newView()), o).options
	}
	got := options(ReflectorOptions{})
	require.EqualValues(t, 500, got.PageSize)
	require.Equal(t, 90*time.Second, got.RequestTimeout)
	require.Equal(t, 20*time.Second, got.StreamTimeout)
	require.Equal(t, 5*time.Minute, got.WatchTimeout)
	require.Equal(t, 30*time.Second, got.PollInterval)
	require.Equal(t, 2*time.Second, got.Backoff.Healthy)
	require.NotNil(t, got.Random)

	got = options(ReflectorOptions{
		PageSize: 1, RequestTimeout: time.Second, StreamTimeout: 2 * time.Second,
		WatchTimeout: 3 * time.Second,
		PollInterval: 4 * time.Second, Backoff: Backoff{Healthy: time.Minute},
		Random: func() float64 { return 0.25 },
	})
	require.EqualValues(t, 1, got.PageSize)
	require.Equal(t, time.Second, got.RequestTimeout)
	require.Equal(t, 2*time.Second, got.StreamTimeout)
	require.Equal(t, 3*time.Second, got.WatchTimeout)
	require.Equal(t, 4*time.Second, got.PollInterval)
	require.Equal(t, 1500*time.Millisecond, got.Backoff.Healthy,
		"a watch that lived for half its time is healthy")
	require.Equal(t, 0.25, got.Random())
	require.Equal(t, time.Second, options(ReflectorOptions{WatchTimeout: time.Millisecond}).WatchTimeout, "a server counts in seconds")
}

// A pause without a reason in the timeline is a program that does nothing, and nobody
// knows why.
func TestTheRecorderKnowsWhyAReflectorWaits(t *testing.T) {
	for _, c := range []struct {
		name   string
		faults []fakeapi.Fault
		want   []string
	}{
		{"refused", []fakeapi.Fault{{Times: 1, Status: fakeapi.Forbidden()}}, []string{
			`attempt 2: this client may not watch configmaps in namespace default, bind it to a Role there with the rule {apiGroups: [""], resources: ["configmaps"], verbs: ["list", "watch"]}`}},
		{"an error of the server, which the request has recorded", []fakeapi.Fault{{Times: 2,
			Status: fakeapi.Unavailable()}}, []string{"attempt 2: ", "attempt 3: "}},
		{"ended at once", []fakeapi.Fault{{Skip: 1, Times: 1, CutAfter: time.Nanosecond}, {Times: 1,
			CutAfter: time.Minute}},
			[]string{"attempt 2: the server ended the watch soon after it began"}},
	} {
		inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
			w.create(t, "apple", nil)
			for _, fault := range c.faults {
				fault.Match = configMapWatches
				s.Inject(fault)
			}
			r := runReflector(t, w, ReflectorOptions{Random: func() float64 { return 0.5 }})
			time.Sleep(2 * time.Minute)
			require.NoError(t, r.stop())
			var got []string
			pause := 750 * time.Millisecond
			for _, e := range (trace.Filter{Kinds: []trace.Kind{trace.Backoff}}).Select(r.recorder.Events()) {
				require.Equal(t, "reflector", e.Layer)
				require.Equal(t, "ConfigMap", e.Object)
				require.Equal(t, "default", e.Namespace)
				require.Equal(t, pause, e.Took, "%s: the pause itself", c.name)
				pause *= 2
				got = append(got, fmt.Sprintf("attempt %d: %s", e.Count, e.Reason))
			}
			require.Equal(t, c.want, got, c.name)
		})
	}
}

// A list in place of a stream costs the server more, so the timeline says why.
func TestTheRecorderKnowsWhyAReflectorListsOrPolls(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault fakeapi.Fault
		want  string
	}{
		{"a stream that is refused", fakeapi.Fault{Match: configMapWatches, NoWatchList: true},
			"refuses WatchList"},
		{"a list without a version", withoutVersions, "polled every 30s"},
	} {
		inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
			w.create(t, "apple", nil)
			s.Inject(c.fault)
			r := runReflector(t, w, ReflectorOptions{})
			time.Sleep(10 * time.Second)
			require.NoError(t, r.stop())
			var said []string
			for _, e := range (trace.Filter{Kinds: []trace.Kind{trace.Error}}).Select(r.recorder.Events()) {
				if e.Layer == "reflector" {
					require.NotEmpty(t, e.Reason, "%s: an event that says nothing", c.name)
					require.Zero(t, e.Took, c.name)
					said = append(said, e.Reason)
				}
			}
			require.NotEmpty(t, said, c.name)
			require.Contains(t, said[len(said)-1], c.want, c.name)
		})
	}
}

// A connection that breaks after a while is opened again at once. That is in the timeline already,
// as the end of a watch.
func TestTheRecorderHearsNothingOfWhatNeedsNoExplanation(t *testing.T) {
	inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
		s.Inject(fakeapi.Fault{Match: configMapWatches, CutAfter: time.Minute, CutAbruptly: true})
		r := runReflector(t, w, ReflectorOptions{})
		time.Sleep(5 * time.Minute)
		require.NoError(t, r.stop())
		require.Error(t, r.Health().LastError, "the connection broke, or this proves nothing")
		for _, e := range r.recorder.Events() {
			require.NotEqual(t, "reflector", e.Layer, "%v", e)
		}
	})
}

// An operator asks two questions: when was the server last there, and what went wrong since when?
func TestTheHealthSaysWhenTheServerWasLastThere(t *testing.T) {
	inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
		w.create(t, "apple", nil)
		remove := s.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "configmaps"}, Refuse: true})
		r := runReflector(t, w, ReflectorOptions{})
		time.Sleep(30 * time.Second)
		health := r.Health()
		require.Zero(t, health.LastContact, "no request was accepted")
		require.False(t, health.Synced)
		require.Empty(t, health.ResourceVersion)
		require.Error(t, health.LastError)
		require.Less(t, time.Since(health.LastErrorAt), 31*time.Second)
		require.Greater(t, health.Failures, 2)
		remove()
		r.view.untilIsThere(t, "apple")
		time.Sleep(40 * time.Second)
		failed := r.Health().LastErrorAt
		require.GreaterOrEqual(t, time.Since(failed), 40*time.Second)
		require.GreaterOrEqual(t, time.Since(r.Health().LastContact), 40*time.Second)
		w.change(t, "apple", 7)
		synctest.Wait()
		require.Zero(t, time.Since(r.Health().LastContact), "an event is a sign of life")
		require.Equal(t, failed, r.Health().LastErrorAt, "and no error")
		require.Equal(t, r.view.version, r.Health().ResourceVersion)
		require.True(t, r.Health().Synced)
	})
}

// A readiness check that fails too early takes every replica out of service while the API
// server restarts; one that fails too late sends users to a program that sees nothing.
func TestAReflectorIsReadyUntilItIsOutOfTouchForTooLong(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	cut := errors.New("the connection was cut")
	for _, c := range []struct {
		name   string
		health Health
		want   string // nothing if it is ready
	}{
		{"no view yet, though a watch is open", Health{State: StateStreaming, LastContact: now},
			"not synced yet, streaming: no error so far"},
		{"no view yet, and an error", Health{State: StateWaiting, LastContact: now, LastError: cut},
			"not synced yet, waiting: the connection was cut"},
		{"a quiet watch", Health{State: StateWatching, Synced: true, LastContact: now.Add(-time.Hour)},
			""},
		{"a long interval between polls", Health{State: StatePolling, Synced: true,
			LastContact: now.Add(-time.Hour)}, ""},
		{"away for as long as patience lasts", Health{State: StateWaiting, Synced: true,
			LastContact: now.Add(-time.Minute), LastError: cut}, ""},
		{"away for longer", Health{State: StateConnecting, Synced: true,
			LastContact: now.Add(-time.Minute - 400*time.Millisecond), LastError: cut},
			"out of touch with the API server for 1m0s, connecting: the connection was cut"},
		{"away for longer, without an error", Health{State: StateStopped, Synced: true,
			LastContact: now.Add(-61 * time.Second)},
			"out of touch with the API server for 1m1s, stopped: no error so far"},
	} {
		err := c.health.Ready(now, time.Minute)
		if c.want == "" {
			require.NoError(t, err, c.name)
			continue
		}
		require.EqualError(t, err, c.want, c.name)
		if c.health.LastError != nil {
			require.ErrorIs(t, err, cut, c.name)
		}
	}
}

// The names stand in the error of a readiness check and in the chapter's diagram.
func TestEachStateHasItsName(t *testing.T) {
	var names []string
	for s := StateIdle; s <= StateStopped; s++ {
		names = append(names, s.String())
	}
	require.Equal(t, "[idle streaming listing polling connecting watching waiting stopped]",
		fmt.Sprint(names))
}

var deploymentResource = schema.GroupVersionResource{Group: "apps", Version: "v1",
	Resource: "deployments"}

// What an operator reads in a log is all they have: it must say what to do, and where.
func TestARefusalSaysWhatToDo(t *testing.T) {
	answer := errors.New("the server's answer")
	for _, c := range []struct {
		refused RefusedError
		want    string
	}{
		{RefusedError{Reason: Forbidden, Verb: "list", Resource: deploymentResource},
			`this client may not list deployments.apps in all namespaces, bind it to a ClusterRole with the rule {apiGroups: ["apps"], resources: ["deployments"], verbs: ["list", "watch"]}`},
		{RefusedError{Reason: Forbidden, Verb: "watch", Resource: deploymentResource, Namespace: "shop"},
			`this client may not watch deployments.apps in namespace shop, bind it to a Role there with the rule {apiGroups: ["apps"], resources: ["deployments"], verbs: ["list", "watch"]}`},
		{RefusedError{Reason: UnknownKind, Verb: "list", Resource: deploymentResource},
			"cannot list deployments.apps, the API server does not serve apps/v1, Resource=deployments: " +
				"is its CustomResourceDefinition installed, or its API server up?"},
		{RefusedError{Reason: BadCredentials, Verb: "watch", Resource: deploymentResource},
			"cannot watch deployments.apps, the API server does not accept this client's credentials: " +
				"they are missing, wrong or expired"},
		{RefusedError{Reason: Forbidden, Verb: "list", Kind: "Deployment"},
			"this client may not list Deployment"},
		{RefusedError{Reason: UnknownKind, Verb: "list", Kind: "Deployment"},
			"cannot list Deployment, the API server does not serve it"},
		{RefusedError{Reason: BadCredentials, Verb: "list", Kind: "Deployment"},
			"cannot list Deployment, the API server does not accept this client's credentials: they are " +
				"missing, wrong or expired"},
	} {
		c.refused.Err = answer
		require.EqualError(t, &c.refused, c.want+": the server's answer")
		require.ErrorIs(t, &c.refused, answer)
	}
}

// What the machine does after an error depends on nothing but this.
func TestEachErrorIsTheFaultThatItIs(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	answered := func(code int, reason metav1.StatusReason) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure,
			Code: int32(code), Reason: reason}}
	}
	tooLarge := apierrors.NewTimeoutError("Too large resource version", 1)
	tooLarge.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
	for _, c := range []struct {
		name string
		err  error
		want faultKind
	}{
		{"a broken connection", errors.New("connection reset"), faultBroken},
		{"an internal error", answered(http.StatusInternalServerError, metav1.StatusReasonInternalError),
			faultBroken},
		{"a timeout", apierrors.NewTimeoutError("busy", 1), faultBroken},
		{"forbidden", apierrors.NewForbidden(pods, "", nil), faultBroken},
		{"cut by us", errStalled, faultStalled},
		{"expired", answered(http.StatusGone, metav1.StatusReasonExpired), faultExpired},
		{"gone", answered(http.StatusGone, metav1.StatusReasonGone), faultExpired},
		{"a version that the server has not reached", tooLarge, faultTooLarge},
		{"not found", apierrors.NewNotFound(pods, ""), faultUnknownKind},
		{"invalid", answered(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid),
			faultUnsupported},
		{"a bad request", apierrors.NewBadRequest("no"), faultUnsupported},
		{"a method that is not supported", apierrors.NewMethodNotSupported(pods, "watch"),
			faultUnsupported},
		{"a media type that is not supported", answered(http.StatusUnsupportedMediaType,
			metav1.StatusReasonUnsupportedMediaType), faultUnsupported},
		{"an object that cannot be read", answered(http.StatusInternalServerError,
			metav1.StatusReasonStoreReadError), faultUnreadable},
	} {
		require.Equal(t, c.want, faultOf(c.err), c.name)
	}
}

// An error that nobody but the caller understands must reach the caller as it is.
func TestOnlyARefusalBecomesARefusedError(t *testing.T) {
	broken := errors.New("connection reset")
	require.Same(t, broken, readerIdentity{kind: "Pod"}.refusedOr(broken, "list"))
	var refused *RefusedError
	require.ErrorAs(t, readerIdentity{kind: "Pod", resource: podResource,
		namespace: "shop"}.refusedOr(apierrors.NewForbidden(podResource.GroupResource(), "", nil),
		"list"), &refused)
	require.True(t, apierrors.IsForbidden(refused.Err))
	refused.Err = nil
	require.Equal(t, &RefusedError{Reason: Forbidden, Verb: "list", Kind: "Pod",
		Resource: podResource, Namespace: "shop"}, refused)
}
