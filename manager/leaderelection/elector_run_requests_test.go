package leaderelection

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/leaderelection/resourcelock"
)

// witness is a user's own lock, which keeps the contexts of its updates. They may hang until those
// end.
type witness struct {
	resourcelock.Interface
	hangs   bool
	updates []context.Context // read by a test after all else in its bubble waits
}

func (w *witness) watch(c *LeaderElectionConfig) { w.Interface, c.Lock = c.Lock, w }

func (w *witness) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	w.updates = append(w.updates, ctx)
	if w.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	return w.Interface.Update(ctx, record)
}

// A request that hangs leaves time for another one. And none goes on when its replica does not hold
// the lock any more: if it arrived then, it would keep the others waiting for nobody.
func TestARequestOfAHolderTakesHalfOfRenewDeadlineAndNeverLongerThanTheLockIsHeld(t *testing.T) {
	inBubble(t, func(s *stand) {
		lock := &witness{}
		a := s.join("a", lock.watch)
		<-a.started
		renewed := time.Now()
		s.server.Inject(fakeapi.Fault{Match: s.onLeases("update", "a"), Refuse: true})
		require.ErrorIs(s, <-a.ended, ErrLost)
		var until []time.Duration
		for _, ctx := range lock.updates {
			deadline, limited := ctx.Deadline()
			require.True(s, limited)
			until = append(until, deadline.Sub(renewed)/time.Second)
		}
		require.Equal(s, []time.Duration{7, 7, 9, 11, 12, 12}, until,
			"sent after 2 s, at once again, and after 4, 6, 8 and 10 s")
	})
}

// A lock of a user's own may begin something that ends with the context: it must not pile up.
func TestTheContextOfARequestEndsWithTheRequest(t *testing.T) {
	inBubble(t, func(s *stand) {
		lock := &witness{}
		a := s.join("a", lock.watch)
		<-a.started
		time.Sleep(3 * time.Second)
		synctest.Wait()
		require.Len(s, lock.updates, 1)
		require.ErrorIs(s, lock.updates[0].Err(), context.Canceled)
		s.end(a)
	})
}

// The metric tells of renewals that were in doubt. If it counted each change of the leader, nobody
// could see them among the rolling updates.
func TestALockThatChangesHandsIsNoSlowRenewal(t *testing.T) {
	inBubble(t, func(s *stand) {
		a := s.join("a", withRelease)
		<-a.started
		b := s.join("b")
		time.Sleep(time.Minute)
		s.end(a)
		<-b.started
		time.Sleep(time.Minute)
		require.Zero(s, value(s.T, "leader_election_slowpath_total", b.config.Name))
		s.end(b)
	})
}

// An API server that cannot answer does not say that there is no lock. A program that shows its
// leader, or sends requests to it, would have none during each outage.
func TestAFollowerThatCannotReadTheLockKeepsTheLeaderThatItKnows(t *testing.T) {
	inBubble(t, func(s *stand) {
		a := s.join("a")
		<-a.started
		b := s.join("b")
		time.Sleep(time.Minute)
		s.server.Inject(fakeapi.Fault{Match: s.onLeases("get", "b"),
			Status: fakeapi.InternalError()})
		s.server.ForgetRequests()
		time.Sleep(time.Minute)
		require.NotEmpty(s, s.server.Requests(s.onLeases("get", "b")))
		require.Equal(s, "a", b.GetLeader())
		require.Empty(s, s.server.Requests(s.onLeases("create", "b")))
		s.end(b, a)
	})
}
