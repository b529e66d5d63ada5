package informer

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/trace"
)

// withoutVersions is a server like that of metrics.k8s.io.
var withoutVersions = fakeapi.Fault{Match: fakeapi.Match{Resource: "configmaps"}, NoVersions: true}

// polling is a machine whose lists have no version.
func polling(t *testing.T) machine {
	t.Helper()
	m, act := machine{streams: true, poll: 30 * time.Second}.after(begins, refuses, listed(""))
	require.Equal(t, StatePolling, m.state, "without a version there is no place to watch from")
	require.Equal(t, deliverReplace, act.deliver, "what the list has is all there is: it must reach the sink")
	require.Equal(t, doPause, act.do, "and the next list comes after a while")
	require.Equal(t, 30*time.Second, act.pause)
	require.NotEmpty(t, act.reason, "the health must say why it polls")
	return m
}

// Function: machine.pollLater
func TestAListWithoutAVersionIsPolled(t *testing.T) {
	m, act := polling(t).after(rests)
	require.Equal(t, action{do: doList}, act, "no version to start from, and no watch")
	require.Equal(t, StatePolling, m.state, "a poll that is under way is no reason to doubt the view")
	late := listed("")
	late.random = 1
	m, act = m.after(firstPage(""), late)
	require.Equal(t, action{deliver: deliverReplace, do: doPause, pause: 33 * time.Second}, act,
		"up to a tenth of the interval is added at random; that it polls was said before")
	require.Equal(t, StatePolling, m.state)
	_, act = m.after(rests, listed("5"))
	require.Equal(t, action{deliver: deliverReplace, do: doWatch, version: "5"}, act, "a list that has a version can be watched from")
}

// Function: machine.listFailed
func TestAPollThatFailsIsRepeatedAfterAPauseThatGrows(t *testing.T) {
	m, act := polling(t).after(rests, breaks)
	require.Equal(t, StateWaiting, m.state, "the view is older than it should be, and the health must show it")
	first := act.pause
	require.LessOrEqual(t, first, time.Second)
	m, act = m.after(rests, breaks)
	require.Equal(t, 2*first, act.pause)
	m, act = m.after(rests)
	require.Equal(t, action{do: doList}, act, "a collection that is polled is never watched")
	m, _ = m.after(firstPage(""), breaks, rests)
	require.Equal(t, StatePolling, m.state, "the page that broke is asked for again, and it is still a poll")
	m, _ = m.after(listed(""))
	require.Zero(t, m.backoff.Failures(), "a poll that worked makes up for the failures before it")
}

func TestACollectionWithoutVersionsIsPolled(t *testing.T) {
	inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
		w.create(t, "apple", nil)
		s.Inject(withoutVersions)
		r := runReflector(t, w, ReflectorOptions{PollInterval: 10 * time.Second})
		r.view.untilIsThere(t, "apple")
		require.Equal(t, StatePolling, r.Health().State)
		require.ErrorContains(t, r.Health().LastError, "polled every 10s", "the health must say why there is no watch")
		require.NoError(t, r.Health().Ready(time.Now(), 0))
		require.True(t, r.Health().Synced)
		w.create(t, "banana", nil)
		w.change(t, "apple", 7)
		time.Sleep(12 * time.Second)
		require.Equal(t, map[string]string{"apple": "7", "banana": ""}, r.view.values(), "changes arrive with the next poll")
		w.delete(t, "apple")
		time.Sleep(10 * time.Minute)
		r.view.untilIsThere(t, "banana")
		require.Len(t, s.Requests(configMapWatches), 1, "one attempt to stream, and none after that")
		lists := len(s.Requests(configMapLists))
		require.InDelta(t, 612/10.5, lists, 3, "one list per interval, with up to a tenth added")
		require.NoError(t, r.Health().Ready(time.Now(), 0))
		require.Empty(t, trace.Filter{Kinds: []trace.Kind{trace.Backoff}}.Select(r.recorder.Events()), "the pause between two polls is no failure")
		r.legal(t)
	})
}

// An aggregated API server that is down must not look healthy because nobody
// watches it.
func TestAPollThatFailsShowsInTheHealth(t *testing.T) {
	inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
		w.create(t, "apple", nil)
		s.Inject(withoutVersions)
		r := runReflector(t, w, ReflectorOptions{})
		r.view.untilIsThere(t, "apple")
		remove := s.Inject(fakeapi.Fault{Match: configMapLists, Status: fakeapi.Unavailable()})
		time.Sleep(5 * time.Minute)
		require.Error(t, r.Health().Ready(time.Now(), time.Minute))
		remove()
		time.Sleep(time.Minute)
		require.NoError(t, r.Health().Ready(time.Now(), 0))
		require.NoError(t, r.stop())
	})
}

// A list with the version of the one before may show other objects: a backup
// was restored that had the same version, or the kind's conversion has changed.
func TestAViewWithTheSameVersionReachesTheSink(t *testing.T) {
	_, act := watching(t).after(expires, rests, opens, allCame("100"))
	require.Equal(t, deliverReplace, act.deliver, "a view is the truth, whatever its version")
	inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
		w.create(t, "apple", nil)
		from := &converted{ListerWatcher: w.listWatch(t, ListWatchOptions{})}
		r := &reflecting{view: newView(), recorder: trace.New(0)}
		r.Reflector = NewReflector(ListerWatcher[*corev1.ConfigMap](from), Sink[*corev1.ConfigMap](r.view), ReflectorOptions{NoStream: true})
		r.start(t)
		r.view.untilIsThere(t, "apple")
		before := r.Health().ResourceVersion
		require.NoError(t, r.stop())
		from.value = "converted"
		r.start(t)
		time.Sleep(time.Second)
		require.Equal(t, before, r.Health().ResourceVersion)
		require.Equal(t, map[string]string{"apple": "converted"}, r.view.values())
		r.legal(t)
	})
}

// converted is a server that shows an object differently from one day to the
// next, without a write.
type converted struct {
	ListerWatcher[*corev1.ConfigMap]
	value string // set while nothing runs
}

func (c *converted) List(ctx context.Context, options metav1.ListOptions) (*List[*corev1.ConfigMap], error) {
	list, err := c.ListerWatcher.List(ctx, options)
	if err == nil && c.value != "" {
		for _, item := range list.Items {
			item.Data = map[string]string{"value": c.value}
		}
	}
	return list, err
}
