package informer

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

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
