package controller

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/internal/logtest"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// A dashboard would show a backlog for as long as the process lives, and the queue would stay in
// memory.
func TestAStopLeavesNothingInTheQueue(t *testing.T) {
	for _, priorities := range []bool{true, false} {
		for _, drains := range []bool{false, true} {
			t.Run(fmt.Sprintf("priorities %t, drain %t", priorities, drains), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					options := Options{Reconciler: &slow{takes: time.Hour}, DrainOnStop: drains, UsePriorityQueue: &priorities}
					c, queue := start(t, options)
					add(queue, "a", "b", "c")
					synctest.Wait()
					add(queue, "a") // again, while a worker holds it
					require.NotEmpty(t, measured(t, workqueue.MetricDepth))
					require.NoError(t, c.end())
					require.Empty(t, measured(t, workqueue.MetricDepth), "it is still measured")
					require.Zero(t, queue.Len())
				})
			})
		}
	}
}

func TestAWarmupWithoutAStartLeavesNothingInTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := prepare(t, Options{Reconciler: new(calls).answering(), EnableWarmup: new(true)})
		ctx, cancel := context.WithCancel(t.Context())
		require.NoError(t, c.Warmup(ctx))
		add(<-c.queue, "a", "b")
		require.NotEmpty(t, measured(t, workqueue.MetricDepth))
		cancel()
		synctest.Wait()
		require.Empty(t, measured(t, workqueue.MetricDepth))
		freeName(t.Name())
	})
}

// Another process has the lease, and works on the same objects already.
func TestAStopThatMustBeNowWaitsForNothing(t *testing.T) {
	for _, drains := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			reconciler := &slow{takes: time.Minute}
			c := prepare(t, Options{Reconciler: reconciler, GracePeriod: time.Hour, DrainOnStop: drains})
			ctx, stop := context.WithCancelCause(t.Context())
			go func() { c.ended <- c.Start(ctx) }()
			synctest.Wait()
			add(<-c.queue, "a", "b")
			synctest.Wait()
			stopping := time.Now()
			stop(fmt.Errorf("the lease is lost: %w", ErrStopNow))
			require.NoError(t, <-c.ended)
			require.Zero(t, time.Since(stopping))
			require.Equal(t, []string{"a"}, reconciler.all())
			require.Len(t, reconciler.cutOff, 1)
		})
	}
}

// The context of the warm-up may end a moment before that of Start, and without the cause.
func TestAStopThatMustBeNowIsHeardAfterTheEndOfTheWarmup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reconciler := &slow{takes: time.Minute}
		c := prepare(t, Options{Reconciler: reconciler, GracePeriod: time.Hour, EnableWarmup: new(true)})
		warm, cool := context.WithCancel(t.Context())
		require.NoError(t, c.Warmup(warm))
		ctx, stop := context.WithCancelCause(t.Context())
		go func() { c.ended <- c.Start(ctx) }()
		synctest.Wait()
		add(<-c.queue, "a")
		synctest.Wait()
		cool()
		time.Sleep(time.Second)
		stopping := time.Now()
		stop(ErrStopNow)
		require.NoError(t, <-c.ended)
		require.Zero(t, time.Since(stopping))
		require.Len(t, reconciler.cutOff, 1)
	})
}

// A source that hangs must not keep the process from ending, nor the work from being done.
func TestASourceThatDoesNotStopIsLeftBehind(t *testing.T) {
	for _, drains := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var log logtest.Collected
			reconciler := &slow{takes: time.Second}
			source := &testSource{name: "pods", stops: time.Hour}
			c := prepare(t, Options{Reconciler: reconciler, Logger: log.Logger(0), DrainOnStop: drains})
			require.NoError(t, c.Watch(source))
			for range 5 { // which stop at once
				require.NoError(t, c.Watch(&testSource{name: "nodes"}))
			}
			c.begin()
			synctest.Wait()
			add(<-c.queue, "a", "b")
			synctest.Wait()
			stopping := time.Now()
			require.NoError(t, c.end())
			if drains {
				require.Equal(t, []string{"a", "b"}, reconciler.all())
				require.Empty(t, reconciler.cutOff)
			}
			require.LessOrEqual(t, time.Since(stopping), 10*time.Second+patience)
			require.False(t, source.hasStopped())
			require.Len(t, log.With("left behind"), 1, "the others have stopped")
			time.Sleep(time.Hour)
		})
	}
}

// A grace period of nothing is one for reconciles. Sources get the time that they need.
func TestSourcesAreWaitedForWithoutAGracePeriod(t *testing.T) {
	for _, drains := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var log logtest.Collected
			source := &testSource{stops: time.Second}
			c := begin(t, Options{Reconciler: new(calls).answering(), Logger: log.Logger(0), GracePeriod: -1, DrainOnStop: drains}, source)
			synctest.Wait()
			require.NoError(t, c.end())
			require.True(t, source.hasStopped())
			require.Empty(t, log.With("left behind"))
		})
	}
}

// Writing down what it has read can take a source as long as a reconcile takes.
func TestASourceHasTenSecondsToStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logtest.Collected
		source := &testSource{stops: 9 * time.Second}
		c := begin(t, Options{Reconciler: new(calls).answering(), Logger: log.Logger(0)}, source)
		synctest.Wait()
		require.NoError(t, c.end())
		require.True(t, source.hasStopped())
		require.Empty(t, log.With("left behind"))
	})
}

// tardySource has a Start that takes a while, whatever happens to its context.
type tardySource struct{ testSource }

func (s *tardySource) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	time.Sleep(time.Second)
	return s.testSource.Start(ctx, queue)
}

// It started after it was removed, and what it started is somebody's to wait for.
func TestARemovalWaitsForASourceThatWasAboutToStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &tardySource{testSource{stops: time.Second}}
		c := begin(t, Options{Reconciler: new(calls).answering()}, source)
		synctest.Wait()
		began := time.Now()
		require.NoError(t, c.Unwatch(source))
		require.Equal(t, 2*time.Second, time.Since(began))
		require.True(t, source.hasStopped())
		require.NoError(t, c.end())
	})
}

// countingSource counts who waits for its end.
type countingSource struct {
	testSource
	waits int
}

func (s *countingSource) WaitForStop() {
	s.waits++
	s.testSource.WaitForStop()
}

// What a source does after Start has returned, nobody expects.
func TestAStopWaitsForASourceThatIsBeingRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &countingSource{testSource: testSource{stops: time.Second}}
		c := begin(t, Options{Reconciler: new(calls).answering()}, source)
		synctest.Wait()
		removed := make(chan error, 1)
		go func() { removed <- c.Unwatch(source) }()
		synctest.Wait()
		require.NoError(t, c.end())
		require.True(t, source.hasStopped())
		require.NoError(t, <-removed)
		require.Equal(t, 1, source.waits)
		require.Empty(t, c.sources.ending)
	})
}

// WaitForStop of a source whose WaitForSync hangs is called all the same: it did start.
func TestASourceThatStartedIsWaitedForThoughItDoesNotSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logtest.Collected
		source := &hangingSource{testSource: testSource{name: "pods", stops: 3 * time.Second}}
		c := begin(t, Options{Reconciler: new(calls).answering(), GracePeriod: -1, Logger: log.Logger(0)}, source)
		err := <-c.ended
		require.ErrorContains(t, err, "the source pods is not ready after 2m0s, which is the CacheSyncTimeout: its WaitForSync did not return")
		require.True(t, source.hasStopped())
		require.Contains(t, log.With("left behind")[0], "its WaitForSync did not return")
		time.Sleep(time.Hour)
	})
}

// hangingSource has a WaitForSync that ignores its context.
type hangingSource struct{ testSource }

func (*hangingSource) WaitForSync(context.Context) error {
	time.Sleep(time.Hour)
	return nil
}
