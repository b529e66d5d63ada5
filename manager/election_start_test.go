package manager

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/leaderelection"
)

// Nothing keeps an election from winning before the manager has noted that it was started. A leader
// that then starts nothing renews its lease, and no other replica works either.
func TestALeaseThatIsWonWhileItsGroupStartsStartsTheControllers(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.manager(ofElection())
		// The group of the election starts as long as one of its members is not ready.
		slow := &part{name: "slow", story: &story{}, slowToBe: 5 * time.Minute}
		require.NoError(t, m.groups.all[election].add(&member{runnable: slow, start: slow.Start,
			ready: slow.waitUntilReady}))
		var story story
		require.NoError(t, m.Add(&part{name: "controller", story: &story}))
		r := w.start(m)
		time.Sleep(4 * time.Minute)
		require.Contains(t, w.requestsOf("leases"), "update", "it has the lease, and renews it")
		require.False(t, r.isElected(), "it says that its controllers run, and they do not")
		time.Sleep(2 * time.Minute)
		require.True(t, r.isElected())
		require.Equal(t, []string{"controller starts"}, story.told())
		require.NoError(t, r.end())
	})
}

func TestALeaseThatIsWonWhileTheManagerFailsToStartIsGivenUp(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.manager(ofElection())
		slow := &part{name: "slow", story: &story{}, slowToBe: time.Hour}
		require.NoError(t, m.groups.all[election].add(&member{
			runnable: slow, start: slow.Start,
			ready: func(ctx context.Context) error {
				ctx, cancel := context.WithTimeout(ctx, time.Minute)
				defer cancel()
				return slow.waitUntilReady(ctx)
			},
		}))
		var story story
		require.NoError(t, m.Add(&part{name: "controller", story: &story}))
		r := w.start(m)
		require.ErrorContains(t, <-r.ended, "slow is not ready")
		require.False(t, r.isElected())
		require.Empty(t, story.told())
		second := w.start(w.manager(ofElection()))
		began := time.Now()
		lead(t, second)
		require.Less(t, time.Since(began), 5*time.Second, "the first one has released the lease")
		require.NoError(t, second.end())
	})
}

func TestALeaseThatIsLostWhileItsGroupStartsEndsTheManager(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.manager(ofElection())
		slow := &part{name: "slow", story: &story{}, slowToBe: time.Hour}
		require.NoError(t, m.groups.all[election].add(&member{runnable: slow, start: slow.Start,
			ready: slow.waitUntilReady}))
		r := w.start(m)
		time.Sleep(time.Minute)
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "leases"}, Refuse: true})
		began := time.Now()
		require.ErrorIs(t, <-r.ended, leaderelection.ErrLost)
		require.LessOrEqual(t, time.Since(began), 12*time.Second)
		synctest.Wait()
	})
}

// neverReady is a runnable that others would have to wait for.
type neverReady struct{ part }

func (p *neverReady) WaitUntilReady(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// The lease may be lost before all that needs it is ready. What has begun to work must be told at
// once.
func TestALeaseThatIsLostBeforeTheControllersAreReadyStopsThem(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.manager(ofElection())
		var cause error
		var told time.Time
		require.NoError(t, m.Add(RunnableFunc(func(ctx context.Context) error {
			<-ctx.Done()
			cause, told = context.Cause(ctx), time.Now()
			return nil
		})))
		var story story
		require.NoError(t, m.Add(&neverReady{part{name: "slow", story: &story}}))
		r := w.start(m)
		time.Sleep(time.Minute)
		require.Equal(t, []string{"slow starts"}, story.told())
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "leases"}, Refuse: true})
		began := time.Now()
		require.ErrorIs(t, <-r.ended, leaderelection.ErrLost)
		require.False(t, r.isElected())
		require.ErrorIs(t, cause, leaderelection.ErrLost)
		require.LessOrEqual(t, told.Sub(began), 12*time.Second,
			"another replica leads 15 s after the last renewal")
		require.LessOrEqual(t, time.Since(began), 12*time.Second)
	})
}

func TestAManagerIsElectedWhenAllThatNeedsTheLeadIsReady(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.manager(ofElection())
		slow := &part{name: "slow", story: &story{}, slowToBe: time.Minute}
		require.NoError(t, m.groups.all[elected].add(&member{runnable: slow, start: slow.Start,
			ready: slow.waitUntilReady}))
		r := w.start(m)
		time.Sleep(30 * time.Second)
		require.Equal(t, []string{"slow starts"}, slow.story.told(), "it leads")
		require.False(t, r.isElected())
		time.Sleep(time.Minute)
		require.True(t, r.isElected())
		require.NoError(t, r.end())
	})
}

func TestALeaderWhoseControllersDoNotBecomeReadyReturnsWhy(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.manager(ofElection())
		broken := errors.New("broken")
		require.NoError(t, m.groups.all[elected].add(&member{
			runnable: RunnableFunc(nil), start: func(ctx context.Context) error {
				<-ctx.Done()
				return nil
			},
			ready: func(context.Context) error { return broken },
		}))
		r := w.start(m)
		require.ErrorIs(t, <-r.ended, broken)
		require.False(t, r.isElected())
	})
}

// An election that ends without an error would leave a replica that never works.
func TestAnElectionThatRunsAlreadyIsAnError(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.manager(ofElection())
		r := w.start(m)
		require.ErrorContains(t, m.election.Start(t.Context()),
			"leader election shop: it runs already")
		require.NoError(t, r.end())
	})
}
