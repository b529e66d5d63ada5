package informer

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
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
