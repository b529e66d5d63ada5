package informer

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/loopwright/loopwright/internal/fakeapi"
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
		time.Sleep(4 * time.Minute) // a collection may be quiet for longer than a stream may stand still
		require.Len(t, s.Requests(configMapWatches), 1)
		require.Empty(t, s.Requests(configMapLists))
	})
}

func TestAServerThatCannotStreamIsListed(t *testing.T) {
	for name, fault := range map[string]struct {
		fakeapi.Fault
		within time.Duration
	}{
		"it refuses":             {fakeapi.Fault{NoWatchList: true}, time.Second},
		"it ignores the wish":    {fakeapi.Fault{IgnoreWatchList: true}, 26 * time.Second},
		"it never comes to end":  {fakeapi.Fault{NoInitialEventsEnd: true}, 26 * time.Second},
		"it answers but is mute": {fakeapi.Fault{IgnoreWatchList: true, DelayEvents: time.Hour}, 21 * time.Second},
	} {
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
// object lives for ever.
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

// With many pages and a server that fails now and then, a list that began anew
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
// insist on "no older than what I have" would be to wait for ever.
func TestAVersionThatTheServerHasNotReachedLeadsToTheNewestThereIs(t *testing.T) {
	for name, noStream := range map[string]bool{"streaming": false, "listing": true} {
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
func TestAViewIsListedWhenStreamsCannotBeOpened(t *testing.T) {
	for name, fault := range map[string]fakeapi.Fault{
		"an error":      {Status: fakeapi.InternalError()},
		"forbidden":     {Status: fakeapi.Forbidden()},
		"no answer":     {Hang: true},
		"no connection": {Refuse: true},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
				w.create(t, "apple", nil)
				fault.Match = configMapWatches
				s.Inject(fault)
				r := runReflector(t, w, ReflectorOptions{})
				time.Sleep(20 * time.Minute)
				r.view.untilIsThere(t, "apple")
				require.Len(t, s.Requests(configMapLists), 1)
				r.legal(t)
			})
		})
	}
	require.False(t, isAnswer(&apierrors.StatusError{ErrStatus: *fakeapi.TooManyRequests(1)}), "a server that is busy does not mean streams")
}

func TestAListInPlaceOfAStreamIsForThisViewOnly(t *testing.T) {
	no := input{kind: inFailed, answered: true}
	m, act := streams.after(begins, no, rests, no, rests)
	require.Equal(t, doStream, act.do)
	m, act = m.after(no, rests)
	require.Equal(t, doList, act.do, "three streams that were refused, one after the other: a list may get through")
	_, act = m.after(firstPage("100"), expires)
	require.Equal(t, doList, act.do, "a list that begins anew at once is the same view")
	failed, act := m.after(no, rests)
	require.Equal(t, doStream, act.do, "the list was refused, too: so it is not streams")
	_, act = failed.after(no, rests, no, rests, no, rests)
	require.Equal(t, doList, act.do, "and so on by turns")
	listed, act := m.after(listed("100"), opens, expires, rests)
	require.Equal(t, doStream, act.do, "the next view may be a stream again: nothing is known of the server")
	_, act = listed.after(no, rests, no, rests, opens, breaks, rests, no, rests)
	require.Equal(t, doStream, act.do, "a stream was opened in between")
}

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
