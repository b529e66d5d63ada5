package leaderelection

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// A process may hang as a whole, for example because nobody reads what it logs. Whoever asks one of its methods must hear the
// truth all the same: by the time, and not by what the loop has noticed.
func TestALeaderThatHangsIsNoLeaderAfterRenewDeadlineAndUnhealthyAfterLeaseDuration(t *testing.T) {
	inBubble(t, func(s *stand) {
		var full atomic.Bool          // the pipe to whoever reads the log
		unread := make(chan struct{}) // closed by the test
		log := funcr.New(func(string, string) {
			if full.Load() {
				<-unread
			}
		}, funcr.Options{Verbosity: 2})
		started := make(chan struct{})
		a, err := NewLeaderElector(LeaderElectionConfig{
			Lock: s.lock("a"), Name: "hangs", TakeMissingAtOnce: true,
			LeaseDuration: worldTiming.lease, RenewDeadline: worldTiming.renew, RetryPeriod: worldTiming.retry,
			Callbacks: LeaderCallbacks{
				OnStartedLeading: func(context.Context) { close(started) }, // the work is in other goroutines
				OnStoppedLeading: func() {},
			},
		})
		require.NoError(s, err)
		ended := make(chan error, 1)
		go func() { ended <- a.Elect(logr.NewContext(s.Context(), log)) }()
		<-started
		synctest.Wait()
		renewed := time.Now()
		full.Store(true)
		s.server.Inject(fakeapi.Fault{Match: s.onLeases("", "a"), Refuse: true})

		time.Sleep(time.Until(renewed.Add(worldTiming.renew - 1)))
		require.True(s, a.IsLeader(), "nobody else can have the lock")
		time.Sleep(1)
		require.False(s, a.IsLeader())

		time.Sleep(time.Until(renewed.Add(worldTiming.lease + time.Second)))
		require.NoError(s, a.Check(time.Second), "as long as it tolerates")
		time.Sleep(1)
		require.ErrorContains(s, a.Check(time.Second), "the lock ran out 1s ago, and the work goes on")
		close(unread)
		require.ErrorIs(s, <-ended, ErrLost)
		require.NoError(s, a.Check(time.Second), "it knows now that it does not lead")
	})
}
