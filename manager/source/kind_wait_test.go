package source

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/client"
)

var widget = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}

func notInstalled() error {
	return fmt.Errorf("looking for the kind: %w", &meta.NoKindMatchError{GroupKind: widget.GroupKind(), SearchedVersions: []string{widget.Version}})
}

// until returns the error until the time has come.
func until(end time.Time, err error) func() error {
	return func() error {
		if time.Now().Before(end) {
			return err
		}
		return nil
	}
}

func TestPausesDoubleUpTo10SecondsAndSilencesWithoutEnd(t *testing.T) {
	var wait kindWait
	var waited time.Duration
	var pauses []time.Duration
	var said []time.Duration
	for range 100 {
		pause, say, silence := wait.failed(waited)
		pauses = append(pauses, pause)
		if say {
			said = append(said, waited)
			require.Equal(t, max(waited, firstSilence), silence)
		}
		require.Positive(t, silence)
		waited += pause
	}
	ms := time.Millisecond
	require.Equal(t, []time.Duration{250 * ms, 500 * ms, 1000 * ms, 2000 * ms, 4000 * ms, 8000 * ms, 10000 * ms, 10000 * ms}, pauses[:8])
	require.Equal(t, longestPause, pauses[99])
	require.Equal(t, []time.Duration{0, 15750 * ms, 35750 * ms, 75750 * ms, 155750 * ms, 315750 * ms, 635750 * ms}, said)
}

// A controller and the CRD that it needs are often installed together, in any order.
func TestAKindThatIsNotInstalledYetIsWaitedFor(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.create("web")
		queue, began := newQueue(), time.Now()
		w.cache.refuse(until(began.Add(time.Minute), notInstalled()))
		stop := ready(t, Kind[client.Object](w.cache, configMap(""), &diary{}), queue)
		defer stop()
		require.Equal(t, 65750*time.Millisecond, time.Since(began))
		require.Equal(t, []string{"web"}, queue.waiting())
		require.Len(t, w.cache.asks(began), 12)
		lines := queue.log.With("the kind Widget of the group example.com, version v1 is not installed; is its CustomResourceDefinition there?")
		require.Len(t, lines, 3, "at once, and then less and less often")
		require.Contains(t, lines[0], "kind source: *v1.ConfigMap")
	})
}

func TestTheTimeoutNamesTheKindAndSaysWhatToDo(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.cache.refuse(notInstalled)
		s := Kind[client.Object](w.cache, configMap(""), &diary{})
		stop := starts(t, s, newQueue())
		defer stop()
		ended := errors.New("it took too long")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Minute, ended)
		defer cancel()
		err := s.WaitForSync(ctx)
		require.ErrorIs(t, err, ended)
		require.True(t, meta.IsNoMatchError(err))
		require.ErrorContains(t, err, "the kind Widget of the group example.com, version v1 is not installed; is its CustomResourceDefinition there?")
	})
}

func TestEachTroubleHasAnExplanation(t *testing.T) {
	core := &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "Pot"}}
	for _, c := range []struct {
		err  error
		want string
	}{
		{notInstalled(), "the kind Widget of the group example.com, version v1 is not installed; is its CustomResourceDefinition there? looking for the kind: no matches"},
		{core, "the kind Pot of the core group is not installed; is its CustomResourceDefinition there? no matches"},
		{&meta.NoKindMatchError{GroupKind: core.GroupKind, SearchedVersions: []string{"v1"}}, "the kind Pot of the core group, version v1 is not installed"},
		{&meta.NoResourceMatchError{PartialResource: widget.GroupVersion().WithResource("widgets")}, "the kind is not installed; is its CustomResourceDefinition there? no matches"},
		{unregistered(), "the Go type has to be added to the Scheme, before the source is started: cache: no kind is registered"},
		{fmt.Errorf("%w: %w", errBroken, unregistered()), "the Go type has to be added to the Scheme, before the source is started: it is broken: cache: no kind"},
		{errors.New("no route to host"), "the cache has no informer: no route to host"},
	} {
		require.ErrorIs(t, explain(c.err), c.err)
		require.ErrorContains(t, explain(c.err), c.want)
	}
}

func unregistered() error {
	_, _, err := runtime.NewScheme().ObjectKinds(&corev1.Pod{})
	return fmt.Errorf("cache: %w", err)
}

// Nothing that happens in the cluster makes the program know a Go type. Waiting for it would hide
// the mistake for two minutes.
func TestATypeThatTheSchemeDoesNotKnowIsAnErrorAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.cache.refuse(unregistered)
		queue, s, began := newQueue(), Kind[client.Object](w.cache, configMap(""), &diary{}), time.Now()
		stop := starts(t, s, queue)
		defer stop()
		for range 2 { // whoever asks later is told, too
			require.ErrorContains(t, s.WaitForSync(t.Context()), "added to the Scheme")
		}
		time.Sleep(time.Minute)
		require.Equal(t, []time.Duration{0}, w.cache.asks(began))
		require.Len(t, queue.log.With("A source cannot be started"), 1)
	})
}

// wakingCache knows when kinds are installed.
type wakingCache struct {
	*testCache
	installed chan struct{}
	waits     []schema.GroupVersionKind
}

func (c *wakingCache) WaitForKind(ctx context.Context, kind schema.GroupVersionKind) error {
	c.waits = append(c.waits, kind)
	select {
	case <-c.installed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Ten thousand controllers that poll discovery are a load; and ten seconds are a long time for
// somebody who waits.
func TestACacheThatKnowsWhenAKindComesIsNotAskedAgainAndAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		began := time.Now()
		w.cache.refuse(until(began.Add(8*time.Second), notInstalled()))
		c := &wakingCache{testCache: w.cache, installed: make(chan struct{})}
		stop := starts(t, Kind[client.Object](c, configMap(""), &diary{}), newQueue())
		defer stop()
		time.Sleep(8 * time.Second)
		close(c.installed)
		synctest.Wait()
		require.Equal(t, []time.Duration{0, 8 * time.Second}, w.cache.asks(began))
		require.Equal(t, []schema.GroupVersionKind{widget}, c.waits)
	})
}

// The time that the cache has waited is a pause already.
func TestAKindThatComesAfterAFalseAlarmIsNotKeptWaiting(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		began := time.Now()
		w.cache.refuse(until(began.Add(15*time.Second), notInstalled()))
		c := &wakingCache{testCache: w.cache, installed: make(chan struct{})}
		stop := starts(t, Kind[client.Object](c, configMap(""), &diary{}), newQueue())
		defer stop()
		time.Sleep(8 * time.Second)
		c.installed <- struct{}{}
		time.Sleep(7 * time.Second)
		c.installed <- struct{}{}
		synctest.Wait()
		require.Equal(t, []time.Duration{0, 8 * time.Second, 10 * time.Second, 15 * time.Second}, w.cache.asks(began), "at 10 s, so that the log says what the source waits for")
	})
}

// A server that is away for a moment has nothing to do with the kind, and nobody will announce it.
func TestACacheIsNotAskedForAKindBecauseOfAnotherTrouble(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		began := time.Now()
		w.cache.refuse(until(began.Add(time.Second), errors.New("no route to host")))
		c := &wakingCache{testCache: w.cache, installed: make(chan struct{})}
		stop := starts(t, Kind[client.Object](c, configMap(""), &diary{}), newQueue())
		defer stop()
		time.Sleep(time.Minute)
		require.Empty(t, c.waits)
		require.Equal(t, []time.Duration{0, 250 * time.Millisecond, 750 * time.Millisecond, 1750 * time.Millisecond}, w.cache.asks(began))
	})
}

func TestACacheThatIsWrongAboutAKindDoesNotKeepACoreBusy(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		began := time.Now()
		w.cache.refuse(notInstalled)
		c := &wakingCache{testCache: w.cache, installed: make(chan struct{})}
		close(c.installed)
		stop := starts(t, Kind[client.Object](c, configMap(""), &diary{}), newQueue())
		time.Sleep(time.Minute)
		stop()
		require.Equal(t, []time.Duration{0, 0}, w.cache.asks(began)[:2])
		require.Len(t, w.cache.asks(began), 12)
	})
}

// Somebody who looks at the log an hour later must see what the controller waits for.
func TestAWaitForAKindIsInTheLogAgainAndAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.cache.refuse(notInstalled)
		queue := newQueue()
		stop := starts(t, Kind[client.Object](&wakingCache{testCache: w.cache}, configMap(""), &diary{}), queue)
		time.Sleep(time.Hour)
		stop()
		require.Len(t, queue.log.With("A source waits for its kind"), 10)
	})
}

// The list may be forbidden, or the server away. Whoever wonders why nothing starts wants to know.
func TestASourceThatIsNotReadySaysWhy(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault fakeapi.Fault
		takes time.Duration
		want  string
	}{
		{"forbidden", fakeapi.Fault{Match: fakeapi.Match{UserAgent: "the-cache"}, Status: fakeapi.Forbidden()}, 0, "forbidden"},
		{"slow", fakeapi.Fault{}, 10 * time.Hour, "the objects are listed, and the handler has not seen all of them yet"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.create("web")
				defer w.server.Inject(c.fault)()
				s := Kind[client.Object](w.cache, configMap(""), &diary{takes: c.takes})
				stop := starts(t, s, newQueue())
				defer stop()
				ended := errors.New("it took too long")
				ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, ended)
				defer cancel()
				err := s.WaitForSync(ctx)
				require.ErrorIs(t, err, ended)
				require.ErrorContains(t, err, c.want)
			})
		})
	}
}

// Not every cache returns at once. Some wait until they have listed, whatever they are told.
func TestACacheThatDoesNotAnswerIsNamed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.cache.refuse(func() error { time.Sleep(time.Hour); return nil })
		s := Kind[client.Object](w.cache, configMap(""), &diary{})
		stop := starts(t, s, newQueue())
		defer stop()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.ErrorContains(t, s.WaitForSync(ctx), "the cache has not returned an informer yet")
	})
}
