package informer

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/inorder"
	"github.com/loopwright/loopwright/trace"
)

// Two connections for what one can do would double the load of every start.
func TestAStreamIsOneRequest(t *testing.T) {
	inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
		w.create(t, "apple", nil)
		r := runReflector(t, w, ReflectorOptions{})
		r.view.untilIsThere(t, "apple")
		w.create(t, "banana", nil)
		r.view.untilIsThere(t, "apple", "banana")
		time.Sleep(4 * time.Minute) // a collection may be quiet for longer than a stream may stall
		require.Len(t, s.Requests(configMapWatches), 1)
		require.Empty(t, s.Requests(configMapLists))
	})
}

func TestAServerThatCannotStreamIsListed(t *testing.T) {
	for name, fault := range inorder.Map(map[string]struct {
		fakeapi.Fault
		within time.Duration
	}{
		"it refuses":            {fakeapi.Fault{NoWatchList: true}, time.Second},
		"it ignores the wish":   {fakeapi.Fault{IgnoreWatchList: true}, 26 * time.Second},
		"it never comes to end": {fakeapi.Fault{NoInitialEventsEnd: true}, 26 * time.Second},
		"it answers but is mute": {fakeapi.Fault{IgnoreWatchList: true, DelayEvents: time.Hour},
			21 * time.Second},
	}) {
		t.Run(name, func(t *testing.T) {
			inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
				w.create(t, "apple", nil)
				fault.Match = configMapWatches
				fault.Times = 1
				s.Inject(fault.Fault)
				began := time.Now()
				r := runReflector(t, w, ReflectorOptions{})
				r.view.untilIsThere(t, "apple")
				require.LessOrEqual(t, time.Since(began), fault.within, "the time-out must be clear and short")
				require.Len(t, s.Requests(configMapLists), 1)
				w.create(t, "banana", nil)
				r.view.untilIsThere(t, "apple", "banana")
				require.Error(t, r.Health().LastError, "the health must say why it listed")
				r.legal(t)
			})
		})
	}
}

// The rest "as it is now" would be a view of two moments, in which a deleted
// object lives forever.
func TestATokenThatExpiresBetweenPagesLeadsToOneWholeList(t *testing.T) {
	inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			w.create(t, name, nil)
		}
		s.Inject(fakeapi.Fault{Match: configMapLists, Delay: time.Second})
		r := runReflector(t, w, ReflectorOptions{NoStream: true, PageSize: 2})
		time.Sleep(1500 * time.Millisecond) // the first page is there, the second asked for
		w.delete(t, "a")
		s.CompactAll()
		r.view.untilIsThere(t, "b", "c", "d", "e")
		requests := s.Requests(configMapLists)
		require.Empty(t, requests[len(requests)-1].Query.Get("limit"),
			"the list that follows must come in one piece")
		require.Equal(t, 1, r.view.replaces)
		r.legal(t)
	})
}

// With many pages and a server that fails now and then, a list that started over after each failure
// would never end.
func TestAPageThatFailsIsAskedForAgain(t *testing.T) {
	inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
		names := []string{"a", "b", "c", "d", "e", "f"}
		for _, name := range names {
			w.create(t, name, nil)
		}
		s.Inject(fakeapi.Fault{Match: configMapLists, Skip: 1, Times: 2,
			Status: fakeapi.InternalError()})
		r := runReflector(t, w, ReflectorOptions{NoStream: true, PageSize: 2})
		r.view.untilIsThere(t, names...)
		require.Len(t, s.Requests(configMapLists), 3+2)
		require.Equal(t, 1, r.view.replaces)
		r.legal(t)
	})
}

func TestARelistIsNoOlderThanWhatTheSinkHas(t *testing.T) {
	inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
		w.create(t, "apple", nil)
		r := runReflector(t, w, ReflectorOptions{NoStream: true})
		r.view.untilIsThere(t, "apple")
		require.NoError(t, r.stop())
		seen := r.Health().ResourceVersion
		w.create(t, "banana", nil)
		s.Inject(fakeapi.Fault{Match: configMapLists, Times: 2, Stale: 1}) // a lagging server
		r.start(t)
		r.view.untilIsThere(t, "apple", "banana")
		requests := s.Requests(configMapLists)
		require.Equal(t, seen, requests[1].Query.Get("resourceVersion"))
		require.Equal(t, "NotOlderThan", requests[1].Query.Get("resourceVersionMatch"))
		r.legal(t)
	})
}

// The server cannot decode or decrypt an object, and says so in the middle of a
// watch. Asking for the same place again would lead there again.
func TestAnObjectThatTheServerCannotReadLeadsToANewView(t *testing.T) {
	status := metav1.Status{Status: metav1.StatusFailure, Code: 500,
		Reason: metav1.StatusReasonStoreReadError}
	event := Event[*corev1.ConfigMap]{Type: watch.Error, Status: &status}
	require.Equal(t, faultUnreadable, faultOf(event.Err()))
	inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
		w.create(t, "apple", nil)
		from := &corruptOnce{ListerWatcher: w.listWatch(t, ListWatchOptions{}), event: event}
		r := &reflecting{view: newView(), recorder: trace.New(0)}
		r.Reflector = NewReflector(ListerWatcher[*corev1.ConfigMap](from),
			Sink[*corev1.ConfigMap](r.view), ReflectorOptions{NoStream: true})
		r.start(t)
		time.Sleep(2 * time.Second)
		require.NoError(t, r.stop())
		require.Equal(t, 2, r.view.replaces, "one pause, and the list that leads past the object")
		r.legal(t)
	})
}

// corruptOnce is a server whose first watch ends with an ERROR event.
type corruptOnce struct {
	ListerWatcher[*corev1.ConfigMap]
	event Event[*corev1.ConfigMap]
	done  bool
}

func (c *corruptOnce) Watch(
	ctx context.Context, options metav1.ListOptions,
) (Watch[*corev1.ConfigMap], error) {
	opened, err := c.ListerWatcher.Watch(ctx, options)
	if err != nil || c.done {
		return opened, err
	}
	c.done = true
	return &oneEvent{Watch: opened, event: c.event}, nil
}

type oneEvent struct {
	Watch[*corev1.ConfigMap]
	event Event[*corev1.ConfigMap]
}

func (o *oneEvent) Next() (Event[*corev1.ConfigMap], error) { return o.event, nil }

// An answer of gigabytes may never come through in one piece.
func TestAListThatFailsInOnePieceComesInPages(t *testing.T) {
	m, act := machine{floor: "100"}.after(begins)
	for range tries {
		require.Equal(t, action{do: doList, version: "100", whole: true}, act,
			"what a server has in memory comes in one piece")
		m, act = m.after(stalls, pauses)
	}
	require.Equal(t, action{do: doList}, act, "after the third failure, the newest in pages")
	_, act = m.after(firstPage("110"), listed("110"), opens, expires, pauses)
	require.Equal(t, action{do: doList, version: "110", whole: true}, act,
		"the next view may come in one piece")
}

// stopwatch measures how long watches are open.
type stopwatch struct {
	ListerWatcher[*corev1.ConfigMap]
	mu   sync.Mutex // guards open
	open time.Duration
}

func (s *stopwatch) Watch(
	ctx context.Context, options metav1.ListOptions,
) (Watch[*corev1.ConfigMap], error) {
	opened, err := s.ListerWatcher.Watch(ctx, options)
	if err != nil {
		return nil, err
	}
	return &timedWatch{Watch: opened, of: s, from: time.Now()}, nil
}

type timedWatch struct {
	Watch[*corev1.ConfigMap]
	of   *stopwatch
	from time.Time
	over bool
}

func (w *timedWatch) Next() (Event[*corev1.ConfigMap], error) {
	event, err := w.Watch.Next()
	if err != nil && !w.over {
		w.over = true
		w.of.mu.Lock()
		defer w.of.mu.Unlock()
		w.of.open += time.Since(w.from)
	}
	return event, err
}

// openFor runs a reflector for ten minutes, and returns which part of the time a
// watch was open, and how many watches were asked for.
func openFor(
	t *testing.T, s *fakeapi.Server, w world, options ReflectorOptions,
) (part float64, watches int) {
	t.Helper()
	from := &stopwatch{ListerWatcher: w.listWatch(t, ListWatchOptions{})}
	r := &reflecting{view: newView()}
	r.Reflector = NewReflector(ListerWatcher[*corev1.ConfigMap](from),
		Sink[*corev1.ConfigMap](r.view), options)
	r.start(t)
	time.Sleep(10 * time.Minute)
	require.NoError(t, r.stop())
	r.legal(t)
	from.mu.Lock()
	defer from.mu.Unlock()
	return from.open.Seconds() / 600, len(s.Requests(configMapWatches))
}

// Behind a proxy that cuts idle connections a program would otherwise see a
// change up to half a minute late, for as long as it runs.
func TestShortWatchesAreOpenNearlyAllTheTime(t *testing.T) {
	for name, c := range inorder.Map(map[string]struct {
		fault   fakeapi.Fault
		options ReflectorOptions
		watches int // at most
	}{
		"cut after 5 s": {fakeapi.Fault{CutAfter: 5 * time.Second}, ReflectorOptions{}, 125},
		"cut after 8 s": {fakeapi.Fault{CutAfter: 8 * time.Second}, ReflectorOptions{}, 80},
		"broken after 5 s": {fakeapi.Fault{CutAfter: 5 * time.Second, CutAbruptly: true},
			ReflectorOptions{}, 125},
		"broken after 5 s, lists": {fakeapi.Fault{CutAfter: 5 * time.Second, CutAbruptly: true},
			ReflectorOptions{NoStream: true}, 125},
		"a time-out of 3 s": {fakeapi.Fault{}, ReflectorOptions{WatchTimeout: 3 * time.Second},
			205},
		"a time-out of 1 s": {fakeapi.Fault{}, ReflectorOptions{WatchTimeout: time.Second}, 605},
	}) {
		t.Run(name, func(t *testing.T) {
			inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
				w.create(t, "apple", nil)
				if c.fault.CutAfter > 0 {
					c.fault.Match = configMapWatches
					s.Inject(c.fault)
				}
				part, watches := openFor(t, s, w, c.options)
				t.Logf("open for %.1f %% of the time, %d watches", 100*part, watches)
				require.Greater(t, part, 0.95)
				require.LessOrEqual(t, watches, c.watches)
				require.LessOrEqual(t, len(s.Requests(configMapLists)), 1,
					"a watch that lived is no reason for a new view")
			})
		})
	}
}

// A server ends watches after whole seconds. A time below that is no permission to ask
// for hundreds of watches a second.
func TestATimeBelowTheShortestWatchIsNotTakenForHealth(t *testing.T) {
	inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
		w.create(t, "apple", nil)
		s.Inject(fakeapi.Fault{Match: configMapWatches, CutAfter: 100 * time.Millisecond})
		_, watches := openFor(t, s, w, ReflectorOptions{WatchTimeout: 100 * time.Millisecond})
		require.Less(t, watches, 50, "in ten minutes: five a minute, after the first few")
	})
}

// withoutVersions is a server like that of metrics.k8s.io.
var withoutVersions = fakeapi.Fault{Match: fakeapi.Match{Resource: "configmaps"}, NoVersions: true}

// polling is a machine whose lists have no version.
func polling(t *testing.T) machine {
	t.Helper()
	m, act := machine{streams: true, poll: 30 * time.Second}.after(begins, refuses, listed(""))
	require.Equal(t, StatePolling, m.state, "without a version there is no place to watch from")
	require.Equal(t, deliverReplace, act.deliver,
		"what the list has is all there is: it must reach the sink")
	require.Equal(t, doPause, act.do, "and the next list comes after a while")
	require.Equal(t, 30*time.Second, act.pause)
	require.NotEmpty(t, act.reason, "the health must say why it polls")
	return m
}

// Function: machine.pollLater
func TestAListWithoutAVersionIsPolled(t *testing.T) {
	m, act := polling(t).after(pauses)
	require.Equal(t, action{do: doList}, act, "no version to start from, and no watch")
	require.Equal(t, StatePolling, m.state, "a poll that is under way is no reason to doubt the view")
	late := listed("")
	late.random = 1
	m, act = m.after(firstPage(""), late)
	require.Equal(t, action{deliver: deliverReplace, do: doPause, pause: 33 * time.Second}, act,
		"up to a tenth of the interval is added at random; that it polls was said before")
	require.Equal(t, StatePolling, m.state)
	_, act = m.after(pauses, listed("5"))
	require.Equal(t, action{deliver: deliverReplace, do: doWatch, version: "5"}, act,
		"a list that has a version can be watched from")
}

// Function: machine.listFailed
func TestAPollThatFailsIsRepeatedAfterAPauseThatGrows(t *testing.T) {
	m, act := polling(t).after(pauses, breaks)
	require.Equal(t, StateWaiting, m.state,
		"the view is older than it should be, and the health must show it")
	first := act.pause
	require.LessOrEqual(t, first, time.Second)
	m, act = m.after(pauses, breaks)
	require.Equal(t, 2*first, act.pause)
	m, act = m.after(pauses)
	require.Equal(t, action{do: doList}, act, "a collection that is polled is never watched")
	m, _ = m.after(firstPage(""), breaks, pauses)
	require.Equal(t, StatePolling, m.state,
		"the page that broke is asked for again, and it is still a poll")
	m, _ = m.after(listed(""))
	require.Zero(t, m.backoff.Failures(), "a poll that worked makes up for the failures before it")
}

func TestACollectionWithoutVersionsIsPolled(t *testing.T) {
	inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
		w.create(t, "apple", nil)
		s.Inject(withoutVersions)
		r := runReflector(t, w, ReflectorOptions{PollInterval: 10 * time.Second})
		r.view.untilIsThere(t, "apple")
		synctest.Wait() // the health is noted when the sink has taken the list in
		require.Equal(t, StatePolling, r.Health().State)
		require.ErrorContains(t, r.Health().LastError, "polled every 10s",
			"the health must say why there is no watch")
		require.NoError(t, r.Health().Ready(time.Now(), 0))
		require.True(t, r.Health().Synced)
		w.create(t, "banana", nil)
		w.change(t, "apple", 7)
		time.Sleep(12 * time.Second)
		require.Equal(t, map[string]string{"apple": "7", "banana": ""}, r.view.values(),
			"changes arrive with the next poll")
		w.delete(t, "apple")
		time.Sleep(10 * time.Minute)
		r.view.untilIsThere(t, "banana")
		require.Len(t, s.Requests(configMapWatches), 1, "one attempt to stream, and none after that")
		lists := len(s.Requests(configMapLists))
		require.InDelta(t, 612/10.5, lists, 3, "one list per interval, with up to a tenth added")
		require.NoError(t, r.Health().Ready(time.Now(), 0))
		require.Empty(t, trace.Filter{Kinds: []trace.Kind{trace.Backoff}}.Select(r.recorder.Events()),
			"the pause between two polls is no failure")
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
	_, act := watching(t).after(expires, pauses, opens, allCame("100"))
	require.Equal(t, deliverReplace, act.deliver, "a view is the truth, whatever its version")
	inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
		w.create(t, "apple", nil)
		from := &converted{ListerWatcher: w.listWatch(t, ListWatchOptions{})}
		r := &reflecting{view: newView(), recorder: trace.New(0)}
		r.Reflector = NewReflector(ListerWatcher[*corev1.ConfigMap](from),
			Sink[*corev1.ConfigMap](r.view), ReflectorOptions{NoStream: true})
		r.start(t)
		r.view.untilIsThere(t, "apple")
		synctest.Wait() // the version is noted when the sink has taken it in
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

func (c *converted) List(
	ctx context.Context, options metav1.ListOptions,
) (*List[*corev1.ConfigMap], error) {
	list, err := c.ListerWatcher.List(ctx, options)
	if err == nil && c.value != "" {
		for _, item := range list.Items {
			item.Data = map[string]string{"value": c.value}
		}
	}
	return list, err
}
