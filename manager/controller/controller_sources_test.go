package controller

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// testSource is a source that syncs, and stops, after a time.
type testSource struct {
	name    string
	fails   error         // Start returns it
	blocks  bool          // Start waits for the end of its context
	syncs   time.Duration // WaitForSync takes so long
	unsync  error         // WaitForSync returns it
	adds    string        // Start adds a request of this name
	stops   time.Duration // WaitForStop takes so long
	started atomic.Int32
	cause   atomic.Pointer[error] // why its context ended
	stopped chan struct{}         // closed by the source's goroutine
}

func (s *testSource) String() string { return s.name }

func (s *testSource) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	s.started.Add(1)
	if s.fails != nil {
		return s.fails
	}
	if s.adds != "" {
		queue.Add(req(s.adds))
	}
	s.stopped = make(chan struct{})
	if s.blocks {
		<-ctx.Done()
		close(s.stopped)
		return nil
	}
	go func() {
		defer close(s.stopped)
		<-ctx.Done()
		cause := context.Cause(ctx)
		s.cause.Store(&cause)
		time.Sleep(s.stops)
	}()
	return nil
}

func (s *testSource) WaitForSync(ctx context.Context) error {
	select {
	case <-time.After(s.syncs):
		return s.unsync
	case <-ctx.Done():
		return errors.New("3 of 7 objects are listed")
	}
}

func (s *testSource) WaitForStop() { <-s.stopped }

func (s *testSource) hasStopped() bool {
	select {
	case <-s.stopped:
		return true
	default:
		return false
	}
}

func begin(t *testing.T, options Options, sources ...Source) *running {
	t.Helper()
	c := prepare(t, options)
	for _, source := range sources {
		require.NoError(t, c.Watch(source))
	}
	c.begin()
	return c
}

// A reconciler that is called before everything is listed takes what is not listed yet for
// something that does not exist, and creates it once more.
func TestWorkersBeginWhenAllSourcesAreReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls calls
		c := begin(t, Options{Reconciler: calls.answering()},
			&testSource{syncs: time.Second, adds: "fast"}, &testSource{syncs: time.Minute, adds: "slow"})
		time.Sleep(time.Minute - 1)
		require.Empty(t, calls.all())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.ElementsMatch(t, []string{"fast", "slow"}, calls.all())
		require.NoError(t, c.end())
	})
}

// "It does not start" is not a message that anybody can work with.
func TestASourceThatIsNotReadyInTimeIsNamed(t *testing.T) {
	for _, c := range []struct {
		name    string
		sources []Source
		after   time.Duration
		says    []string
	}{
		{"one that does not sync", []Source{&testSource{name: "pods", syncs: time.Hour}, &testSource{name: "nodes"}}, 2 * time.Minute,
			[]string{"the source pods is not ready after 2m0s, which is the CacheSyncTimeout: 3 of 7 objects are listed"}},
		{"several that do not sync", []Source{&testSource{name: "pods", syncs: time.Hour}, &testSource{name: "nodes", syncs: time.Hour}}, 2 * time.Minute,
			[]string{"pods is not ready", "nodes is not ready"}},
		{"one that says why it cannot", []Source{&testSource{name: "pods", syncs: time.Second, unsync: errBroken}, &testSource{name: "nodes", syncs: time.Minute}}, time.Second,
			[]string{"starting the source pods: broken"}},
		{"one that cannot be started", []Source{&testSource{name: "pods", fails: errBroken}, &testSource{name: "nodes", syncs: time.Minute}}, 0,
			[]string{"starting the source pods: broken"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls calls
				began := time.Now()
				r := begin(t, Options{Reconciler: calls.answering()}, c.sources...)
				err := <-r.ended
				require.Error(t, err)
				require.ErrorContains(t, err, "controller "+t.Name())
				for _, part := range c.says {
					require.ErrorContains(t, err, part)
				}
				require.NotContains(t, err.Error(), "nodes: ", "it was in time")
				require.Equal(t, c.after, time.Since(began))
				require.ErrorIs(t, r.Watch(&testSource{}), errStopped)
				_, err = NewUnmanaged(t.Name(), Options{Reconciler: calls.answering()})
				require.NoError(t, err, "its name is free")
				freeName(t.Name())
			})
		})
	}
}

// The mistake is easy to make: a source that is a loop. It ends with its context here.
func TestASourceWhoseStartBlocksIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls calls
		began := time.Now()
		c := begin(t, Options{Reconciler: calls.answering(), CacheSyncTimeout: time.Minute}, &testSource{name: "loop", adds: "web", blocks: true})
		require.ErrorContains(t, <-c.ended, "the source loop is not ready after 1m0s")
		require.Equal(t, time.Minute, time.Since(began), "it was told to end, and it did")
		require.Empty(t, calls.all(), "its source was stopped, so the workers must not begin")
	})
}

func TestASourceThatIgnoresItsContextIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		began := time.Now()
		c := begin(t, Options{Reconciler: new(calls).answering(), Logger: log.logger(0)}, sourceFunc(func(context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			time.Sleep(time.Hour)
			return nil
		}))
		require.ErrorContains(t, <-c.ended, "its Start did not return")
		require.Equal(t, 2*time.Minute+10*time.Second, time.Since(began))
		require.Len(t, log.containing("left behind"), 1)
		time.Sleep(time.Hour)
	})
}

func TestAStopWhileSourcesStartIsNoError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &testSource{syncs: time.Hour, stops: time.Second}
		c := begin(t, Options{Reconciler: new(calls).answering()}, source, &testSource{blocks: true})
		time.Sleep(time.Second)
		require.NoError(t, c.end())
		require.True(t, source.hasStopped())
	})
}

func TestStartReturnsWhenItsSourcesHaveStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &testSource{stops: time.Second}
		c := begin(t, Options{Reconciler: new(calls).answering()}, source)
		synctest.Wait()
		require.NoError(t, c.end())
		require.True(t, source.hasStopped())
	})
}

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
		var log logged
		c, _ := start(t, Options{Reconciler: new(calls).answering(), Logger: log.logger(0)})
		require.NoError(t, c.Watch(&testSource{name: "pods", syncs: time.Hour}))
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		require.Len(t, log.containing("3 of 7 objects are listed"), 1)
		require.NoError(t, c.Watch(&testSource{name: "nodes", syncs: time.Hour}))
		time.Sleep(time.Minute)
		require.NoError(t, c.end())
		require.Len(t, log.containing("3 of 7 objects are listed"), 1, "that it is not ready when the controller stops is no news")
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
		c, err := NewUnmanaged(t.Name(), Options{Reconciler: new(calls).answering(), Logger: new(logged).logger(0)})
		require.NoError(t, err)
		first, second := &testSource{name: "first"}, &testSource{name: "second"}
		require.NoError(t, c.Watch(first))
		require.NoError(t, c.Watch(second))
		require.NoError(t, c.Unwatch(first))
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
		require.NoError(t, c.Watch(&testSource{name: "pods", fails: errBroken}))
		require.ErrorIs(t, c.Warmup(t.Context()), errBroken)
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
		require.NoError(t, c.end())
		require.NoError(t, <-warm)
		require.True(t, source.hasStopped())
	})
}

// A controller may be stopped, and a source removed, at any moment, also between two steps of a
// start.
func TestNothingStartsAfterTheStop(t *testing.T) {
	newContext := func() (context.Context, context.CancelCauseFunc) { return context.WithCancelCause(t.Context()) }
	var s sources
	w := &watchedSource{source: &testSource{}}
	_, err := s.add(w)
	require.NoError(t, err)
	s.stop(errStopped) // which must not wait for a source that was never started
	require.Empty(t, s.open(sourceQueue{}, newContext))
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
