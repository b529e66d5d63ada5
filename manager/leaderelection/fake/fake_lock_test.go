package fake_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/leaderelection"
	"github.com/loopwright/loopwright/manager/leaderelection/fake"
)

// A test of a program needs an elector that leads at once, and that loses the lock when the test says so.
func TestABlockedLockIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lock, err := fake.NewResourceLock(nil, nil, leaderelection.Options{})
		require.NoError(t, err)
		started := make(chan context.Context, 1)
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: lock, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(ctx context.Context) { started <- ctx; <-ctx.Done() }, OnStoppedLeading: func() {},
			},
		})
		require.NoError(t, err)
		ended := make(chan error)
		go func() { ended <- elector.Elect(t.Context()) }()
		begin := time.Now()
		work := <-started
		require.Zero(t, time.Since(begin))
		time.Sleep(time.Minute)
		require.NoError(t, work.Err())
		lock.(fake.ControllableResourceLockInterface).BlockLeaderElection()
		require.ErrorIs(t, <-ended, leaderelection.ErrLost)
		lock.(fake.ControllableResourceLockInterface).UnblockLeaderElection()
		ctx, stop := context.WithCancel(t.Context())
		go func() { <-started; stop() }()
		require.NoError(t, elector.Elect(ctx))
	})
}
