package controller

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/internal/logtest"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// A controller learns of a new kind while it runs, when a CRD is installed for instance.
func TestASourceCanBeAddedWhileTheControllerRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls calls
		c, _ := start(t, Options{Reconciler: calls.answering()})
		source := &testSource{adds: "web", syncs: time.Minute}
		require.NoError(t, c.Watch(source))
		synctest.Wait()
		require.Equal(t, []string{"web"}, calls.all())
		require.NoError(t, c.end())
		require.True(t, source.hasStopped())
	})
}

// Somebody who looks at the log of a controller that hangs in a Start must see in which one.
func TestTheLogNamesASourceBeforeItIsStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logtest.Collected
		before := 0
		source := sourceFunc(func(context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			before = len(log.With("Starting source"))
			return nil
		})
		c := begin(t, Options{Reconciler: new(calls).answering(), Logger: log.Logger(0)})
		synctest.Wait()
		require.NoError(t, c.Watch(source))
		require.Equal(t, 2, before, "its own line, and that of the first source")
		require.NoError(t, c.end())
	})
}

func TestASourceThatCannotBeAddedIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := start(t, Options{Reconciler: new(calls).answering()})
		source := &testSource{name: "pods", fails: errBroken}
		require.ErrorIs(t, c.Watch(source), errBroken)
		require.ErrorContains(t, c.Unwatch(source), "does not watch the source pods")
		require.NoError(t, c.end())
		require.ErrorIs(t, c.Watch(&testSource{}), errStopped)
	})
}

func TestASourceThatWasAddedAndIsNotReadyIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logtest.Collected
		c, _ := start(t, Options{Reconciler: new(calls).answering(), Logger: log.Logger(0)})
		require.NoError(t, c.Watch(&testSource{name: "pods", syncs: time.Hour}))
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		require.Len(t, log.With("3 of 7 objects are listed"), 1)
		require.NoError(t, c.Watch(&testSource{name: "nodes", syncs: time.Hour}))
		time.Sleep(time.Minute)
		require.NoError(t, c.end())
		require.Len(t, log.With("3 of 7 objects are listed"), 1, "that it is not ready when the controller stops is no news")
	})
}

// Stop what was started: a watch of a kind that is gone fails again and again.
func TestASourceCanBeRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		early, late := &testSource{stops: time.Second}, &testSource{stops: time.Second}
		c := begin(t, Options{Reconciler: new(calls).answering()}, early)
		synctest.Wait()
		require.NoError(t, c.Watch(late))
		for _, source := range []*testSource{early, late} {
			require.NoError(t, c.Unwatch(source))
			require.True(t, source.hasStopped(), "it was to be waited for")
			require.Equal(t, errUnwatched, *source.cause.Load())
			require.Error(t, c.Unwatch(source), "once is enough")
		}
		require.NoError(t, c.end())
	})
}

func TestASourceCanBeRemovedBeforeTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := NewUnmanaged(t.Name(), Options{Reconciler: new(calls).answering(), Logger: new(logtest.Collected).Logger(0)})
		require.NoError(t, err)
		first, second := &testSource{name: "first"}, &testSource{name: "second"}
		require.NoError(t, c.Watch(first))
		require.NoError(t, c.Watch(second))
		require.NoError(t, Unwatch(c, first))
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		require.NoError(t, c.Start(ctx))
		require.Zero(t, first.started.Load())
		require.EqualValues(t, 1, second.started.Load())
	})
}

func TestASourceCanBeRemovedWhileItStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls calls
		source := &testSource{syncs: time.Hour, stops: time.Second}
		c := begin(t, Options{Reconciler: calls.answering()}, source, &testSource{adds: "web"})
		time.Sleep(time.Second)
		require.NoError(t, c.Unwatch(source))
		synctest.Wait()
		require.Equal(t, []string{"web"}, calls.all(), "the others are ready")
		require.NoError(t, c.end())
	})
}

// wrapped is a source that is a value, not a pointer.
type wrapped struct{ Source }

func TestASourceThatCannotBeToldFromOthersCannotBeRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := start(t, Options{Reconciler: new(calls).answering()})
		source := sourceFunc(func(context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request]) error { return nil })
		require.NoError(t, c.Watch(source))
		require.ErrorContains(t, c.Unwatch(source), "not comparable")
		same, other := &testSource{}, sourceFunc(func(context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request]) error { return nil })
		require.NoError(t, c.Watch(wrapped{other}), "its type can be compared, and this value cannot")
		require.NoError(t, c.Watch(wrapped{same}))
		require.NoError(t, c.Unwatch(wrapped{same}))
		require.Error(t, c.Unwatch(wrapped{same}))
		require.NoError(t, c.end())
	})
}

// A controller may be stopped, and a source removed, at any moment, also between two steps of a
// start.
func TestNothingStartsAfterTheStop(t *testing.T) {
	var s sources[reconcile.Request]
	w := newWatched(&testSource{})
	_, err := s.add(w)
	require.NoError(t, err)
	s.stop(t.Context(), errStopped) // which must not wait for a source that was never started
	require.Empty(t, s.open(t.Context(), nil))
	_, _, watched := s.begin(w)
	require.False(t, watched)
	running, err := s.add(w)
	require.False(t, running)
	require.ErrorIs(t, err, errStopped)
	require.Empty(t, s.watched)
}

// Watch may be in the middle of a call when the controller stops.
func TestAStopWaitsForASourceThatIsBeingAdded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := start(t, Options{Reconciler: new(calls).answering()})
		answer := make(chan error, 1)
		go func() {
			answer <- c.Watch(sourceFunc(func(ctx context.Context, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
				<-ctx.Done()
				time.Sleep(time.Second)
				return context.Cause(ctx)
			}))
		}()
		synctest.Wait()
		stopping := time.Now()
		require.NoError(t, c.end())
		require.Equal(t, time.Second, time.Since(stopping))
		require.Error(t, <-answer)
	})
}
