package resourcelock

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

func twoLocks(t *testing.T, f func(t *testing.T, a, b Interface)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		lock := func(identity string) Interface {
			lock, err := NewFromKubeconfig(LeasesResourceLock, "default", "it", ResourceLockConfig{Identity: identity}, server.Config(), 10*time.Second)
			require.NoError(t, err)
			return lock
		}
		f(t, lock("a"), lock("b"))
	})
}

func record(holder string) LeaderElectionRecord {
	return LeaderElectionRecord{HolderIdentity: holder, LeaseDurationSeconds: 15, LeaderTransitions: 3,
		AcquireTime: metav1.Time{Time: time.Unix(1e9, 1000).UTC()}, RenewTime: metav1.Time{Time: time.Unix(2e9, 2000).UTC()}}
}

// Without it, two replicas that see an old record take the lock one after the other, and both believe to
// have it.
func TestAnUpdateFailsIfSomebodyElseHasWritten(t *testing.T) {
	twoLocks(t, func(t *testing.T, a, b Interface) {
		_, _, err := a.Get(t.Context())
		require.True(t, apierrors.IsNotFound(err), "the elector has to know this error: %v", err)
		require.ErrorContains(t, b.Update(t.Context(), record("b")), "call Get or Create first")
		require.NoError(t, a.Create(t.Context(), record("a")))
		require.Error(t, b.Create(t.Context(), record("b")))
		_, _, err = b.Get(t.Context())
		require.NoError(t, err)
		require.NoError(t, a.Update(t.Context(), record("a")))
		changed := record("a")
		changed.LeaderTransitions = 9
		require.NoError(t, a.Update(t.Context(), changed), "what it has written itself is no obstacle")
		require.Error(t, b.Update(t.Context(), record("b")))
		require.Error(t, b.Update(t.Context(), record("b")), "an update that failed must not count as read")
	})
}

// A renewal in the same second must be seen as one.
func TestARecordComesBackAsItWasWritten(t *testing.T) {
	twoLocks(t, func(t *testing.T, a, b Interface) {
		written := record("a")
		written.Strategy, written.PreferredHolder = "OldestEmulationVersion", "b"
		require.NoError(t, a.Create(t.Context(), written))
		read, raw, err := b.Get(t.Context())
		require.NoError(t, err)
		require.True(t, read.RenewTime.Equal(&written.RenewTime), "%s is not %s", read.RenewTime, written.RenewTime)
		require.True(t, read.AcquireTime.Equal(&written.AcquireTime))
		read.RenewTime, read.AcquireTime = written.RenewTime, written.AcquireTime
		require.Equal(t, written, *read)
		written.RenewTime.Time = written.RenewTime.Add(time.Microsecond)
		require.NoError(t, a.Update(t.Context(), written))
		_, later, err := b.Get(t.Context())
		require.NoError(t, err)
		require.NotEqual(t, raw, later)
		require.Equal(t, "default/it", a.Describe())
		require.Equal(t, "a", a.Identity())
		a.RecordEvent("nobody listens")
	})
}

// Somebody has made the Lease by hand.
func TestALeaseWithoutFieldsIsAnEmptyRecord(t *testing.T) {
	require.Equal(t, &LeaderElectionRecord{}, LeaseSpecToLeaderElectionRecord(new(LeaderElectionRecordToLeaseSpec(&LeaderElectionRecord{}))))
}
