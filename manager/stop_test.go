package manager

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/inorder"
	"github.com/loopwright/loopwright/manager/leaderelection"
	"github.com/loopwright/loopwright/manager/metrics/server"
)

// The lease of a manager that stops may be lost before its work has ended, however long that may
// take. Another replica leads then, so the process has to end.
func TestALeaseThatIsLostDuringTheStopEndsTheGracePeriod(t *testing.T) {
	for name, timeout := range inorder.Map(map[string]*time.Duration{"by default": nil,
		"without a limit": new(-1 * time.Second)}) {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				options := ofElection()
				options.GracefulShutdownTimeout = timeout
				first, second := w.manager(options), w.manager(ofElection())
				require.NoError(t, first.Add(&part{name: "stubborn", story: &story{},
					slowToEnd: 3 * time.Minute}))
				var leads time.Time
				require.NoError(t, second.Add(RunnableFunc(func(ctx context.Context) error {
					leads = time.Now()
					<-ctx.Done()
					return nil
				})))
				a := w.start(first)
				lead(t, a)
				b := w.start(second)
				time.Sleep(10 * time.Second)
				remove := w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "leases",
					Verb: "update"}, Refuse: true})
				time.AfterFunc(12*time.Second, remove)
				err := a.end()
				ended := time.Now()
				require.ErrorIs(t, err, leaderelection.ErrStillWorking)
				require.ErrorContains(t, err, "still running: stubborn (leader-elected)")
				require.NotContains(t, err.Error(), "graceful shutdown timeout",
					"that is not why it did not wait")
				lead(t, b)
				synctest.Wait()
				require.False(t, leads.Before(ended),
					"two replicas work: the first one's process ends %s after the second has begun",
					ended.Sub(leads))
				require.NoError(t, b.end())
				time.Sleep(5 * time.Minute)
			})
		})
	}
}

// Whoever ends the process must hear of both.
func TestALeaseThatIsLostAfterAFailureIsReturnedWithIt(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.manager(ofElection())
		broken, fail := errors.New("broken"), make(chan struct{})
		require.NoError(t, m.Add(&part{name: "stubborn", story: &story{}, slowToEnd: time.Hour}))
		require.NoError(t, m.Add(RunnableFunc(func(context.Context) error {
			<-fail
			return broken
		})))
		r := w.start(m)
		lead(t, r)
		close(fail)
		synctest.Wait()
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "leases"}, Refuse: true})
		err := <-r.ended
		require.ErrorIs(t, err, broken)
		require.ErrorIs(t, err, leaderelection.ErrStillWorking)
		require.Equal(t, 1, strings.Count(err.Error(), "leader election shop: "),
			"the name is said once: %s", err)
		time.Sleep(2 * time.Hour)
	})
}

// What was lost in time is no reason to leave anything undone.
func TestALeaseThatIsLostDuringTheStopAfterItsWorkHasEndedChangesNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.manager(ofElection())
		var story story
		require.NoError(t, m.groups.addTo(others,
			&part{name: "other", story: &story, slowToEnd: 15 * time.Second}))
		require.NoError(t, m.Add(&part{name: "controller", story: &story,
			slowToEnd: 13 * time.Second}))
		r := w.start(m)
		lead(t, r)
		synctest.Wait()
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "leases", Verb: "update"},
			Refuse: true})
		require.NoError(t, r.end())
		require.Contains(t, story.told(), "other ends")
		require.Contains(t, strings.Join(w.logged.told(), " "), "leader election lost",
			"it was lost all the same")
		time.Sleep(time.Minute)
	})
}

func TestAManagerThatIsToldToStopBeforeItStartsReturnsNothing(t *testing.T) {
	m, err := New(&rest.Config{}, Options{
		Logger: logr.Discard(), HealthProbeBindAddress: "localhost:0", Metrics: server.Options{BindAddress: "0"},
	})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	require.NoError(t, m.Start(ctx))
}

// A signal may come while the controllers get ready. It is no failure, and nobody may believe that
// they work.
func TestAManagerThatIsToldToStopWhileItsControllersGetReadyReturnsNothing(t *testing.T) {
	for name, answer := range inorder.Map(map[string]func(context.Context) error{
		"not ready":                   context.Cause,
		"ready in the last moment":    func(context.Context) error { return nil },
		"ready in time, told to stop": nil,
	}) {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				m := w.manager(Options{})
				slow := &part{name: "slow", story: &story{}}
				ready := func(ctx context.Context) error { <-ctx.Done(); return answer(ctx) }
				if answer == nil {
					ready = slow.waitUntilReady
				}
				require.NoError(t, m.groups.all[elected].add(&member{runnable: slow,
					start: slow.Start, ready: ready}))
				r := w.start(m)
				require.NoError(t, r.end())
				require.Equal(t, answer == nil, r.isElected())
				require.Contains(t, slow.story.told(), "slow ends")
			})
		})
	}
}

// ofChannel is a context that is not one of package context, such as that of
// wait.ContextForChannel. Each context that is derived from it costs a goroutine until it ends.
type ofChannel struct {
	context.Context
	done chan struct{} // never closed
}

func (c ofChannel) Done() <-chan struct{} { return c.done }
func (ofChannel) Value(any) any           { return nil }

// A program that goes on after a manager has failed, as a test does, must not keep anything of it.
func TestAManagerThatFailsToStartLeavesNoGoroutineBehind(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.manager(Options{})
		slow, broken := &part{name: "slow", story: &story{}}, errors.New("broken")
		require.NoError(t, m.groups.all[caches].add(&member{runnable: slow, start: slow.Start,
			ready: func(context.Context) error {
				return broken
			}}))
		// the bubble looks for what is left
		require.ErrorIs(t, m.Start(ofChannel{context.Background(), make(chan struct{})}), broken)
	})
}
