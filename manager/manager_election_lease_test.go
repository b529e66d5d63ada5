package manager

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/leaderelection"
)

// Replicas that are built with another library keep the same times, and count on them.
func TestTheTimesOfAnElectionAreThoseThatMostProgramsHave(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		r := w.start(w.manager(ofElection()))
		lead(t, r)
		lease := func() coordinationv1.LeaseSpec {
			lease, err := w.live.CoordinationV1().Leases("default").Get(t.Context(), "shop", metav1.GetOptions{})
			require.NoError(t, err)
			return lease.Spec
		}
		require.Equal(t, int32(15), *lease().LeaseDurationSeconds)
		renewed := lease().RenewTime.Time
		time.Sleep(time.Until(renewed.Add(2*time.Second - time.Millisecond)))
		require.Equal(t, renewed, lease().RenewTime.Time, "it is renewed every 2 s, and not more often")
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		require.Equal(t, 2*time.Second, lease().RenewTime.Sub(renewed), "it is renewed every 2 s")
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "leases", Verb: "update"}, Refuse: true})
		renewed = lease().RenewTime.Time
		require.ErrorIs(t, <-r.ended, leaderelection.ErrLost)
		require.Equal(t, 10*time.Second, time.Since(renewed).Truncate(time.Microsecond), "without a renewal, the work stops after 10 s")
	})
}

func TestALeaseInAnotherClusterIsTakenThere(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		there := fakeapi.New(fakeapi.Options{})
		defer there.Close()
		options := ofElection()
		options.LeaderElectionConfig = there.Config()
		r := w.start(w.manager(options))
		lead(t, r)
		require.Empty(t, w.requestsOf("leases"))
		require.NotEmpty(t, there.Requests(fakeapi.Match{Resource: "leases"}))
		require.NoError(t, r.end())
		require.NotEmpty(t, there.Requests(fakeapi.Match{Resource: "events"}))
	})
}
