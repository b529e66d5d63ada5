package leaderelection_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/simulation/stories"
	"github.com/loopwright/loopwright/manager/leaderelection"
)

// Two replicas that lead at a time undo each other's work, and a cluster without a leader stands still,
// whatever goes wrong: requests, clocks, and the processes themselves.
func TestWhateverBreaksOneReplicaLeads(t *testing.T) {
	stories.Elector(func(ctx context.Context, c stories.Candidate) {
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: c.Lock, Name: "it", Jitter: c.Jitter, ReleaseOnCancel: true, WaitForMissing: true,
			LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second,
			RetryPeriod: 2 * time.Second,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: c.Lead, OnStoppedLeading: func() {},
			},
		})
		require.NoError(t, err)
		_ = elector.Elect(ctx) // the story sees whether it leads
	}).Test(t)
}
