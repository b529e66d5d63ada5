package mini_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/inorder"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

// sink is a map that notes each call.
type sink struct {
	mu      sync.Mutex // guards all below, for tests that read while a reflector runs
	objects map[string]mini.Object
	calls   []string
}

func newSink() *sink { return &sink{objects: map[string]mini.Object{}} }

func (s *sink) note(call string, change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call)
	change()
}

func (s *sink) Replace(items []mini.Object, version string) {
	s.note(fmt.Sprintf("replace %v", namesAndValues(items)), func() {
		if version == "" {
			s.calls = append(s.calls, "a list without its version")
		}
		clear(s.objects)
		for _, obj := range items {
			s.objects[obj.GetName()] = obj
		}
	})
}

func (s *sink) Update(obj mini.Object) {
	s.note("update "+nameAndValue(obj), func() { s.objects[obj.GetName()] = obj })
}

func (s *sink) Delete(obj mini.Object) {
	s.note("delete "+nameAndValue(obj), func() { delete(s.objects, obj.GetName()) })
}

// took returns the calls since the last took, when nothing moves any more.
func (s *sink) took() []string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls
	s.calls = nil
	return calls
}

// has returns "name=value" of all objects, sorted.
func (s *sink) has() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := []string{}
	for _, obj := range s.objects {
		all = append(all, nameAndValue(obj))
	}
	slices.Sort(all)
	return all
}

// reflect keeps a sink up to date with the ConfigMaps until the test ends.
func (w *world) reflect() *sink {
	w.Helper()
	s := newSink()
	w.run((&mini.Reflector{Source: w.maps(), Sink: s, Trace: w.Cluster.Trace}).Run)
	return s
}

// requests returns how many lists and watches the server has seen.
func (w *world) requests() (lists, watches int) {
	return len(w.Server.Requests(listsOfMaps)), len(w.Server.Requests(watchesOfMaps))
}

// script is a ListerWatcher that does what a test says, and notes when it was asked.
type script struct {
	// Calls count from 1. Without list, the list is empty and has version 1. Without
	// watch, a watch lasts until the end.
	list  func(call int) (items []mini.Object, version string, err error)
	watch func(call int, version string) (watch.Interface, error)

	mu     sync.Mutex
	lists  []time.Duration // when lists were asked for, since the first one
	starts []time.Duration // and watches
	begin  time.Time
}

func (s *script) List(ctx context.Context) ([]mini.Object, string, error) {
	s.mu.Lock()
	s.lists = append(s.lists, s.since())
	call := len(s.lists)
	s.mu.Unlock()
	if s.list == nil {
		return nil, "1", nil
	}
	return s.list(call)
}

func (s *script) Watch(ctx context.Context, version string) (watch.Interface, error) {
	s.mu.Lock()
	s.starts = append(s.starts, s.since())
	call := len(s.starts)
	s.mu.Unlock()
	var w watch.Interface = watch.NewFake()
	var err error
	if s.watch != nil {
		w, err = s.watch(call, version)
	}
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, w.Stop)
	return w, nil
}

func (s *script) since() time.Duration {
	if s.begin.IsZero() {
		s.begin = time.Now()
	}
	return time.Since(s.begin)
}

// pauses returns the times between calls.
func pauses(at []time.Duration) (all []time.Duration) {
	for i := 1; i < len(at); i++ {
		all = append(all, at[i]-at[i-1])
	}
	return all
}

func inSeconds(all []time.Duration) (seconds []time.Duration) {
	for _, d := range all {
		seconds = append(seconds, d/time.Second)
	}
	return seconds
}

// streamOf returns a watch that sends these events and then ends.
func streamOf(all ...watch.Event) watch.Interface {
	w := watch.NewFakeWithChanSize(len(all), false)
	for _, event := range all {
		w.Action(event.Type, event.Object)
	}
	w.Stop()
	return w
}

// mapAt returns a ConfigMap of a version.
func mapAt(version int, name, value string) *corev1.ConfigMap {
	obj := configMap(name, value)
	obj.ResourceVersion = fmt.Sprint(version)
	return obj
}

// playScript runs a reflector on a script for some time of a bubble.
func playScript(t *testing.T, source *script, howLong time.Duration) *sink {
	t.Helper()
	s := newSink()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), howLong)
		defer cancel()
		err := (&mini.Reflector{Source: source, Sink: s, Backoff: exactBackoff}).Run(ctx)
		require.NoError(t, err, "a stop isn't a failure")
		require.Error(t, ctx.Err(), "nothing but the context ends a reflector")
	})
	return s
}

// exactBackoff is a Backoff without chance.
var exactBackoff = mini.Backoff{Base: time.Second, Max: 30 * time.Second}

// Clients that retry without a pause keep a struggling server down.
//
// Function: Backoff.After
func TestABackoffDoublesUpToItsMaximum(t *testing.T) {
	var got []time.Duration
	for failures := 1; failures <= 7; failures++ {
		got = append(got, exactBackoff.After(failures)/time.Second)
	}
	require.Equal(t, []time.Duration{1, 2, 4, 8, 16, 30, 30}, got)
	require.Equal(t, exactBackoff.Max, exactBackoff.After(1_000_000), "nothing overflows")
	require.Equal(t, time.Minute, mini.Backoff{Base: time.Hour, Max: time.Minute}.After(1))
}

// Without randomness, all clients come back at the same moment.
//
// Function: Backoff.After
func TestTheJitterOfABackoffOnlyAdds(t *testing.T) {
	b := mini.Backoff{Base: time.Second, Max: time.Minute, Jitter: 0.5}
	lowest, highest := time.Hour, time.Duration(0)
	for range 1000 {
		pause := b.After(2)
		lowest, highest = min(lowest, pause), max(highest, pause)
	}
	require.GreaterOrEqual(t, lowest, 2*time.Second)
	require.Less(t, lowest, 2100*time.Millisecond)
	require.Less(t, highest, 3*time.Second)
	require.Greater(t, highest, 2900*time.Millisecond, "clients must spread out")
}

func TestAReflectorListsOnceAndThenWatches(t *testing.T) {
	inMemory(t, func(w *world) {
		w.createMap("a", "1")
		w.createMap("b", "1")
		s := w.reflect()
		require.Equal(w, []string{"replace [a=1 b=1]"}, s.took())
		w.createMap("c", "1")
		w.updateMap("a", "2")
		w.deleteMap("b")
		require.Equal(w, []string{"update c=1", "update a=2", "delete b=1"}, s.took())
		lists, watches := w.requests()
		require.Equal(w, 1, lists)
		require.Equal(w, 1, watches)
	})
}

func TestAWatchThatEndsIsResumedWithoutAList(t *testing.T) {
	inMemory(t, func(w *world) {
		w.Server.Inject(fakeapi.Fault{Match: watchesOfMaps, Times: 1, CutAfter: time.Minute})
		w.Server.Inject(fakeapi.Fault{
			Match: watchesOfMaps, Skip: 1, Times: 1, CutAfter: time.Minute, CutAbruptly: true,
		})
		s := w.reflect()
		s.took()
		for i, name := range []string{"a", "b", "c"} {
			w.createMap(name, "1")
			require.Equal(w, []string{"update " + name + "=1"}, s.took())
			time.Sleep(90 * time.Second) // the watch ends, and the next one not before the next round
			lists, watches := w.requests()
			require.Equal(w, 1, lists, "a list of a large cluster is expensive")
			require.Equal(w, min(i+2, 3), watches)
			require.Empty(w, s.took(), "nothing comes twice")
		}
	})
}

// A list of a large cluster is expensive, and a quiet kind gets nothing but bookmarks.
// These may tell us what we already know.
//
// Function: Reflector.watch
func TestAQuietWatchIsResumedWithoutAList(t *testing.T) {
	for _, lives := range []time.Duration{90 * time.Second, 9 * time.Minute} {
		s := playScript(t, &script{
			watch: func(int, string) (watch.Interface, error) {
				w := watch.NewRaceFreeFake()
				time.AfterFunc(time.Minute, func() {
					if lives > 2*time.Minute {
						w.Action(watch.Bookmark, mapAt(1, "", ""))
					}
				})
				time.AfterFunc(lives, w.Stop)
				return w, nil
			},
		}, 10*time.Minute)
		require.Equal(t, []string{"replace []"}, s.calls, "%s", lives)
	}
}

// After 410 Gone no watch from that version ever works again.
//
// Function: Reflector.Run
func TestAForgottenVersionMakesTheReflectorListAgain(t *testing.T) {
	inMemory(t, func(w *world) {
		w.createMap("a", "1")
		w.createMap("b", "1")
		w.Server.Inject(fakeapi.Fault{Match: watchesOfMaps, Times: 1, CutAfter: time.Minute})
		s := w.reflect()
		s.took()
		repair := w.Server.Inject(
			fakeapi.Fault{Match: watchesOfMaps, Status: fakeapi.Unavailable()})
		time.Sleep(2 * time.Minute) // the watch ends, and the next one is refused
		w.deleteMap("a")
		w.createMap("c", "1")
		w.Server.CompactAll()
		require.Empty(w, s.took())
		repair()
		time.Sleep(5 * time.Minute)
		require.Equal(w, []string{"replace [b=1 c=1]"}, s.took())
		w.updateMap("b", "2")
		require.Equal(w, []string{"update b=2"}, s.took(), "and then it watches again")
	})
}

// Function: Reflector.Run
func TestAVersionThatExpiresWithinTheStreamMakesItListAgain(t *testing.T) {
	s := playScript(t, &script{
		list: func(call int) ([]mini.Object, string, error) {
			return []mini.Object{mapAt(call, "a", fmt.Sprint(call))}, fmt.Sprint(call), nil
		},
		watch: func(call int, version string) (watch.Interface, error) {
			require.Equal(t, fmt.Sprint(call), version, "each watch starts where its list is")
			if call == 1 {
				return streamOf(watch.Event{Type: watch.Error, Object: fakeapi.Expired()}), nil
			}
			return watch.NewFake(), nil
		},
	}, time.Minute)
	require.Equal(t, []string{"replace [a=1]", "replace [a=2]"}, s.calls)
}

// Function: Reflector.watch
func TestABookmarkMovesTheVersionButIsNotAnObject(t *testing.T) {
	var versions []string
	s := playScript(t, &script{watch: func(call int, version string) (watch.Interface, error) {
		versions = append(versions, version)
		if call == 1 {
			return streamOf(watch.Event{Type: watch.Bookmark, Object: mapAt(9, "", "")}), nil
		}
		return watch.NewFake(), nil
	}}, time.Minute)
	require.Equal(t, []string{"1", "9"}, versions)
	require.Equal(t, []string{"replace []"}, s.calls)
}

// A change that is sent twice, or not at all, makes a controller act on a wrong history.
//
// Function: Reflector.watch
func TestAWatchThatBreaksResumesAfterTheLastEventThatCame(t *testing.T) {
	var versions []string
	source := &script{watch: func(call int, version string) (watch.Interface, error) {
		versions = append(versions, version)
		if call == 1 {
			return streamOf(
				watch.Event{Type: watch.Added, Object: mapAt(2, "a", "1")},
				watch.Event{Type: watch.Error, Object: fakeapi.InternalError()}), nil
		}
		return watch.NewFake(), nil
	}}
	s := playScript(t, source, time.Minute)
	require.Equal(t, []string{"1", "2"}, versions)
	require.Equal(t, []string{"replace []", "update a=1"}, s.calls)
	require.Equal(t, []time.Duration{time.Second}, pauses(source.starts),
		"a watch that breaks with an error is a failure")
}

// Function: Reflector.list
func TestTheSinkKeepsItsObjectsWhileTheServerIsAway(t *testing.T) {
	inMemory(t, func(w *world) {
		w.createMap("a", "1")
		w.Server.Inject(fakeapi.Fault{Match: watchesOfMaps, Times: 1, CutAfter: time.Minute})
		s := w.reflect()
		s.took()
		w.Server.Inject(fakeapi.Fault{Match: watchesOfMaps, Status: fakeapi.Expired()})
		w.Server.Inject(fakeapi.Fault{Match: listsOfMaps, Refuse: true})
		time.Sleep(time.Hour)
		require.Empty(w, s.took(), "old objects are better than none")
		require.Equal(w, []string{"a=1"}, s.has())
	})
}

// Function: Reflector.Run
func TestAListThatFailsIsRepeatedAfterLongerAndLongerPauses(t *testing.T) {
	source := &script{list: func(call int) ([]mini.Object, string, error) {
		if call <= 3 {
			return nil, "", errors.New("not now")
		}
		return nil, "1", nil
	}}
	playScript(t, source, 10*time.Minute)
	require.Equal(t, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second},
		pauses(source.lists))
	require.Len(t, source.starts, 1, "the watch starts once a list has succeeded")
}

// Function: Reflector.Run
func TestAWatchThatIsRefusedIsRepeatedAfterLongerAndLongerPauses(t *testing.T) {
	source := &script{watch: func(int, string) (watch.Interface, error) {
		return nil, errors.New("not now")
	}}
	playScript(t, source, 3*time.Minute)
	require.Len(t, source.lists, 1, "a list wouldn't help")
	require.Equal(t, []time.Duration{1, 2, 4, 8, 16, 30, 30, 30, 30},
		inSeconds(pauses(source.starts)))
}

// Function: Reflector.watch
func TestAWatchThatAlwaysEndsAtOnceIsNotAHotLoop(t *testing.T) {
	source := &script{watch: func(int, string) (watch.Interface, error) {
		return streamOf(), nil
	}}
	playScript(t, source, time.Minute)
	require.Len(t, source.lists, 1)
	require.Less(t, len(source.starts), 20, "watches a minute")
}

// Function: Reflector.Run
func TestAVersionThatAlwaysExpiresIsNotAHotLoop(t *testing.T) {
	source := &script{watch: func(int, string) (watch.Interface, error) {
		return streamOf(watch.Event{Type: watch.Error, Object: fakeapi.Expired()}), nil
	}}
	playScript(t, source, time.Minute)
	require.Greater(t, len(source.lists), 1)
	require.Less(t, len(source.lists), 20,
		"lists a minute: a list that succeeds must not end the row of failures")
}

// Function: Reflector.list
func TestAListWithoutAVersionIsNotAHotLoop(t *testing.T) {
	source := &script{list: func(int) ([]mini.Object, string, error) { return nil, "", nil }}
	playScript(t, source, time.Minute)
	require.Less(t, len(source.lists), 20, "lists a minute")
}

// Function: Reflector.Run
func TestProgressEndsARowOfFailures(t *testing.T) {
	const failing, normal, broken, quiet = "failing", "normal", "broken", "quiet"
	turns := []string{
		failing, failing, failing, normal, failing, failing, broken, failing, quiet, failing,
	}
	source := &script{watch: func(call int, _ string) (watch.Interface, error) {
		if call > len(turns) {
			return watch.NewFake(), nil
		}
		news := watch.Event{Type: watch.Added, Object: mapAt(10+call, "a", "1")}
		switch turns[call-1] {
		case normal: // one event, and an orderly end
			return streamOf(news), nil
		case broken: // one event, and then an error
			return streamOf(news, watch.Event{Type: watch.Error, Object: fakeapi.Timeout()}), nil
		case quiet: // no event, but it lasts for 10 s
			w := watch.NewFake()
			time.AfterFunc(10*time.Second, w.Stop)
			return w, nil
		}
		return nil, errors.New("not now")
	}}
	playScript(t, source, 10*time.Minute)
	require.Equal(t, []time.Duration{1, 2, 4, 0, 1, 2, 1, 2, 10, 1},
		inSeconds(pauses(source.starts)), "the pauses of: %v", turns)
}

// Function: Reflector.Run
func TestTheUsualBackoffIsThatOfClientGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &script{list: func(int) ([]mini.Object, string, error) {
			return nil, "", errors.New("not now")
		}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		require.NoError(t, (&mini.Reflector{Source: source, Sink: newSink()}).Run(ctx))
		least := 800 * time.Millisecond
		for _, pause := range pauses(source.lists) {
			require.GreaterOrEqual(t, pause, least)
			require.LessOrEqual(t, pause, 2*least)
			least = min(2*least, 30*time.Second)
		}
		require.Equal(t, 30*time.Second, least)
		all := pauses(source.lists)
		require.NotEqual(t, all[len(all)-2], all[len(all)-1], "some of it is random")
	})
}

// A program that waits for the end of a pause doesn't stop when you tell it to.
//
// Function: Reflector.Run
func TestAStopIsObeyedAtOnce(t *testing.T) {
	for what, source := range inorder.Map(map[string]fakeapi.Fault{
		"in a list":          {Match: listsOfMaps, Hang: true},
		"in a watch's start": {Match: watchesOfMaps, Hang: true},
		"in a watch":         {Match: watchesOfMaps, Skip: 1, Hang: true}, // hits none
		"in a pause":         {Match: watchesOfMaps, Status: fakeapi.Unavailable()},
	}) {
		t.Run(what, func(t *testing.T) {
			inMemory(t, func(w *world) {
				w.Server.Inject(source)
				s := w.reflect()
				time.Sleep(10 * time.Second)
				s.took()
				began, failures := time.Now(), w.failures()
				w.end()
				require.Zero(w, time.Since(began))
				require.Equal(w, failures, w.failures(), "a stop isn't a failure")
				lists, watches := w.requests()
				require.LessOrEqual(w, lists+watches, 6, "and it sends no more requests")
			})
		})
	}
}

// failures returns how many pauses after a failure the flight recorder has seen.
func (w *world) failures() (n int) {
	for _, e := range w.Cluster.Trace.Events() {
		if e.Kind == trace.Backoff {
			n++
		}
	}
	return n
}

// stopCounter counts calls of Stop.
type stopCounter struct {
	watch.Interface
	count *atomic.Int32
}

func (s stopCounter) Stop() { s.count.Add(1) }

// Function: Reflector.watch
func TestAWatchIsStoppedWhenTheReflectorIsDoneWithIt(t *testing.T) {
	var count atomic.Int32
	playScript(t, &script{watch: func(call int, _ string) (watch.Interface, error) {
		if call > 1 {
			require.EqualValues(t, 2, count.Load(), "or the connection of the first one stays open")
			return watch.NewFake(), nil
		}
		w := watch.NewFakeWithChanSize(1, false) // its channel stays open
		w.Error(fakeapi.InternalError())
		return stopCounter{Interface: w, count: &count}, nil
	}}, time.Minute)
	require.EqualValues(t, 2, count.Load(), "the script stops it once, when its context ends")
}

// From a version that the server can't watch, or can't send the next event of, every watch fails in the
// same way. A reflector that resumes forever shows the state of that day to every controller.
func TestAVersionFromWhichNoWatchWorksMakesItListAgain(t *testing.T) {
	undecodable := &metav1.Status{Status: metav1.StatusFailure, Code: 500, Message: "unable to decode an event"}
	for what, refuse := range inorder.Map(map[string]func() (watch.Interface, error){
		"an event that doesn't decode": func() (watch.Interface, error) {
			return streamOf(watch.Event{Type: watch.Error, Object: undecodable}), nil
		},
		"an ERROR with code 500": func() (watch.Interface, error) {
			return streamOf(watch.Event{Type: watch.Error, Object: fakeapi.InternalError()}), nil
		},
		"an event without metadata": func() (watch.Interface, error) {
			return streamOf(watch.Event{Type: watch.Added, Object: &metav1.Status{}}), nil
		},
		"a bad request": func() (watch.Interface, error) {
			return nil, fmt.Errorf("watching: %w", apierrors.NewBadRequest("the version isn't a number"))
		},
	}) {
		t.Run(what, func(t *testing.T) {
			s := playScript(t, &script{
				list: func(call int) ([]mini.Object, string, error) {
					return []mini.Object{mapAt(call, "a", fmt.Sprint(call))}, fmt.Sprint(call), nil
				},
				watch: func(_ int, version string) (watch.Interface, error) {
					if version == "1" {
						return refuse()
					}
					return watch.NewFake(), nil
				},
			}, 5*time.Second)
			require.Equal(t, []string{"replace [a=1]", "replace [a=2]"}, s.calls)
		})
	}
}

// Each client would send a full list to a server that has just come back.
func TestAServerThatIsAwayCostsNoList(t *testing.T) {
	for what, fault := range inorder.Map(map[string]fakeapi.Fault{
		"no connection":       {Refuse: true},
		"unavailable":         {Status: fakeapi.Unavailable()},
		"too many requests":   {Status: fakeapi.TooManyRequests(1)},
		"an internal error":   {Status: fakeapi.InternalError()},
		"no right to do this": {Status: fakeapi.Forbidden()},
	}) {
		t.Run(what, func(t *testing.T) {
			inMemory(t, func(w *world) {
				w.Server.Inject(fakeapi.Fault{Match: watchesOfMaps, Times: 1, CutAfter: time.Minute})
				s := w.reflect()
				s.took()
				fault.Match = watchesOfMaps
				remove := w.Server.Inject(fault)
				time.Sleep(10 * time.Minute)
				w.createMap("a", "1")
				remove()
				time.Sleep(2 * time.Minute)
				require.Equal(w, []string{"update a=1"}, s.took())
				lists, _ := w.requests()
				require.Equal(w, 1, lists)
			})
		})
	}
}

// A proxy may be alive but pass nothing on: no event, and no end. Or the server was
// restored from a backup, and waits for days until its history gets to the version that
// the watch is from. The watch ends by the reflector's own clock.
//
// Function: Reflector.watch
func TestAWatchThatGetsNothingForMinutesIsFollowedByAList(t *testing.T) {
	var asked []string
	s := playScript(t, &script{
		list: func(int) ([]mini.Object, string, error) { return nil, "1", nil },
		watch: func(call int, version string) (watch.Interface, error) {
			asked = append(asked, version)
			if call != 2 {
				return watch.NewFake(), nil
			}
			return streamOf(watch.Event{Type: watch.Added, Object: mapAt(2, "a", "2")}), nil
		},
	}, 11*time.Minute)
	require.Equal(t, []string{"replace []", "replace []", "update a=2"}, s.calls)
	require.Equal(t, []string{"1", "1", "2"}, asked)
}

// A proxy passes on one event, and then nothing more. The watch ends as early as if that event hadn't come.
//
// Function: Reflector.watch
func TestTheReflectorsOwnClockRunsFromTheBeginningOfTheWatch(t *testing.T) {
	source := &script{watch: func(call int, _ string) (watch.Interface, error) {
		w := watch.NewRaceFreeFake()
		if call == 1 {
			time.AfterFunc(9*time.Minute, func() { w.Modify(mapAt(2, "a", "2")) })
		}
		return w, nil
	}}
	playScript(t, source, 12*time.Minute)
	require.Equal(t, []time.Duration{0, 10*time.Minute + 30*time.Second}, source.starts)
}

func TestTheFlightRecorderShowsTheReflector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := trace.New(0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		source := &script{list: func(call int) ([]mini.Object, string, error) {
			if call == 1 {
				return nil, "", errors.New("not now")
			}
			return nil, "1", nil
		}, watch: func(call int, _ string) (watch.Interface, error) {
			if call > 1 {
				return watch.NewFake(), nil
			}
			return streamOf(
				watch.Event{Type: watch.Modified, Object: mapAt(2, "a", "1")},
				watch.Event{Type: watch.Bookmark, Object: mapAt(3, "", "")},
				watch.Event{Type: watch.Error, Object: fakeapi.Expired()}), nil
		}}
		r := &mini.Reflector{
			Source: source, Sink: newSink(), Backoff: exactBackoff, Trace: recorder,
		}
		require.NoError(t, r.Run(ctx))
		var got []trace.Event
		var reasons []string
		for _, e := range recorder.Events() {
			require.NotEmpty(t, e.Layer)
			e.Seq, e.At, e.Layer = 0, 0, ""
			reasons, e.Reason = append(reasons, e.Reason), ""
			got = append(got, e)
		}
		require.Equal(t, []trace.Event{
			{Kind: trace.Backoff, Took: time.Second, Count: 1},
			{
				Kind: trace.WatchEvent, Op: "MODIFIED", Object: "ConfigMap",
				Namespace: "default", Name: "a", Version: "2",
			},
			{Kind: trace.Bookmark, Version: "3"},
			{Kind: trace.Expired, Version: "3"},
			{Kind: trace.Backoff, Took: time.Second, Count: 1},
		}, got)
		require.Contains(t, reasons[0], "not now", "the reason is the source's own error")
		require.NotEmpty(t, reasons[4])
	})
}

// A custom resource without a schema takes a text where the Go type has a number. While
// it's there, no list works, and nothing is reported as deleted. When it has been
// corrected, the store is right at once.
func TestOneObjectThatDoesNotDecodeDoesNotMakeItsKindDeaf(t *testing.T) {
	inMemory(t, func(w *world) {
		w.createMap("good", "1")
		var bad atomic.Bool
		w.Cluster = w.behindProxy(func(r *http.Request, response *http.Response) {
			if strings.HasSuffix(r.URL.Path, "/configmaps") {
				response.Body = spoiled{response.Body, &bad}
			}
		})
		log := captureLog(t)
		s := w.reflect()
		require.Equal(w, []string{"replace [good=1]"}, s.took())
		bad.Store(true)
		w.createMap("bad", "1")
		time.Sleep(time.Minute)
		require.Empty(w, s.took())
		require.Equal(w, []string{"good=1"}, s.has(), "nobody has deleted it")
		require.Equal(w, 1, strings.Count(log.String(), "\n"), "the log: %s", log)
		require.Contains(w, log.String(), "/v1, Kind=ConfigMap")
		require.Contains(w, log.String(), "unable to decode")
		bad.Store(false)
		w.updateMap("good", "2")
		time.Sleep(time.Minute)
		require.Equal(w, []string{"bad=1", "good=2"}, s.has())
		w.updateMap("good", "3")
		synctest.Wait()
		require.Equal(w, []string{"bad=1", "good=3"}, s.has(), "and it watches again")
	})
}

// spoiled makes the text "1" in each object of an answer a number, while it's told to.
type spoiled struct {
	io.ReadCloser
	on *atomic.Bool
}

func (s spoiled) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if s.on.Load() {
		copy(p[:n], bytes.ReplaceAll(p[:n], []byte(`"value":"1"`), []byte(`"value":111`)))
	}
	return n, err
}

// captureLog returns what slog writes until the test ends.
func captureLog(t *testing.T) *bytes.Buffer {
	t.Helper()
	before, log := slog.Default(), &bytes.Buffer{}
	slog.SetDefault(slog.New(slog.NewTextHandler(log, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	return log
}

// orderly is a sink that sees an object only move forward.
type orderly struct {
	*sink
	t      *testing.T
	newest map[string]uint64
}

func (o *orderly) Replace(items []mini.Object, version string) {
	for _, obj := range items {
		o.see(obj, true)
	}
	o.sink.Replace(items, version)
}

func (o *orderly) Update(obj mini.Object) {
	o.see(obj, false)
	o.sink.Update(obj)
}

func (o *orderly) Delete(obj mini.Object) {
	o.see(obj, false)
	o.sink.Delete(obj)
}

func (o *orderly) see(obj mini.Object, again bool) {
	version, err := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
	before := o.newest[obj.GetName()]
	if err != nil || version < before || version == before && !again {
		o.t.Errorf("%s came with version %s after version %d", obj.GetName(),
			obj.GetResourceVersion(), before)
	}
	o.newest[obj.GetName()] = version
}

func TestNothingIsLostOrReorderedWhateverFails(t *testing.T) {
	for seed := range uint64(8) {
		inMemory(t, func(w *world) {
			random := rand.New(rand.NewPCG(seed, 0))
			remove := []func(){}
			for i, fault := range []fakeapi.Fault{
				{Match: watchesOfMaps, CutAfterEvents: 1, Probability: 0.3},
				{Match: watchesOfMaps, CutAfterEvents: 3, CutAbruptly: true, Probability: 0.3},
				{Match: watchesOfMaps, CutAfter: 5 * time.Second, Probability: 0.3},
				{Match: watchesOfMaps, Status: fakeapi.Expired(), Probability: 0.1},
				{Match: watchesOfMaps, Refuse: true, Probability: 0.2},
				{Match: listsOfMaps, Refuse: true, Probability: 0.2},
				{Match: listsOfMaps, Status: fakeapi.Unavailable(), Probability: 0.2},
			} {
				fault.Seed = seed*100 + uint64(i)
				remove = append(remove, w.Server.Inject(fault))
			}
			s := &orderly{sink: newSink(), t: w.T, newest: map[string]uint64{}}
			w.run((&mini.Reflector{Source: w.maps(), Sink: s, Backoff: exactBackoff}).Run)
			exists := map[string]bool{}
			for i := range 60 {
				name, value := strconv.Itoa(random.IntN(5)), strconv.Itoa(i)
				switch {
				case !exists[name]:
					w.createMap(name, value)
					exists[name] = true
				case random.IntN(3) == 0:
					w.deleteMap(name)
					exists[name] = false
				default:
					w.updateMap(name, value)
				}
				if random.IntN(3) == 0 {
					time.Sleep(time.Duration(random.IntN(5000)) * time.Millisecond)
				}
				if random.IntN(10) == 0 {
					w.Server.Compact(w.Server.ResourceVersion() - uint64(random.IntN(3)))
				}
			}
			for _, f := range remove {
				f()
			}
			time.Sleep(5 * time.Minute)
			synctest.Wait()
			list, err := w.Other.CoreV1().ConfigMaps("").List(w.ctx, metav1.ListOptions{})
			require.NoError(w, err)
			want := []string{}
			for i := range list.Items {
				want = append(want, nameAndValue(&list.Items[i]))
			}
			require.Equal(w, want, s.has(), "seed %d", seed)
		})
	}
}
