package manager

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// deaf is a runnable that isn't ready, and doesn't hear that nobody waits for it any more.
type deaf struct {
	part
	deafFor time.Duration
}

func (*deaf) NeedLeaderElection() bool { return false }

func (d *deaf) WaitUntilReady(context.Context) error {
	time.Sleep(d.deafFor)
	return nil
}

// The kubelet sends SIGTERM while a runnable's WaitUntilReady hangs. The manager has to stop the
// others in order, and not only be killed 30 s later.
func TestARunnableWhoseWaitUntilReadyIgnoresItsContextDoesNotHoldUpTheStop(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.manager(Options{GracefulShutdownTimeout: new(10 * time.Second)})
		var story story
		hangs := &deaf{part: part{name: "hangs", story: &story}, deafFor: time.Hour}
		require.NoError(t, m.Add(hangs))
		require.NoError(t, m.groups.addTo(caches, &part{name: "cache", story: &story}))
		r := w.start(m)
		time.Sleep(time.Minute)
		began := time.Now()
		err := r.end()
		require.Equal(t, 10*time.Second, time.Since(began))
		require.ErrorContains(t, err, "still running: hangs (others), ")
		require.Contains(t, story.told(), "hangs ends", "it was told to end at once")
		time.Sleep(2 * time.Hour)
	})
}

// If it hears of it within the grace period, nothing is left, and there's no error.
func TestARunnableWhoseWaitUntilReadyEndsDuringTheGracePeriodIsNoError(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.manager(Options{})
		var story story
		require.NoError(t, m.Add(&deaf{part: part{name: "slow", story: &story},
			deafFor: 20 * time.Second}))
		r := w.start(m)
		require.NoError(t, r.end())
		require.Equal(t, []string{"slow starts", "slow is told", "slow ends"}, story.told())
	})
}

// A runnable is ready, and has nothing left to do: that's no failure, whatever comes first.
func TestARunnableThatIsReadyAndEndsAtOnceIsNoError(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.manager(Options{})
		require.NoError(t, m.Add(readyFunc(func(context.Context) error { return nil })))
		r := w.start(m)
		require.True(t, r.isElected())
		time.Sleep(time.Hour)
		require.Empty(t, r.ended, "the others go on")
		require.NoError(t, r.end())
	})
}

// readyFunc is a runnable that's ready from the start.
type readyFunc func(context.Context) error

func (f readyFunc) Start(ctx context.Context) error    { return f(ctx) }
func (readyFunc) NeedLeaderElection() bool             { return false }
func (readyFunc) WaitUntilReady(context.Context) error { return nil }

// "context canceled" is what a runnable returns when it was told to stop. But this one canceled
// something of its own, and doesn't work any more.
func TestARunnableThatFailsWithACanceledContextOfItsOwnStopsTheManager(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.manager(Options{})
		require.NoError(t, m.Add(RunnableFunc(func(ctx context.Context) error {
			own, cancel := context.WithCancel(ctx)
			cancel()
			return fmt.Errorf("talking to the queue: %w", own.Err())
		})))
		err := <-w.start(m).ended
		require.ErrorContains(t, err, "talking to the queue: context canceled")
	})
}

// Each runnable that's added during a stop either runs and is waited for, or is refused.
func TestARunnableThatIsAddedDuringTheStopEndsBeforeStartReturnsOrIsRefused(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.manager(Options{})
		var story story
		refused := make(chan int, 1)
		require.NoError(t, m.Add(RunnableFunc(func(ctx context.Context) error {
			<-ctx.Done()
			n := 0
			for i := range 100 {
				late := &part{name: fmt.Sprint("late ", i), story: &story}
				if m.Add(late) != nil {
					n++
				}
				if m.Add(&deaf{part: *late}) != nil {
					n++
				}
			}
			refused <- n
			return nil
		})))
		r := w.start(m)
		require.NoError(t, r.end())
		require.Equal(t, 200, <-refused)
		require.Empty(t, story.told(), "what was refused isn't started")
	})
}

// A program makes its manager before it knows whether it's wanted at all: for --help, or in a test.
// Nothing of it may run or ask before Start, also with an election, probes and webhooks.
func TestNewAsksTheServerNothingAndStartsNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for range 2 { // the port of the first one would be taken
			options := ofElection()
			options.HealthProbeBindAddress, options.PprofBindAddress = "localhost:0", "localhost:0"
			m := w.manager(options)
			require.NoError(t, m.AddReadyzCheck("cache", CacheSyncCheck(m.GetCache())))
			m.GetWebhookServer()
			require.NoError(t, m.Add(RunnableFunc(func(context.Context) error {
				panic("it runs before Start")
			})))
		}
		time.Sleep(time.Hour)
		require.Empty(t, w.server.Requests(fakeapi.Match{}))
	})
}

// A runnable ends its goroutine by runtime.Goexit, as require does in a test that starts a manager.
// "The first runnable that fails stops the manager": it mustn't look as if it ran forever, and hold
// up the stop.
func TestARunnableThatEndsItsGoroutineIsAFailure(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.manager(Options{GracefulShutdownTimeout: new(-time.Second)})
		require.NoError(t, m.Add(&deserter{}))
		r := w.start(m)
		time.Sleep(time.Hour)
		require.ErrorContains(t, <-r.ended, "deserter: its Start ended the goroutine")
	})
}

// The same while others wait for it to be ready.
func TestARunnableThatEndsTheGoroutineOfItsWaitUntilReadyIsAFailure(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.manager(Options{GracefulShutdownTimeout: new(-time.Second)})
		require.NoError(t, m.Add(&deserter{readies: true}))
		r := w.start(m)
		time.Sleep(time.Hour)
		require.ErrorContains(t, <-r.ended, "deserter is not ready: its WaitUntilReady ended the goroutine")
	})
}

type deserter struct{ readies bool }

func (*deserter) String() string           { return "deserter" }
func (*deserter) NeedLeaderElection() bool { return false }

func (d *deserter) Start(ctx context.Context) error {
	if !d.readies {
		runtime.Goexit()
	}
	<-ctx.Done()
	return nil
}

func (d *deserter) WaitUntilReady(context.Context) error {
	if d.readies {
		runtime.Goexit()
	}
	return nil
}

// speechless is an error whose text can't be made, as that of a nil pointer of some libraries.
type speechless struct{}

func (speechless) Error() string { panic("no words") }

// The manager names what has failed. If it took the process down instead, nobody would know what.
func TestAnErrorWhoseTextPanicsEndsTheManagerInOrder(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.manager(Options{})
		require.NoError(t, m.Add(RunnableFunc(func(context.Context) error { return speechless{} })))
		err := m.Start(t.Context())
		require.ErrorIs(t, err, speechless{})
	})
}
