package controller

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/internal/logtest"
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
				require.True(t, r.opened.queue.ShuttingDown(), "a queue may have goroutines")
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

// What it says itself is worth more than that it took too long.
func TestASourceWhoseStartBlocksMaySayWhy(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer error
		says   string
	}{
		{"it says nothing", nil, "is not ready after 1m0s, which is the CacheSyncTimeout: its Start did not return"},
		{"it says why", errBroken, "is not ready after 1m0s, which is the CacheSyncTimeout: broken"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := begin(t, Options{Reconciler: new(calls).answering(), CacheSyncTimeout: time.Minute}, sourceFunc(func(ctx context.Context, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
					<-ctx.Done()
					return c.answer
				}))
				require.ErrorContains(t, <-r.ended, c.says)
			})
		})
	}
}

func TestASourceThatIgnoresItsContextIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logtest.Collected
		began := time.Now()
		c := begin(t, Options{Reconciler: new(calls).answering(), Logger: log.Logger(0)}, sourceFunc(func(context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			time.Sleep(time.Hour)
			return nil
		}))
		require.ErrorContains(t, <-c.ended, "its Start did not return")
		require.Equal(t, 2*time.Minute+10*time.Second, time.Since(began))
		require.Len(t, log.With("left behind"), 1)
		require.Contains(t, log.With("left behind")[0], "its Start did not return")
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
