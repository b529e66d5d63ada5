package leaderelection

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/trace"
)

// The Lease was deleted, and the leader does not know it yet. client-go's next replica leads at
// once.
func TestALeaseThatIsDeletedIsMadeAgainByItsHolder(t *testing.T) {
	inBubble(t, func(s *stand) {
		strict := func(c *LeaderElectionConfig) { c.WaitForMissing = true }
		a := s.join("a", strict)
		work := <-a.started
		b := s.join("b", strict)
		time.Sleep(time.Minute)
		require.NoError(t, s.clients.CoordinationV1().Leases("default").Delete(s.Context(), "it",
			metav1.DeleteOptions{}))
		time.Sleep(time.Minute)
		require.NoError(t, work.Err())
		require.Equal(t, "a", *s.lease().HolderIdentity)
		require.Empty(t, b.started)
		s.end(b, a)
	})
}

func TestAMissingLeaseIsClaimedAndLedLater(t *testing.T) {
	inBubble(t, func(s *stand) {
		begin := time.Now()
		a := s.join("a", func(c *LeaderElectionConfig) { c.WaitForMissing = true })
		time.Sleep(10 * time.Second)
		require.Equal(t, "a", *s.lease().HolderIdentity)
		require.False(t, a.IsLeader())
		<-a.started
		require.Greater(t, time.Since(begin), 17*time.Second,
			"RetryPeriod for a holder to make it again, and LeaseDuration to stop")
		require.Less(t, time.Since(begin), 25*time.Second)
		s.end(a)
	})
}

// A new installation works at once, as it does with client-go.
func TestALeaseThatWasNeverThereIsLedAtOnceByDefault(t *testing.T) {
	inBubble(t, func(s *stand) {
		begin := time.Now()
		a := s.join("a")
		<-a.started
		require.Less(t, time.Since(begin), time.Second)
		s.end(a)
	})
}

// A token says which term a write belongs to.
func TestTheWorkFindsItsTokenInTheContext(t *testing.T) {
	inBubble(t, func(s *stand) {
		for term, identity := range []string{"a", "b"} {
			m := s.join(identity, withRelease)
			work := <-m.started
			fence, found := FenceFrom(work)
			require.True(t, found)
			require.Equal(t, Fence{Identity: identity, Transitions: term}, fence)
			s.end(m)
		}
	})
}

// Whoever takes the Lease by force, with kubectl for example, must get it.
func TestALeaderThatSeesAnotherNameStopsAtOnce(t *testing.T) {
	inBubble(t, func(s *stand) {
		a := s.join("a")
		work := <-a.started
		time.Sleep(time.Minute)
		_, err := s.clients.CoordinationV1().Leases("default").Patch(s.Context(), "it",
			"application/merge-patch+json", []byte(`{"spec":{"holderIdentity":"me"}}`),
			metav1.PatchOptions{})
		require.NoError(t, err)
		begin := time.Now()
		<-work.Done()
		require.LessOrEqual(t, time.Since(begin), 2*time.Second, "with the next renewal")
		require.ErrorContains(t, <-a.ended, `"me" has it`)
	})
}

// Two replicas have one name by mistake: two Pods on the host's network, for example.
func TestASecondProcessOfOneNameDoesNotLead(t *testing.T) {
	inBubble(t, func(s *stand) {
		first := s.join("a")
		<-first.started
		second := s.join("a")
		time.Sleep(time.Hour)
		require.Empty(t, second.started)
		require.True(t, first.IsLeader())
		require.False(t, second.IsLeader())
		s.end(second, first)
	})
}

func TestAnElectorRunsOnceAtATimeAndMayRunAgain(t *testing.T) {
	inBubble(t, func(s *stand) {
		a := s.join("a", withRelease)
		<-a.started
		require.ErrorContains(t, a.Elect(s.Context()), "it runs already")
		s.end(a)
		ctx, stop := context.WithCancel(s.Context())
		go func() { <-a.started; stop() }()
		require.NoError(t, a.Elect(ctx))
	})
}

// Work that returns has not given up the lead: many programs only start goroutines.
func TestAWorkThatReturnsGoesOnLeading(t *testing.T) {
	inBubble(t, func(s *stand) {
		a := s.join("a", withRelease, func(c *LeaderElectionConfig) {
			c.Callbacks.OnStartedLeading = func(context.Context) {}
		})
		time.Sleep(time.Hour)
		require.True(t, a.IsLeader())
		s.end(a)
		require.Empty(t, *s.lease().HolderIdentity)
	})
}

// The next leader would wait for the whole lease. It's a proxy that says that there is no lock, while the answer to
// our release is lost.
func TestAProxys404IsNoLockThatNeedsNoRelease(t *testing.T) {
	inBubble(t, func(s *stand) {
		a := s.join("a", withRelease)
		<-a.started
		s.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "leases", Verb: "update"}, Times: 1,
			Status: fakeapi.Unavailable()})
		s.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "leases", Verb: "get"}, Times: 1,
			Status: &metav1.Status{Status: metav1.StatusFailure, Code: 404, Reason: metav1.StatusReasonNotFound,
				Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{
					{Type: metav1.CauseTypeUnexpectedServerResponse, Message: "404 page not found"}}}}})
		s.end(a)
		require.Empty(t, *s.lease().HolderIdentity)
	})
}

// A lock must not be held by a replica that is gone. This one is stopped while its answer is on the
// way.
func TestAStopWhileTheLockIsTakenReleasesIt(t *testing.T) {
	inBubble(t, func(s *stand) {
		first := s.join("first", withRelease)
		<-first.started
		s.end(first)
		s.server.Inject(fakeapi.Fault{Match: s.onLeases("update", "a"), Times: 1,
			LoseResponse: true})
		a := s.join("a", withRelease)
		synctest.Wait()
		require.Equal(t, "a", *s.lease().HolderIdentity)
		s.end(a)
		require.Empty(t, *s.lease().HolderIdentity)
		require.Empty(t, a.started)
	})
}

// The flight recorder answers who led when, and why.
func TestTheRecorderTellsTheStory(t *testing.T) {
	inBubble(t, func(s *stand) {
		recorder := trace.New(0)
		with := func(c *LeaderElectionConfig) { c.Recorder, c.ReleaseOnCancel = recorder, true }
		a := s.join("a", with)
		<-a.started
		s.server.Inject(fakeapi.Fault{Match: s.onLeases("", "a"), Refuse: true, Times: 1})
		time.Sleep(3 * time.Second)
		s.end(a)
		b := s.join("b", with)
		<-b.started
		s.end(b)
		var lines []string
		for _, e := range recorder.Events() {
			require.Equal(t, "Lease", e.Object)
			require.Equal(t, "default", e.Namespace)
			require.Equal(t, "it", e.Name)
			if e.Kind == trace.Error {
				lines = append(lines, e.Layer+" "+e.Kind.String())
				continue
			}
			lines = append(lines, e.Layer+" "+e.Op+": "+e.Reason)
		}
		require.Equal(t, []string{
			"a acquired: nobody has it", "a error", "a renewed: ", "a released: the work has ended",
			"b acquired: it was released", "b released: the work has ended",
		}, lines)
	})
}

func TestNewLeadersAreToldInOrder(t *testing.T) {
	inBubble(t, func(s *stand) {
		var told []string
		watcher := s.join("watcher", func(c *LeaderElectionConfig) {
			c.Callbacks.OnNewLeader = func(identity string) { told = append(told, identity) }
		}, func(c *LeaderElectionConfig) {
			c.LeaseDuration = 2 * time.Hour
			c.RenewDeadline = time.Hour
		})
		s.server.Inject(fakeapi.Fault{Match: s.onLeases("update", "watcher"), Refuse: true})
		<-watcher.started
		time.Sleep(time.Second)
		lease, err := s.clients.CoordinationV1().Leases("default").Get(s.Context(), "it",
			metav1.GetOptions{})
		require.NoError(t, err)
		lease.Spec.HolderIdentity = new("b")
		_, err = s.clients.CoordinationV1().Leases("default").Update(s.Context(), lease,
			metav1.UpdateOptions{})
		require.NoError(t, err)
		require.ErrorIs(t, <-watcher.ended, ErrLost)
		require.Equal(t, []string{"watcher", "b"}, told)
	})
}

// Run waits for all that it has started: a callback that hangs must not hang the process, either.
func TestACallbackThatHangsIsLeftBehind(t *testing.T) {
	inBubble(t, func(s *stand) {
		a := s.join("a", func(c *LeaderElectionConfig) {
			c.Callbacks.OnNewLeader = func(string) { time.Sleep(time.Hour) }
		})
		<-a.started
		a.stop(errors.New("the end"))
		require.ErrorIs(t, <-a.ended, ErrStillWorking)
		time.Sleep(time.Hour)
	})
}

var _ interface {
	Name() string
	Check(*http.Request) error
} = (*HealthzAdaptor)(nil)
