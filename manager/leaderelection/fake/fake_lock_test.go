package fake_test

import (
	"context"
	"os"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/leaderelection"
	"github.com/loopwright/loopwright/manager/leaderelection/fake"
	"github.com/loopwright/loopwright/manager/leaderelection/resourcelock"
)

// A test of a program needs an elector that leads at once, and that loses the lock when the test
// says so.
func TestABlockedLockIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lock, err := fake.NewResourceLock(nil, nil, leaderelection.Options{})
		require.NoError(t, err)
		started := make(chan context.Context, 1)
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: lock, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(ctx context.Context) {
					started <- ctx
					<-ctx.Done()
				}, OnStoppedLeading: func() {},
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

// Two replicas of a test must not take each other for themselves.
func TestEachLockHasANameOfItsOwnAndKeepsWhatIsWritten(t *testing.T) {
	first, err := fake.NewResourceLock(nil, nil, leaderelection.Options{})
	require.NoError(t, err)
	second, err := fake.NewResourceLock(nil, nil, leaderelection.Options{})
	require.NoError(t, err)
	require.NotEqual(t, first.Identity(), second.Identity())
	host, err := os.Hostname()
	require.NoError(t, err)
	require.Regexp(t, "^"+regexp.QuoteMeta(host)+"_.+", first.Identity())
	require.Equal(t, "fake/"+first.Identity(), first.Describe())

	read, empty, err := first.Get(t.Context())
	require.NoError(t, err)
	require.Empty(t, read.HolderIdentity, "nobody has it")
	written := resourcelock.LeaderElectionRecord{HolderIdentity: "a", LeaderTransitions: 3}
	require.NoError(t, first.Create(t.Context(), written))
	read, raw, err := first.Get(t.Context())
	require.NoError(t, err)
	require.Equal(t, written, *read)
	require.NotEqual(t, empty, raw)
	first.(fake.ControllableResourceLockInterface).BlockLeaderElection()
	require.ErrorContains(t, first.Update(t.Context(),
		resourcelock.LeaderElectionRecord{HolderIdentity: "b"}), "call UnblockLeaderElection")
	read, _, err = first.Get(t.Context())
	require.NoError(t, err, "only writes fail")
	require.Equal(t, written, *read)
}
