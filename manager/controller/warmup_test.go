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

// A process that waits to become the leader can have its caches full by then.
func TestAWarmupStartsTheSourcesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls calls
		source := &testSource{adds: "web", syncs: time.Minute, stops: time.Second}
		c := prepare(t, Options{Reconciler: calls.answering(), EnableWarmup: new(true)})
		require.NoError(t, c.Watch(source))
		began := time.Now()
		require.NoError(t, c.Warmup(t.Context()))
		require.Equal(t, time.Minute, time.Since(began))
		require.Empty(t, calls.all(), "it is not the leader")
		late := &testSource{adds: "late"}
		require.NoError(t, c.Watch(late))
		require.EqualValues(t, 1, late.started.Load(), "the others run")
		c.begin()
		synctest.Wait()
		require.ElementsMatch(t, []string{"web", "late"}, calls.all())
		require.EqualValues(t, 1, source.started.Load())
		require.NoError(t, c.end())
		require.True(t, source.hasStopped() && late.hasStopped(), "Start waits for what Warmup started")
	})
}

func TestAWarmupThatNobodyWantsDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &testSource{}
		c := prepare(t, Options{Reconciler: new(calls).answering()})
		require.NoError(t, c.Watch(source))
		require.NoError(t, c.Warmup(t.Context()))
		require.Zero(t, source.started.Load())
		freeName(t.Name())
	})
}

// The context of a warm-up usually ends together with that of Start. What waits must be drained
// all the same.
func TestAWarmupDoesNotEndTheDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reconciler := &slow{takes: time.Second}
		c := prepare(t, Options{Reconciler: reconciler, EnableWarmup: new(true), DrainOnStop: true})
		ctx, stop := context.WithCancel(t.Context())
		require.NoError(t, c.Warmup(ctx))
		c.stop = stop
		go func() { c.ended <- c.Start(ctx) }()
		synctest.Wait()
		add(<-c.queue, "a", "b", "c")
		synctest.Wait()
		require.NoError(t, c.end())
		require.Equal(t, []string{"a", "b", "c"}, reconciler.all())
	})
}

// Another process stays the leader until this one ends.
func TestAWarmupWithoutAStartEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &testSource{}
		c := prepare(t, Options{Reconciler: new(calls).answering(), EnableWarmup: new(true)})
		require.NoError(t, c.Watch(source))
		ctx, cancel := context.WithCancel(t.Context())
		require.NoError(t, c.Warmup(ctx))
		cancel()
		synctest.Wait()
		require.True(t, source.hasStopped())
		require.True(t, (<-c.queue).ShuttingDown(), "a queue may have goroutines")
		freeName(t.Name())
	})
}

func TestAWarmupThatFailsFailsTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := prepare(t, Options{Reconciler: new(calls).answering(), EnableWarmup: new(true)})
		other := &testSource{stops: time.Second}
		require.NoError(t, c.Watch(other))
		synctest.Wait()
		require.NoError(t, c.Watch(&testSource{name: "pods", syncs: time.Second, unsync: errBroken}))
		require.ErrorIs(t, c.Warmup(t.Context()), errBroken)
		require.True(t, other.hasStopped(), "there may be no Start that would wait for it")
		require.ErrorIs(t, c.Start(t.Context()), errBroken)
	})
}

// The leader may change while the caches fill.
func TestAStartWaitsForTheWarmupThatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls calls
		c := prepare(t, Options{Reconciler: calls.answering(), EnableWarmup: new(true)})
		require.NoError(t, c.Watch(&testSource{adds: "web", syncs: time.Minute}))
		warm := make(chan error, 1)
		go func() { warm <- c.Warmup(t.Context()) }()
		synctest.Wait()
		c.begin()
		time.Sleep(time.Minute - 1)
		require.Empty(t, calls.all())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.Equal(t, []string{"web"}, calls.all())
		require.NoError(t, <-warm)
		require.NoError(t, c.end())
	})
}

func TestAStopDuringTheWarmupEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &testSource{syncs: time.Minute}
		c := prepare(t, Options{Reconciler: new(calls).answering(), EnableWarmup: new(true)})
		require.NoError(t, c.Watch(source))
		warm := make(chan error, 1)
		go func() { warm <- c.Warmup(t.Context()) }()
		synctest.Wait()
		c.begin()
		synctest.Wait()
		stopping := time.Now()
		require.NoError(t, c.end())
		require.NoError(t, <-warm)
		require.True(t, source.hasStopped())
		require.Zero(t, time.Since(stopping))
	})
}

// The queue is made before the sources are started, and that may take a while, too. Nobody must
// take it for one that is there.
func TestAStopWaitsForAWarmupThatMakesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var made requestQueue
		c := prepare(t, Options{Reconciler: new(calls).answering(), EnableWarmup: new(true), NewQueue: func(string, workqueue.TypedRateLimiter[reconcile.Request]) requestQueue {
			time.Sleep(time.Second)
			made = workqueue.NewTypedRateLimitingQueue[reconcile.Request](nil)
			return made
		}})
		warm := make(chan error, 1)
		go func() { warm <- c.Warmup(t.Context()) }()
		synctest.Wait()
		c.begin()
		synctest.Wait()
		require.NoError(t, c.end())
		require.NoError(t, <-warm)
		require.True(t, made.ShuttingDown(), "a queue may have goroutines")
	})
}

// The time that a source has to end begins when it has answered. One that takes long for both must
// not be called one that hangs.
func TestAStopDuringTheWarmupGivesASourceTimeToEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logtest.Collected
		source := &lateSource{testSource: testSource{stops: 12 * time.Second}, after: 6 * time.Second}
		c := prepare(t, Options{Reconciler: new(calls).answering(), EnableWarmup: new(true), Logger: log.Logger(0)})
		require.NoError(t, c.Watch(source))
		go func() { _ = c.Warmup(t.Context()) }()
		synctest.Wait()
		c.begin()
		synctest.Wait()
		require.NoError(t, c.end())
		require.True(t, source.hasStopped())
		require.Empty(t, log.With("left behind"))
	})
}

// A manager that takes the second answer for the first begins to work with caches that are empty.
func TestASecondWarmupWaitsForTheFirstAndHasItsAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := prepare(t, Options{Reconciler: new(calls).answering(), EnableWarmup: new(true)})
		defer freeName(t.Name())
		require.NoError(t, c.Watch(&testSource{syncs: time.Minute, unsync: errBroken}))
		first := make(chan error, 1)
		go func() { first <- c.Warmup(t.Context()) }()
		synctest.Wait()
		began := time.Now()
		require.ErrorIs(t, c.Warmup(t.Context()), errBroken)
		require.Equal(t, time.Minute, time.Since(began))
		require.ErrorIs(t, <-first, errBroken)
	})
}

// The sources have the context of the first call. The end of another one must not take the queue
// from them.
func TestASecondWarmupEndsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls calls
		c := prepare(t, Options{Reconciler: calls.answering(), EnableWarmup: new(true)})
		require.NoError(t, c.Watch(&testSource{adds: "web"}))
		require.NoError(t, c.Warmup(t.Context()))
		ctx, cancel := context.WithCancel(t.Context())
		require.NoError(t, c.Warmup(ctx))
		cancel()
		synctest.Wait()
		c.begin()
		synctest.Wait()
		require.Equal(t, []string{"web"}, calls.all())
		require.NoError(t, c.end())
	})
}
