package informer

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/inorder"
)

func TestAReflectorBringsAllThereIsAndThenWhatChanges(t *testing.T) {
	for name, options := range inorder.Map(map[string]ReflectorOptions{"streaming": {},
		"listing": {NoStream: true}, "by pages": {NoStream: true, PageSize: 1}}) {
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

// A program that is stopped while it starts must not ask for a hundred
// thousand objects first.
func TestAReflectorWhoseContextHasEndedSendsNoRequest(t *testing.T) {
	for name, options := range inorder.Map(map[string]ReflectorOptions{"streaming": {},
		"listing": {NoStream: true}}) {
		t.Run(name, func(t *testing.T) {
			inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
				from := &requests{ListerWatcher: w.listWatch(t, ListWatchOptions{})}
				r := NewReflector(ListerWatcher[*corev1.ConfigMap](from), Sink[*corev1.ConfigMap](newView()),
					options)
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				require.NoError(t, r.Run(ctx))
				require.Zero(t, from.sent)
				require.Equal(t, StateStopped, r.Health().State)
			})
		})
	}
}

// requests counts requests.
type requests struct {
	ListerWatcher[*corev1.ConfigMap]
	sent int
}

func (r *requests) List(
	ctx context.Context, options metav1.ListOptions,
) (*List[*corev1.ConfigMap], error) {
	r.sent++
	return r.ListerWatcher.List(ctx, options)
}

func (r *requests) Watch(
	ctx context.Context, options metav1.ListOptions,
) (Watch[*corev1.ConfigMap], error) {
	r.sent++
	return r.ListerWatcher.Watch(ctx, options)
}

// Without a handler a program that may not read something runs for days, and
// nobody finds a line in its log.
func TestTheWatchErrorHandlerHearsOfEveryErrorAndNothingElse(t *testing.T) {
	inMemory(t, fakeapi.Options{}, func(t *testing.T, s *fakeapi.Server, w world) {
		w.create(t, "apple", nil)
		// refused
		s.Inject(fakeapi.Fault{Match: configMapWatches, Times: 1, Status: fakeapi.Forbidden()})
		// ended
		s.Inject(fakeapi.Fault{Match: configMapWatches, Skip: 1, Times: 1, CutAfter: time.Second})
		// broken
		s.Inject(fakeapi.Fault{Match: configMapWatches, Skip: 2, Times: 1, CutAfter: 10 * time.Second,
			CutAbruptly: true})
		var heard []error
		r := runReflector(t, w, ReflectorOptions{WatchErrorHandler: func(err error) { heard = append(heard, err) }})
		time.Sleep(time.Minute)
		require.NoError(t, r.stop())
		require.Len(t, heard, 2, "a refused request and a broken watch: the end of a watch in good "+
			"order is no error")
		var refused *RefusedError
		require.ErrorAs(t, heard[0], &refused)
		require.ErrorIs(t, heard[1], io.ErrUnexpectedEOF)
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
	for name, fault := range inorder.Map(map[string]fakeapi.Fault{
		"listing": {Hang: true}, "waiting": {Refuse: true}, "streaming": {DelayEvents: time.Hour},
		"watching": {},
	}) {
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
// time-outs would keep them together forever.
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
