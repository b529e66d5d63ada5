package controller

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/internal/logtest"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// A stop would wait forever for the answer of a Start that never gives one.
func TestASourceThatPanicsInWatchIsNoLongerWatched(t *testing.T) {
	for _, c := range []struct {
		name string
		ends func()
	}{
		{"panic", func() { panic(errBroken) }},
		{"Goexit", runtime.Goexit},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, _ := start(t, Options{Reconciler: new(calls).answering()})
				go func() {
					defer func() { _ = recover() }()
					_ = r.Watch(sourceFunc(func(context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
						c.ends()
						return nil
					}))
				}()
				synctest.Wait()
				require.Len(t, r.sources.watched, 1, "the one that prepare adds")
				require.NoError(t, r.end())
			})
		})
	}
}

// t.FailNow in a test's source calls Goexit.
func TestASourceThatEndsItsGoroutineIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := prepare(t, Options{Reconciler: new(calls).answering()})
		require.NoError(t, c.Watch(sourceFunc(func(context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			runtime.Goexit()
			return nil
		})))
		began := time.Now()
		c.begin()
		require.ErrorContains(t, <-c.ended, "starting the source controller.sourceFunc: "+errNoAnswer.Error())
		require.Zero(t, time.Since(began), "there is nothing to wait for")
	})
}

// lateSource answers WaitForSync a moment after its context has ended.
type lateSource struct {
	testSource
	after  time.Duration
	answer error
	cause  error // of the end of WaitForSync's context
}

func (s *lateSource) WaitForSync(ctx context.Context) error {
	<-ctx.Done()
	s.cause = context.Cause(ctx)
	time.Sleep(s.after)
	return s.answer
}

// Its message says what it waits for.
func TestASourceHasTimeToSayWhyItIsNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logtest.Collected
		source := &lateSource{testSource: testSource{name: "pods"}, after: time.Second, answer: errBroken}
		c := begin(t, Options{Reconciler: new(calls).answering(), Logger: log.Logger(0), GracePeriod: -1}, source)
		require.ErrorIs(t, <-c.ended, errBroken)
		require.Equal(t, errNotReady, source.cause)
		require.True(t, source.hasStopped())
		require.Empty(t, log.With("left behind"))
	})
}

// It is better to run than to fail because of a moment.
func TestASourceThatIsReadyAtTheLastMomentIsReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls calls
		source := &lateSource{testSource: testSource{adds: "web"}, after: time.Millisecond}
		c := begin(t, Options{Reconciler: calls.answering()}, source)
		time.Sleep(3 * time.Minute)
		require.Equal(t, []string{"web"}, calls.all())
		require.False(t, source.hasStopped(), "it would never add again")
		require.NoError(t, c.end())
	})
}

// A context with a deadline is a way to stop. It has nothing to do with the CacheSyncTimeout.
func TestADeadlineOfTheCallerIsNoError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := prepare(t, Options{Reconciler: new(calls).answering()})
		first, second := &lateSource{answer: errors.New("not listed")}, &testSource{syncs: time.Hour}
		require.NoError(t, c.Watch(first))
		require.NoError(t, c.Watch(second))
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errBroken)
		defer cancel()
		require.NoError(t, c.Start(ctx))
		require.Equal(t, errBroken, first.cause)
	})
}

func TestASourceThatIsRemovedWhileItSyncsLearnsWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &lateSource{answer: errors.New("not listed")}
		c := begin(t, Options{Reconciler: new(calls).answering()}, source)
		synctest.Wait()
		require.NoError(t, c.Unwatch(source))
		require.Equal(t, errUnwatched, source.cause)
		require.NoError(t, c.end())
	})
}

// The workers would run forever, and never hear of a change.
func TestAControllerDoesNotRunWithoutTheSourcesOfItsWarmup(t *testing.T) {
	for _, c := range []struct {
		name           string
		syncs          time.Duration
		starts, cancel time.Duration // both after the warm-up began
		works          bool
	}{
		{"which ended before the start", 0, 2 * time.Minute, time.Minute, false},
		{"which ended while the start waited for it", 3 * time.Minute, time.Minute, 2 * time.Minute, false},
		{"which ended later", 0, time.Minute, 2 * time.Minute, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls calls
				var log logtest.Collected
				r := prepare(t, Options{Reconciler: calls.answering(), EnableWarmup: new(true), CacheSyncTimeout: time.Hour, Logger: log.Logger(0)})
				source := &testSource{adds: "web", syncs: c.syncs}
				require.NoError(t, r.Watch(source))
				warming, cancel := context.WithCancelCause(t.Context())
				go func() { _ = r.Warmup(warming) }()
				time.AfterFunc(c.cancel, func() { cancel(errBroken) })
				time.Sleep(c.starts)
				began := time.Now()
				r.begin()
				require.ErrorIs(t, <-r.ended, errBroken)
				require.Equal(t, max(0, c.cancel-c.starts), time.Since(began))
				require.Equal(t, c.works, len(calls.all()) > 0)
				require.Equal(t, c.works, len(log.With("Starting workers")) > 0, "somebody would look for what they did")
				require.True(t, source.hasStopped())
			})
		})
	}
}

// The other way around, a stop is a stop: both contexts usually have one parent.
func TestAStopOfBothIsNoError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := prepare(t, Options{Reconciler: &slow{takes: time.Second}, EnableWarmup: new(true)})
		parent, stop := context.WithCancel(t.Context())
		warming, cancel := context.WithCancel(parent)
		defer cancel()
		require.NoError(t, c.Warmup(warming))
		go func() { c.ended <- c.Start(parent) }()
		synctest.Wait()
		stop()
		require.NoError(t, <-c.ended)
	})
}

type contextKey struct{}

func TestASourceThatIsAddedAfterAWarmupHasTheContextOfStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := prepare(t, Options{Reconciler: new(calls).answering(), EnableWarmup: new(true)})
		require.NoError(t, c.Warmup(t.Context()))
		ctx, stop := context.WithCancel(context.WithValue(t.Context(), contextKey{}, "Start's"))
		go func() { c.ended <- c.Start(ctx) }()
		synctest.Wait()
		require.NoError(t, c.Watch(sourceFunc(func(ctx context.Context, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			require.Equal(t, "Start's", ctx.Value(contextKey{}))
			return nil
		})))
		stop()
		require.NoError(t, <-c.ended)
	})
}

// A reconciler that stops watching a kind would keep its worker forever, and the controller from
// stopping.
func TestUnwatchDoesNotWaitForeverForASourceThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := start(t, Options{Reconciler: new(calls).answering()})
		source := &testSource{name: "pods", stops: time.Hour}
		require.NoError(t, r.Watch(source))
		began := time.Now()
		require.ErrorIs(t, r.Unwatch(source), errNotStopped)
		require.Equal(t, patience, time.Since(began))
		require.NoError(t, r.end())
		time.Sleep(time.Hour)
	})
}
