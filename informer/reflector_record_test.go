package informer

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

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

// silent is a server that accepts everything and then says nothing more; it notes how long each
// watch was open.
type silent struct {
	ListerWatcher[*corev1.ConfigMap]
	initial []Event[*corev1.ConfigMap] // what a stream begins with
	asked   []metav1.ListOptions
	lived   []time.Duration
}

func (s *silent) List(context.Context, metav1.ListOptions) (*List[*corev1.ConfigMap], error) {
	return &List[*corev1.ConfigMap]{ResourceVersion: "5"}, nil
}

func (s *silent) Watch(ctx context.Context, options metav1.ListOptions) (Watch[*corev1.ConfigMap], error) {
	s.asked = append(s.asked, options)
	opened := &silentWatch{ctx: ctx, of: s, began: time.Now()}
	if options.SendInitialEvents != nil {
		opened.events = s.initial
	}
	return opened, nil
}

type silentWatch struct {
	ctx    context.Context
	of     *silent
	began  time.Time
	events []Event[*corev1.ConfigMap]
}

func (w *silentWatch) Next() (Event[*corev1.ConfigMap], error) {
	if len(w.events) > 0 {
		event := w.events[0]
		w.events = w.events[1:]
		return event, nil
	}
	<-w.ctx.Done()
	w.of.lived = append(w.of.lived, time.Since(w.began))
	return Event[*corev1.ConfigMap]{}, w.ctx.Err()
}

func (w *silentWatch) Close() error { return nil }

// A connection whose other end has vanished looks like a quiet collection. A server ends a watch
// when it was asked to; half a minute later it is no longer there.
func TestAWatchThatTheServerDoesNotEndIsOpenedAgain(t *testing.T) {
	whole := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "5", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
	for _, c := range []struct {
		name     string
		noStream bool
		want     time.Duration
	}{
		{"after a list", true, 90*time.Second + 30*time.Second},
		{"after a stream, which does not say when it ends", false, 2*time.Minute + 30*time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := &silent{initial: []Event[*corev1.ConfigMap]{{Type: watch.Bookmark, Object: whole, ResourceVersion: "5"}}}
			r := NewReflector(ListerWatcher[*corev1.ConfigMap](server), Sink[*corev1.ConfigMap](newView()),
				ReflectorOptions{NoStream: c.noStream, WatchTimeout: time.Minute, Random: func() float64 { return 0.5 }})
			ctx, cancel := context.WithTimeoutCause(t.Context(), 4*time.Minute, context.Canceled)
			defer cancel()
			require.NoError(t, r.Run(ctx))
			require.EqualValues(t, 90, *server.asked[0].TimeoutSeconds, "a time between one and two minutes, by chance")
			require.Equal(t, c.want, server.lived[0], c.name)
			require.ErrorContains(t, r.Health().LastError, "the server did not end the watch when it should have", c.name)
			require.Nil(t, server.asked[1].SendInitialEvents, "%s: the place in the history is not lost", c.name)
			require.Equal(t, "5", server.asked[1].ResourceVersion, c.name)
		})
	}
}

// Run says how it ended: a program that stopped it knows, and everybody else must be told.
func TestRunReturnsWhatEndedIt(t *testing.T) {
	why := errors.New("the lease was lost")
	for _, c := range []struct {
		name string
		end  func(context.Context) (context.Context, context.CancelFunc)
		want error
	}{
		{"stopped", context.WithCancel, nil},
		{"a deadline", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Minute)
		}, context.DeadlineExceeded},
		{"a cause", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			return ctx, func() { cancel(why) }
		}, why},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := NewReflector(ListerWatcher[*corev1.ConfigMap](&silent{}), Sink[*corev1.ConfigMap](newView()), ReflectorOptions{NoStream: true})
			ctx, cancel := c.end(t.Context())
			defer cancel()
			time.AfterFunc(2*time.Minute, cancel)
			require.ErrorIs(t, r.Run(ctx), c.want, c.name)
			require.Equal(t, StateStopped, r.Health().State, c.name)
		})
	}
}

// Retry-After is in seconds.
func TestAWishToWaitReachesTheMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewReflector(ListerWatcher[*corev1.ConfigMap](&tooBusyServer{}), Sink[*corev1.ConfigMap](newView()), ReflectorOptions{NoStream: true, Random: func() float64 { return 0.5 }})
		around := &shell[*corev1.ConfigMap]{Reflector: r, ctx: t.Context(), began: time.Now()}
		defer around.close()
		time.Sleep(3 * time.Second)
		in, err := around.perform(action{do: doList})
		require.Error(t, err)
		require.Equal(t, input{kind: inFailed, asked: 17 * time.Second, at: 3 * time.Second, random: 0.5}, in)
	})
}

// tooBusyServer is a server that has no time.
type tooBusyServer struct {
	ListerWatcher[*corev1.ConfigMap]
}

func (tooBusyServer) List(context.Context, metav1.ListOptions) (*List[*corev1.ConfigMap], error) {
	return nil, apierrors.NewTooManyRequests("busy", 17)
}
