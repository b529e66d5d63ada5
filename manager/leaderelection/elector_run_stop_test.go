package leaderelection

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/leaderelection/resourcelock"
	"github.com/loopwright/loopwright/trace"
)

func withAnHourToStop(c *LeaderElectionConfig) { c.StopTimeout = time.Hour }

// A program that is told to end while it starts must not touch the lock of those that work.
func TestAnElectorWhoseContextHasEndedBeforeItStartsSendsNothing(t *testing.T) {
	inBubble(t, func(s *stand) {
		a := s.join("a")
		<-a.started
		s.end(a)
		s.server.ForgetRequests()
		ctx, stop := context.WithCancel(s.Context())
		stop()
		require.NoError(s, a.Elect(ctx))
		require.Empty(s, s.server.Requests(s.onLeases("", "a")))
	})
}

// A follower has nothing to finish. Its process must not hang because the API server does, and what
// it has cut itself is no error that somebody has to look at.
func TestAFollowerWhoseRequestHangsEndsAtOnceAndWithoutAnError(t *testing.T) {
	inBubble(t, func(s *stand) {
		recorder := trace.New(0)
		s.server.Inject(fakeapi.Fault{Match: s.onLeases("get", "a"), Hang: true})
		a := s.join("a", withAnHourToStop, func(c *LeaderElectionConfig) { c.Recorder = recorder })
		time.Sleep(time.Second)
		begin := time.Now()
		s.end(a)
		require.Zero(s, time.Since(begin))
		require.Empty(s, recorder.Events())
	})
}

// The work goes on for a while when the context has ended. A renewal that is cut then may have
// arrived or not, and costs two more requests to find out.
func TestARenewalThatIsOnItsWayWhenTheContextEndsIsNotCut(t *testing.T) {
	inBubble(t, func(s *stand) {
		a := s.join("a", withAnHourToStop)
		a.winding = 10 * time.Second
		<-a.started
		s.server.ForgetRequests()
		s.server.Inject(fakeapi.Fault{Match: s.onLeases("update", "a"), Times: 1,
			Delay: 3 * time.Second})
		time.Sleep(3 * time.Second)
		s.end(a)
		require.NotEmpty(s, s.server.Requests(s.onLeases("update", "a")))
		require.Empty(s, s.server.Requests(s.onLeases("get", "a")))
	})
}

// slowMaker is a user's own lock, which carries out what it has begun.
type slowMaker struct{ resourcelock.Interface }

func (l slowMaker) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	time.Sleep(time.Second)
	return l.Interface.Create(context.WithoutCancel(ctx), record)
}

// Otherwise the next replica waits for somebody who is gone.
func TestALockThatIsMadeAfterTheContextEndedIsReleased(t *testing.T) {
	inBubble(t, func(s *stand) {
		a := s.join("a", withRelease, func(c *LeaderElectionConfig) {
			c.Lock = slowMaker{c.Lock}
		})
		time.Sleep(500 * time.Millisecond)
		s.end(a)
		require.Empty(s, *s.lease().HolderIdentity)
	})
}

// StopTimeout is the time of the work. The work has ended here, and all replicas gain by a release
// that comes a little later.
func TestTheLockIsReleasedAfterStopTimeoutIfTheWorkHasEndedInTime(t *testing.T) {
	inBubble(t, func(s *stand) {
		a := s.join("a", withRelease, func(c *LeaderElectionConfig) { c.StopTimeout = time.Second })
		<-a.started
		s.server.Inject(fakeapi.Fault{Match: s.onLeases("update", "a"), Times: 2, Refuse: true})
		begin := time.Now()
		s.end(a)
		require.Equal(s, worldTiming.retry, time.Since(begin), "the second attempt has failed, too")
		require.Empty(s, *s.lease().HolderIdentity)
	})
}

// From then on somebody else may take the lock, so there is nothing left to give back. The process
// must not wait any longer, even if the work could have had more time.
func TestAReleaseIsGivenUpWhenALeadWouldBe(t *testing.T) {
	inBubble(t, func(s *stand) {
		a := s.join("a", withRelease, withAnHourToStop)
		<-a.started
		renewed := time.Now()
		s.server.Inject(fakeapi.Fault{Match: s.onLeases("update", "a"), Refuse: true})
		s.end(a)
		require.Equal(s, worldTiming.leadsFor(), time.Since(renewed))
		require.Equal(s, "a", *s.lease().HolderIdentity)
	})
}

// Only the work may be left behind, if it does not stop. A renewal that arrives later would keep
// the lock for a process that has given it up.
func TestARequestIsCutWhenTheWorkIsLeftBehind(t *testing.T) {
	inBubble(t, func(s *stand) {
		lock := &witness{hangs: true}
		a := s.join("a", lock.watch, func(c *LeaderElectionConfig) { c.StopTimeout = time.Second })
		a.winding = time.Hour
		<-a.started
		time.Sleep(3 * time.Second)
		synctest.Wait()
		require.Len(s, lock.updates, 1)
		require.NoError(s, lock.updates[0].Err(), "the renewal is on its way")
		a.stop(nil)
		require.ErrorIs(s, <-a.ended, ErrStillWorking)
		synctest.Wait()
		require.ErrorIs(s, lock.updates[0].Err(), context.Canceled)
		time.Sleep(time.Hour)
	})
}
