package informer

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/trace"
)

// The documentation promises these, and timeouts elsewhere are chosen by them.
func TestTheDefaultsAreWhatTheDocumentationSays(t *testing.T) {
	options := func(o ReflectorOptions) ReflectorOptions {
		return NewReflector(ListerWatcher[*corev1.ConfigMap](&sameToken{}), Sink[*corev1.ConfigMap](newView()), o).options
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
		PageSize: 1, RequestTimeout: time.Second, StreamTimeout: 2 * time.Second, WatchTimeout: 3 * time.Second,
		PollInterval: 4 * time.Second, Backoff: Backoff{Healthy: time.Minute}, Random: func() float64 { return 0.25 },
	})
	require.EqualValues(t, 1, got.PageSize)
	require.Equal(t, time.Second, got.RequestTimeout)
	require.Equal(t, 2*time.Second, got.StreamTimeout)
	require.Equal(t, 3*time.Second, got.WatchTimeout)
	require.Equal(t, 4*time.Second, got.PollInterval)
	require.Equal(t, 1500*time.Millisecond, got.Backoff.Healthy, "a watch that lived for half its time is healthy")
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
		{"an error of the server, which the request has recorded", []fakeapi.Fault{{Times: 2, Status: fakeapi.Unavailable()}}, []string{"attempt 2: ", "attempt 3: "}},
		{"ended at once", []fakeapi.Fault{{Skip: 1, Times: 1, CutAfter: time.Nanosecond}, {Times: 1, CutAfter: time.Minute}},
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
		{"a stream that is refused", fakeapi.Fault{Match: configMapWatches, NoWatchList: true}, "refuses WatchList"},
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

// A connection that breaks after a while is opened again at once. That is in the timeline already, as the end of a watch.
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
