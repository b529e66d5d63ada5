package informer

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/inorder"
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
		"it refuses":             {fakeapi.Fault{NoWatchList: true}, time.Second},
		"it ignores the wish":    {fakeapi.Fault{IgnoreWatchList: true}, 26 * time.Second},
		"it never comes to end":  {fakeapi.Fault{NoInitialEventsEnd: true}, 26 * time.Second},
		"it answers but is mute": {fakeapi.Fault{IgnoreWatchList: true, DelayEvents: time.Hour}, 21 * time.Second},
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

// A server before 1.27 takes the request for an ordinary watch. Its first
// bookmark gives it away, long before the time-out if that is long.
func TestAnOrdinaryBookmarkInAStreamShowsThatTheServerDoesNotKnowStreams(t *testing.T) {
	inMemory(t, fakeapi.Options{BookmarkInterval: 5 * time.Second}, func(t *testing.T, s *fakeapi.Server, w world) {
		w.create(t, "apple", nil)
		s.Inject(fakeapi.Fault{Match: configMapWatches, IgnoreWatchList: true})
		began := time.Now()
		r := runReflector(t, w, ReflectorOptions{StreamTimeout: time.Hour})
		r.view.untilIsThere(t, "apple")
		require.Less(t, time.Since(began), 10*time.Second)
	})
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
		require.Empty(t, requests[len(requests)-1].Query.Get("limit"), "the list that follows must come in one piece")
		require.Equal(t, 1, r.view.replaces)
		r.legal(t)
	})
}

// With many pages and a server that fails now and then, a list that started over
// after each failure would never end.
func TestAPageThatFailsIsAskedForAgain(t *testing.T) {
	inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
		for i := range 30 {
			w.create(t, fmt.Sprintf("object-%02d", i), nil)
		}
		s.Inject(fakeapi.Fault{Match: configMapLists, Skip: 3, Times: 2, Status: fakeapi.InternalError()})
		r := runReflector(t, w, ReflectorOptions{NoStream: true, PageSize: 2})
		r.view.until(t, func(v *view) bool { return len(v.objects) == 30 })
		require.Len(t, s.Requests(configMapLists), 15+2)
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

// After a restore from a backup the server's history is shorter than ours. To
// insist on "no older than what I have" would be to wait forever.
func TestAVersionThatTheServerHasNotReachedLeadsToTheNewestThereIs(t *testing.T) {
	for name, noStream := range inorder.Map(map[string]bool{"streaming": false, "listing": true}) {
		t.Run(name, func(t *testing.T) {
			inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
				w.create(t, "apple", nil)
				r := &reflecting{view: newView(), recorder: trace.New(0)}
				r.Reflector = NewReflector(w.listWatch(t, ListWatchOptions{}), Sink[*corev1.ConfigMap](r.view), ReflectorOptions{NoStream: noStream})
				r.floor = "100000"
				r.start(t)
				r.view.untilIsThere(t, "apple")
				require.NotEqual(t, "100000", r.Health().ResourceVersion)
			})
		})
	}
}

// A proxy that dislikes sendInitialEvents, or a stream as such, would keep the
// program from ever being synced; a list gets through.
func TestAViewIsListedSoonWhenStreamsCannotBeOpened(t *testing.T) {
	for name, c := range inorder.Map(map[string]struct {
		fault  fakeapi.Fault
		within time.Duration
	}{
		"an error":      {fakeapi.Fault{Status: fakeapi.InternalError()}, 8 * time.Second},
		"forbidden":     {fakeapi.Fault{Status: fakeapi.Forbidden()}, 8 * time.Second},
		"no connection": {fakeapi.Fault{Refuse: true}, 8 * time.Second},
		"no answer":     {fakeapi.Fault{Hang: true}, 91 * time.Second}, // the default RequestTimeout
	}) {
		t.Run(name, func(t *testing.T) {
			inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
				w.create(t, "apple", nil)
				c.fault.Match = configMapWatches
				s.Inject(c.fault)
				r := runReflector(t, w, ReflectorOptions{})
				time.Sleep(c.within)
				require.True(t, r.Health().Synced)
				r.view.untilIsThere(t, "apple")
				require.Len(t, s.Requests(configMapLists), 1)
				r.legal(t)
			})
		})
	}
}

// A server that stalls or breaks streams while it is upgraded would be listed by
// all of its clients for months.
func TestAfterTroubleWithStreamsTheNextViewIsAStreamAgain(t *testing.T) {
	for name, fault := range inorder.Map(map[string]fakeapi.Fault{
		"stalled":      {Times: 1, NoInitialEventsEnd: true},
		"ignored":      {Times: 1, IgnoreWatchList: true},
		"broken":       {Times: tries, CutAfterEvents: 1, CutAbruptly: true},
		"refused once": {Times: 1, NoWatchList: true},
		"an error":     {Times: tries, Status: fakeapi.InternalError()},
	}) {
		t.Run(name, func(t *testing.T) {
			inMemory(t, fakeapi.Options{BookmarkInterval: 5 * time.Second}, func(t *testing.T, s *fakeapi.Server, w world) {
				w.create(t, "apple", nil)
				fault.Match = configMapWatches
				s.Inject(fault)
				r := runReflector(t, w, ReflectorOptions{WatchTimeout: time.Minute})
				time.Sleep(30 * time.Second)
				r.view.untilIsThere(t, "apple")
				require.Len(t, s.Requests(configMapLists), 1)
				s.Inject(fakeapi.Fault{Match: configMapWatches, Times: 1, Status: fakeapi.Expired()})
				time.Sleep(5 * time.Minute)
				r.view.untilIsThere(t, "apple")
				want := 1
				if fault.NoWatchList {
					want = 2 // a refusal is remembered
				}
				require.Len(t, s.Requests(configMapLists), want)
				require.Equal(t, 2, r.view.replaces)
				r.legal(t)
			})
		})
	}
}

// The server cannot decode or decrypt an object, and says so in the middle of a
// watch. To ask for the same place again would lead there again.
func TestAnObjectThatTheServerCannotReadLeadsToANewView(t *testing.T) {
	status := metav1.Status{Status: metav1.StatusFailure, Code: 500, Reason: metav1.StatusReasonStoreReadError}
	event := Event[*corev1.ConfigMap]{Type: watch.Error, Status: &status}
	require.Equal(t, faultUnreadable, faultOf(event.Err()))
	inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
		w.create(t, "apple", nil)
		from := &corruptOnce{ListerWatcher: w.listWatch(t, ListWatchOptions{}), event: event}
		r := &reflecting{view: newView(), recorder: trace.New(0)}
		r.Reflector = NewReflector(ListerWatcher[*corev1.ConfigMap](from), Sink[*corev1.ConfigMap](r.view), ReflectorOptions{NoStream: true})
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

func (c *corruptOnce) Watch(ctx context.Context, options metav1.ListOptions) (Watch[*corev1.ConfigMap], error) {
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
		require.Equal(t, action{do: doList, version: "100", whole: true}, act, "what a server has in memory comes in one piece")
		m, act = m.after(stalls, rests)
	}
	require.Equal(t, action{do: doList}, act, "after the third failure, the newest in pages")
	_, act = m.after(firstPage("110"), listed("110"), opens, expires, rests)
	require.Equal(t, action{do: doList, version: "110", whole: true}, act, "the next view may come in one piece")
}
