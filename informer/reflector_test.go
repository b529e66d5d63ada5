package informer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/trace"
)

// view is a Sink that checks that what it is told is a legal history.
type view struct {
	mu       sync.Mutex // guards all below
	objects  map[string]*corev1.ConfigMap
	replaces int
	applies  int
	progress int
	version  string
	illegal  []string
	changed  chan struct{} // closed at each change by the reflector's goroutine, received by until
}

func newView() *view { return &view{changed: make(chan struct{})} }

func (v *view) moveLocked(what, version string) {
	if order, err := resourceversion.CompareResourceVersion(version, v.version); err == nil && order < 0 {
		v.illegal = append(v.illegal, fmt.Sprintf("%s went back from %s to %s", what, v.version, version))
	}
	v.version = version
	close(v.changed)
	v.changed = make(chan struct{})
}

func (v *view) Replace(items []*corev1.ConfigMap, resourceVersion string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.replaces++
	v.objects = map[string]*corev1.ConfigMap{}
	for _, item := range items {
		if v.objects[item.Name] != nil {
			v.illegal = append(v.illegal, "twice in a list: "+item.Name)
		}
		v.objects[item.Name] = item
	}
	v.moveLocked("Replace", resourceVersion)
}

func (v *view) Apply(event Event[*corev1.ConfigMap]) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.applies++
	name := event.Object.Name
	if there := v.objects[name] != nil; there == (event.Type == watch.Added) {
		v.illegal = append(v.illegal, fmt.Sprintf("%s of %s, which was there: %v", event.Type, name, there))
	}
	if event.Type == watch.Deleted {
		delete(v.objects, name)
	} else {
		v.objects[name] = event.Object
	}
	v.moveLocked("Apply", event.ResourceVersion)
}

func (v *view) Progress(resourceVersion string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.progress++
	v.moveLocked("Progress", resourceVersion)
}

// values is what the view holds: name and value.
func (v *view) values() map[string]string {
	v.mu.Lock()
	defer v.mu.Unlock()
	values := map[string]string{}
	for name, object := range v.objects {
		values[name] = object.Data["value"]
	}
	return values
}

// until waits until the view is as it should be.
func (v *view) until(t *testing.T, done func(*view) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		v.mu.Lock()
		ok, changed := done(v), v.changed
		v.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("the view did not become what it should be: %d objects at %s", len(v.objects), v.version)
		}
	}
}

func (v *view) untilIsThere(t *testing.T, names ...string) {
	t.Helper()
	v.until(t, func(v *view) bool {
		if v.replaces == 0 || len(v.objects) != len(names) {
			return false
		}
		return !slices.ContainsFunc(names, func(name string) bool { return v.objects[name] == nil })
	})
}

// reflecting is a reflector that runs until the test ends or stop is called.
type reflecting struct {
	*Reflector[*corev1.ConfigMap]
	view     *view
	recorder *trace.Recorder
	stop     func() error
}

func runReflector(t *testing.T, w world, options ReflectorOptions) *reflecting {
	t.Helper()
	recorder := trace.New(0)
	options.Recorder = recorder
	r := &reflecting{view: newView(), recorder: recorder}
	r.Reflector = NewReflector(w.listWatch(t, ListWatchOptions{Recorder: recorder}), Sink[*corev1.ConfigMap](r.view), options)
	r.start(t)
	return r
}

func (r *reflecting) start(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1) // one result, which nobody may want
	go func() { ended <- r.Run(ctx) }()
	r.stop = sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-ended:
			return err
		case <-time.After(5 * time.Second):
			return errors.New("the reflector does not stop")
		}
	})
	t.Cleanup(func() { require.NoError(t, r.stop()) })
}

// legal checks what the sink noted.
func (r *reflecting) legal(t *testing.T) {
	t.Helper()
	r.view.mu.Lock()
	defer r.view.mu.Unlock()
	require.Empty(t, r.view.illegal, "the sink must be told a legal history")
}

// told is what the flight recorder knows, in short.
func (r *reflecting) told() string {
	var lines []string
	for _, event := range r.recorder.Events() {
		lines = append(lines, event.Kind.String()+" "+event.Reason)
	}
	return strings.Join(lines, "\n")
}

// inMemory runs a test against the in-memory API server, on a clock that does
// not wait. When it returns, no goroutine may be left, or synctest complains.
func inMemory(t *testing.T, options fakeapi.Options, test func(t *testing.T, s *fakeapi.Server, w world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(options)
		t.Cleanup(server.Close)
		test(t, server, newWorld(t, server.Config(), metav1.NamespaceDefault))
	})
}

var (
	configMapLists   = fakeapi.Match{Resource: "configmaps", Verb: "list"}
	configMapWatches = fakeapi.Match{Resource: "configmaps", Verb: "watch"}
)

func TestAReflectorBringsAllThereIsAndThenWhatChanges(t *testing.T) {
	for name, options := range map[string]ReflectorOptions{"streaming": {}, "listing": {NoStream: true}, "by pages": {NoStream: true, PageSize: 1}} {
		t.Run(name, func(t *testing.T) {
			onEachServer(t, func(t *testing.T, w world) {
				w.create(t, "apple", nil)
				w.create(t, "banana", nil)
				r := runReflector(t, w, options)
				r.view.untilIsThere(t, "apple", "banana")
				w.delete(t, "banana")
				w.change(t, "apple", 7)
				w.create(t, "cherry", nil)
				r.view.untilIsThere(t, "apple", "cherry")
				require.Equal(t, map[string]string{"apple": "7", "cherry": ""}, r.view.values())
				require.Equal(t, 1, r.view.replaces)
				require.Equal(t, 3, r.view.applies)
				require.NoError(t, r.Health().Ready(time.Now(), 0))
				require.NoError(t, r.stop())
				require.Equal(t, StateStopped, r.Health().State)
				r.legal(t)
			})
		})
	}
}

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

func TestAfterEvery410TheViewIsWholeAgain(t *testing.T) {
	for name, lose := range map[string]func(s *fakeapi.Server){
		"as an HTTP status": func(s *fakeapi.Server) {
			s.Inject(fakeapi.Fault{Match: configMapWatches, Times: 1, Status: fakeapi.Expired()})
		},
		"as an event": func(s *fakeapi.Server) {},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
				w.create(t, "apple", nil)
				w.create(t, "banana", nil)
				s.Inject(fakeapi.Fault{Match: configMapWatches, Times: 1, CutAfter: 20 * time.Second, CutAbruptly: true})
				r := runReflector(t, w, ReflectorOptions{})
				r.view.untilIsThere(t, "apple", "banana")
				remove := s.Inject(fakeapi.Fault{Match: configMapWatches, Refuse: true})
				time.Sleep(30 * time.Second)
				w.delete(t, "banana")
				s.CompactAll()
				lose(s)
				remove()
				r.view.untilIsThere(t, "apple")
				require.Equal(t, 2, r.view.replaces)
				require.Contains(t, r.told(), "expired")
				r.legal(t)
			})
		})
	}
}

func TestAServerThatAsksToWaitIsLeftAloneForThatLong(t *testing.T) {
	inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
		w.create(t, "apple", nil)
		s.Inject(fakeapi.Fault{Match: configMapWatches, Times: 1, Status: fakeapi.TooManyRequests(17)})
		began := time.Now()
		r := runReflector(t, w, ReflectorOptions{})
		r.view.untilIsThere(t, "apple")
		require.GreaterOrEqual(t, time.Since(began), 17*time.Second)
		require.Less(t, time.Since(began), 18*time.Second)
		require.Empty(t, s.Requests(configMapLists), "429 is no reason to try something more expensive")
	})
}

// Without a pause this test would make a million requests in its ten minutes.
func TestWatchesThatEndAtOnceAreNoBusyLoop(t *testing.T) {
	for name, fault := range map[string]fakeapi.Fault{
		"in good order": {CutAfter: time.Nanosecond},
		"broken":        {CutAfter: time.Nanosecond, CutAbruptly: true},
		"refused":       {Refuse: true},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
				fault.Match = configMapWatches
				s.Inject(fault)
				runReflector(t, w, ReflectorOptions{})
				time.Sleep(10 * time.Minute)
				requests := len(s.Requests(configMapWatches))
				require.Less(t, requests, 60, "the pauses must grow")
				require.Greater(t, requests, 15, "and it must not stop trying")
			})
		})
	}
}

func TestAfterATimeOfHealthThePausesAreShortAgain(t *testing.T) {
	inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
		remove := s.Inject(fakeapi.Fault{Match: configMapWatches, Refuse: true})
		r := runReflector(t, w, ReflectorOptions{WatchTimeout: time.Hour})
		time.Sleep(5 * time.Minute)
		require.Greater(t, r.Health().Failures, 8)
		s.Inject(fakeapi.Fault{Match: configMapWatches, Times: 1, CutAfter: time.Minute, CutAbruptly: true})
		remove()
		time.Sleep(2 * time.Minute)
		w.create(t, "apple", nil)
		r.view.untilIsThere(t, "apple")
		events := trace.Filter{Kinds: []trace.Kind{trace.Backoff}}.Select(r.recorder.Events())
		require.LessOrEqual(t, events[len(events)-1].Took, time.Second)
	})
}

// A connection whose other end has vanished looks like a quiet collection.
func TestARequestThatHangsIsCut(t *testing.T) {
	for _, verb := range []string{"list", "watch"} {
		t.Run(verb, func(t *testing.T) {
			inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
				w.create(t, "apple", nil)
				s.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "configmaps", Verb: verb}, Times: 1, Hang: true})
				began := time.Now()
				r := runReflector(t, w, ReflectorOptions{NoStream: verb == "list", RequestTimeout: 10 * time.Second})
				r.view.untilIsThere(t, "apple")
				require.Less(t, time.Since(began), 15*time.Second)
				require.ErrorIs(t, r.Health().LastError, errStandstill)
			})
		})
	}
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

func TestARefusalNamesWhatIsMissing(t *testing.T) {
	forbidden := fakeapi.Forbidden()
	unauthorized := &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusUnauthorized, Reason: metav1.StatusReasonUnauthorized}
	unknown := &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound}
	for want, status := range map[Refusal]*metav1.Status{Forbidden: forbidden, BadCredentials: unauthorized, UnknownKind: unknown} {
		t.Run(string(want), func(t *testing.T) {
			inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
				w.create(t, "apple", nil)
				remove := s.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "configmaps"}, Status: status})
				r := runReflector(t, w, ReflectorOptions{})
				time.Sleep(time.Second)
				health := r.Health()
				var refused *RefusedError
				require.ErrorAs(t, health.LastError, &refused)
				require.Equal(t, want, refused.Reason)
				require.Equal(t, "watch", refused.Verb)
				require.Equal(t, configMapResource, refused.Resource)
				require.Equal(t, metav1.NamespaceDefault, refused.Namespace)
				require.True(t, apierrors.ReasonForError(refused) == status.Reason)
				require.ErrorContains(t, health.Ready(time.Now(), time.Minute), "not synced yet")
				require.ErrorContains(t, health.Ready(time.Now(), time.Minute), "configmaps")
				remove() // the right is granted
				r.view.untilIsThere(t, "apple")
			})
		})
	}
	require.Equal(t, `{apiGroups: [""], resources: ["configmaps"], verbs: ["list", "watch"]}`, (&RefusedError{Resource: configMapResource}).Rule())
}

func TestAReflectorThatIsToldToGiveUpReturnsTheReason(t *testing.T) {
	inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
		s.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "configmaps"}, Status: fakeapi.Forbidden()})
		var refused *RefusedError
		r := NewReflector(w.listWatch(t, ListWatchOptions{}), Sink[*corev1.ConfigMap](newView()),
			ReflectorOptions{GiveUp: func(err error) bool { return errors.As(err, &refused) }})
		require.ErrorContains(t, r.Run(t.Context()), "in namespace default, bind it to a Role there")
		require.Equal(t, StateStopped, r.Health().State)
	})
}

func TestAReflectorEndsWithTheCauseOfItsContext(t *testing.T) {
	inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
		r := NewReflector(w.listWatch(t, ListWatchOptions{}), Sink[*corev1.ConfigMap](newView()), ReflectorOptions{})
		why := errors.New("the lease was lost")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(why) })
		require.ErrorIs(t, r.Run(ctx), why)
	})
}

// Two at once would tell the sink two histories.
func TestAReflectorRunsOnce(t *testing.T) {
	inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
		r := runReflector(t, w, ReflectorOptions{})
		synctest.Wait()
		require.Error(t, r.Run(t.Context()))
	})
}

// A program that shuts down must not wait for a server that does not answer, or
// for the end of a pause.
func TestAReflectorStopsAtOnceWhateverItIsDoing(t *testing.T) {
	for name, fault := range map[string]fakeapi.Fault{
		"listing": {Hang: true}, "waiting": {Refuse: true}, "streaming": {DelayEvents: time.Hour}, "watching": {},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
				w.create(t, "apple", nil)
				fault.Match = fakeapi.Match{Resource: "configmaps"}
				s.Inject(fault)
				r := runReflector(t, w, ReflectorOptions{NoStream: name == "listing"})
				time.Sleep(5 * time.Second)
				require.Equal(t, name, r.Health().State.String())
				began := time.Now()
				require.NoError(t, r.stop())
				require.Less(t, time.Since(began), 10*time.Millisecond)
			})
		})
	}
}

// The clients of three API servers all move to two when one is updated. Equal
// time-outs would keep them together for ever.
func TestWatchTimeoutsDiffer(t *testing.T) {
	inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
		runReflector(t, w, ReflectorOptions{})
		time.Sleep(3 * time.Hour)
		asked := map[string]bool{}
		for _, request := range s.Requests(configMapWatches) {
			text := request.Query.Get("timeoutSeconds")
			asked[text] = true
			seconds, err := time.ParseDuration(text + "s")
			require.NoError(t, err)
			require.GreaterOrEqual(t, seconds, 5*time.Minute)
			require.LessOrEqual(t, seconds, 10*time.Minute)
		}
		require.Greater(t, len(asked), 10)
	})
}
