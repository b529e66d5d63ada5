package informer

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/inorder"
)

// stopwatch measures how long watches are open.
type stopwatch struct {
	ListerWatcher[*corev1.ConfigMap]
	mu   sync.Mutex // guards open
	open time.Duration
}

func (s *stopwatch) Watch(ctx context.Context, options metav1.ListOptions) (Watch[*corev1.ConfigMap], error) {
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
func openFor(t *testing.T, s *fakeapi.Server, w world, options ReflectorOptions) (part float64, watches int) {
	t.Helper()
	from := &stopwatch{ListerWatcher: w.listWatch(t, ListWatchOptions{})}
	r := &reflecting{view: newView()}
	r.Reflector = NewReflector(ListerWatcher[*corev1.ConfigMap](from), Sink[*corev1.ConfigMap](r.view), options)
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
		"cut after 5 s":           {fakeapi.Fault{CutAfter: 5 * time.Second}, ReflectorOptions{}, 125},
		"cut after 8 s":           {fakeapi.Fault{CutAfter: 8 * time.Second}, ReflectorOptions{}, 80},
		"broken after 5 s":        {fakeapi.Fault{CutAfter: 5 * time.Second, CutAbruptly: true}, ReflectorOptions{}, 125},
		"broken after 5 s, lists": {fakeapi.Fault{CutAfter: 5 * time.Second, CutAbruptly: true}, ReflectorOptions{NoStream: true}, 125},
		"a time-out of 3 s":       {fakeapi.Fault{}, ReflectorOptions{WatchTimeout: 3 * time.Second}, 205},
		"a time-out of 1 s":       {fakeapi.Fault{}, ReflectorOptions{WatchTimeout: time.Second}, 605},
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
				require.LessOrEqual(t, len(s.Requests(configMapLists)), 1, "a watch that lived is no reason for a new view")
			})
		})
	}
}

// Where every watch ends after its first event, a busy collection is followed at
// a steady pace, and a quiet one leaves the server alone.
func TestWatchesThatEndAfterAnEventAreOpenedAtASteadyPace(t *testing.T) {
	inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
		w.create(t, "apple", nil)
		s.Inject(fakeapi.Fault{Match: configMapWatches, Skip: 1, CutAfterEvents: 1})
		s.Inject(fakeapi.Fault{Match: configMapWatches, Times: 1, CutAfter: time.Second})
		r := runReflector(t, w, ReflectorOptions{})
		r.view.untilIsThere(t, "apple")
		for i := range 300 {
			w.change(t, "apple", i)
			time.Sleep(2 * time.Second)
			require.Equal(t, map[string]string{"apple": strconv.Itoa(i)}, r.view.values(), "the pause must not grow")
		}
		require.Less(t, len(s.Requests(configMapWatches)), 320)
		r.legal(t)
	})
}

// A server that ends every watch at once must not be hammered by its clients.
func TestAServerThatEndsEveryWatchAtOnceIsAskedRarely(t *testing.T) {
	for name, abruptly := range inorder.Map(map[string]bool{"in good order": false, "broken": true}) {
		t.Run(name, func(t *testing.T) {
			inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
				w.create(t, "apple", nil)
				s.Inject(fakeapi.Fault{Match: configMapWatches, CutAfter: time.Nanosecond, CutAbruptly: abruptly})
				_, watches := openFor(t, s, w, ReflectorOptions{})
				require.Less(t, watches, 50, "in ten minutes: five a minute, after the first few")
				require.Greater(t, watches, 15, "and it must not stop trying")
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
