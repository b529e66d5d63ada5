package leaderelection

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/leaderelection/resourcelock"
)

func TestTheFirstLeadsAndTheSecondWaits(t *testing.T) {
	inBubble(t, func(s *stand) {
		a := s.join("a")
		<-a.started
		b := s.join("b")
		time.Sleep(time.Hour)
		require.True(t, a.IsLeader())
		require.False(t, b.IsLeader())
		require.Equal(t, "a", b.GetLeader())
		lease := s.lease()
		require.Equal(t, "a", *lease.HolderIdentity)
		require.EqualValues(t, 15, *lease.LeaseDurationSeconds)
		require.Zero(t, *lease.LeaseTransitions)
		require.LessOrEqual(t, time.Since(lease.RenewTime.Time), 3*time.Second)
		s.end(a, b)
		require.False(t, a.IsLeader())
	})
}

// A renewal that could rely on the last one is one request. An elector that reads first makes twice
// as many, in every program of a cluster, forever.
func TestARenewalIsOneRequest(t *testing.T) {
	inBubble(t, func(s *stand) {
		a := s.join("a")
		<-a.started
		time.Sleep(time.Second)
		s.server.ForgetRequests()
		time.Sleep(time.Minute)
		require.Len(t, s.server.Requests(s.onLeases("update", "a")), 30)
		require.Empty(t, s.server.Requests(s.onLeases("get", "a")))
		s.end(a)
	})
}

// A rolling update would otherwise stand still for LeaseDuration each time.
func TestAReleasedLockIsTakenAtOnce(t *testing.T) {
	inBubble(t, func(s *stand) {
		a := s.join("a", withRelease)
		<-a.started
		b := s.join("b")
		time.Sleep(time.Minute)
		begin := time.Now()
		s.end(a)
		require.Empty(t, *s.lease().HolderIdentity)
		<-b.started
		require.LessOrEqual(t, time.Since(begin), 5*time.Second, "two pauses of a follower at most")
		require.EqualValues(t, 1, *s.lease().LeaseTransitions)
		s.end(b)
	})
}

// client-go releases the lock when the context ends, and the work may go on for a while. Then two
// replicas work.
func TestTheLockIsKeptUntilTheWorkHasEnded(t *testing.T) {
	inBubble(t, func(s *stand) {
		a := s.join("a", withRelease, func(c *LeaderElectionConfig) { c.StopTimeout = time.Hour })
		a.winding = 10 * time.Minute
		<-a.started
		b := s.join("b")
		time.Sleep(time.Second)
		a.stop(nil)
		time.Sleep(10*time.Minute - 2*time.Second)
		require.Empty(t, b.started)
		require.True(t, a.IsLeader(), "it renews the lock until its work has ended")
		require.NoError(t, <-a.ended)
		<-b.started
		s.end(b)
	})
}

func TestWithoutAReleaseTheNextOneWaits(t *testing.T) {
	inBubble(t, func(s *stand) {
		a := s.join("a")
		<-a.started
		b := s.join("b")
		time.Sleep(time.Minute)
		begin := time.Now()
		s.end(a)
		<-b.started
		require.Greater(t, time.Since(begin), 12*time.Second)
		require.Less(t, time.Since(begin), 22*time.Second)
		s.end(b)
	})
}

// The work is stopped before anybody else may lead, and the reason is in its context.
func TestALeaderThatIsCutOffStopsBeforeAnotherLeads(t *testing.T) {
	for _, fault := range []fakeapi.Fault{
		{Refuse: true}, {Hang: true}, {LoseResponse: true}, {Status: fakeapi.InternalError()}, {Delay: 6 * time.Second},
	} {
		inBubble(t, func(s *stand) {
			a := s.join("a")
			work := <-a.started
			b := s.join("b")
			time.Sleep(time.Minute)
			fault.Match = s.onLeases("", "a")
			s.server.Inject(fault)
			begin := time.Now()
			<-work.Done()
			require.ErrorIs(t, context.Cause(work), ErrLost)
			require.InDelta(t, 11, time.Since(begin).Seconds(), 1,
				"12 s after the last renewal was sent, which was up to 2 s ago")
			require.False(t, a.IsLeader())
			require.ErrorIs(t, <-a.ended, ErrLost)
			require.True(t, a.over.Load())
			require.Empty(t, b.started)
			<-b.started
			s.end(b)
		})
	}
}

// deafLock is a user's own lock, which does not look at the context.
type deafLock struct {
	resourcelock.Interface
	hangs *atomic.Bool
}

func (l deafLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if l.hangs.Load() {
		time.Sleep(time.Hour)
	}
	return l.Interface.Update(ctx, record)
}

// Neither the work nor the process may wait for a request that never ends.
func TestALockThatDoesNotAnswerDoesNotHoldTheDeadlineUp(t *testing.T) {
	inBubble(t, func(s *stand) {
		var hangs atomic.Bool
		a := s.join("a", func(c *LeaderElectionConfig) { c.Lock = deafLock{c.Lock, &hangs} })
		work := <-a.started
		time.Sleep(time.Minute)
		hangs.Store(true)
		begin := time.Now()
		<-work.Done()
		require.InDelta(t, 11, time.Since(begin).Seconds(), 1,
			"12 s after the last renewal was sent, which was up to 2 s ago")
		require.ErrorIs(t, <-a.ended, ErrStillWorking)
		require.InDelta(t, 14, time.Since(begin).Seconds(), 2,
			"LeaseDuration after the last renewal was sent")
		time.Sleep(2 * time.Hour)
	})
}

// One hung connection costs half of the deadline, and not the lock.
func TestOneRequestThatHangsDoesNotCostTheLock(t *testing.T) {
	inBubble(t, func(s *stand) {
		a := s.join("a")
		work := <-a.started
		time.Sleep(time.Minute)
		s.server.Inject(fakeapi.Fault{Match: s.onLeases("update", "a"), Times: 1, Hang: true})
		time.Sleep(time.Minute)
		require.NoError(t, work.Err())
		require.True(t, a.IsLeader())
		s.end(a)
	})
}

// The process has to be ended then, and somebody has to know it.
func TestWorkThatDoesNotStopIsReportedWhenTheLockIsFree(t *testing.T) {
	inBubble(t, func(s *stand) {
		health := NewLeaderHealthzAdaptor(time.Second)
		a := s.join("a", func(c *LeaderElectionConfig) { c.WatchDog = health })
		a.winding = time.Hour
		<-a.started
		time.Sleep(time.Minute)
		require.NoError(t, health.Check(nil))
		s.server.Inject(fakeapi.Fault{Match: s.onLeases("", "a"), Refuse: true})
		begin := time.Now()
		err := <-a.ended
		require.ErrorIs(t, err, ErrStillWorking)
		require.ErrorIs(t, err, ErrLost)
		require.InDelta(t, 14, time.Since(begin).Seconds(), 2,
			"LeaseDuration after the last renewal was sent")
		require.True(t, a.over.Load())
		require.NoError(t, health.Check(nil))
		time.Sleep(5 * time.Second)
		require.ErrorContains(t, health.Check(nil), "restart this process")
		time.Sleep(time.Hour)
	})
}

// Work that goes on when somebody else may lead is the worst that can happen. A process that waits
// for it any longer hides it.
func TestTheShortestTimeCountsForWorkThatDoesNotStop(t *testing.T) {
	for _, c := range []struct {
		timeout, canceled, ends time.Duration
		why                     string
	}{
		{timeout: time.Hour, ends: 15 * time.Second, why: "then the lock is free"},
		{timeout: time.Second, ends: 13 * time.Second, why: "StopTimeout after the lock was lost"},
		{timeout: 5 * time.Second, canceled: 7 * time.Second, ends: 12 * time.Second,
			why: "StopTimeout after the context has ended, although the lock was lost meanwhile"},
	} {
		inBubble(t, func(s *stand) {
			a := s.join("a", func(config *LeaderElectionConfig) { config.StopTimeout = c.timeout })
			a.winding = 2 * time.Hour
			<-a.started
			renewed := time.Now()
			s.server.Inject(fakeapi.Fault{Match: s.onLeases("", "a"), Refuse: true})
			if c.canceled > 0 {
				time.Sleep(c.canceled)
				a.stop(nil)
			}
			err := <-a.ended
			require.ErrorIs(s, err, ErrStillWorking)
			require.ErrorIs(s, err, ErrLost)
			require.Equal(s, c.ends, time.Since(renewed), c.why)
			time.Sleep(2 * time.Hour)
		})
	}
}

func TestWorkThatDoesNotStopIsLeftBehindAfterStopTimeout(t *testing.T) {
	inBubble(t, func(s *stand) {
		a := s.join("a", withRelease)
		a.winding = time.Minute
		<-a.started
		begin := time.Now()
		a.stop(nil)
		err := <-a.ended
		require.ErrorIs(t, err, ErrStillWorking)
		require.NotErrorIs(t, err, ErrLost, "the lock is still its own")
		require.Equal(t, 5*time.Second, time.Since(begin), "LeaseDuration - RenewDeadline")
		require.False(t, a.IsLeader(), "it does not renew the lock any more")
		require.Zero(t, value(t, "leader_election_master_status", a.config.Name))
		require.Equal(t, "a", *s.lease().HolderIdentity,
			"nobody may take the lock while the work goes on")
		time.Sleep(time.Minute)
	})
}
