package manager

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/manager/leaderelection"
	"github.com/loopwright/loopwright/manager/leaderelection/resourcelock"
)

// A program may hold a second lease, beside the manager's own.
func TestALockMayHaveAManagersRecorder(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.manager(Options{})
		lock, err := leaderelection.NewResourceLock(m.GetConfig(), Manager(m), leaderelection.Options{
			LeaderElection: true, LeaderElectionID: "second", LeaderElectionNamespace: "default",
		})
		require.NoError(t, err)
		r := w.start(m)
		require.NoError(t, lock.Create(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: lock.Identity()}))
		lock.RecordEvent("became leader")
		require.NoError(t, r.end())
		list, err := w.live.EventsV1().Events("default").List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, list.Items, 1)
		require.Equal(t, lock.Identity()+" became leader", list.Items[0].Note)
		require.Equal(t, "leader-election", list.Items[0].ReportingController)
	})
}
