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

// A process may hang as a whole, for example because nobody reads what it logs. Whoever asks one of
// its methods must hear the truth all the same: by the time, and not by what the loop has noticed.
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
			Lock: s.lock("a"), Name: "hangs",
			LeaseDuration: worldTiming.lease, RenewDeadline: worldTiming.renew, RetryPeriod: worldTiming.retry,
			Callbacks: LeaderCallbacks{
				// the work is in other goroutines
				OnStartedLeading: func(context.Context) { close(started) },
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

		time.Sleep(time.Until(renewed.Add(worldTiming.leadsFor() - 1)))
		require.True(s, a.IsLeader(), "nobody else can have the lock")
		time.Sleep(time.Nanosecond)
		require.False(s, a.IsLeader())

		time.Sleep(time.Until(renewed.Add(worldTiming.lease + time.Second)))
		require.NoError(s, a.Check(time.Second), "as long as it tolerates")
		time.Sleep(time.Nanosecond)
		require.ErrorContains(s, a.Check(time.Second),
			"the lock ran out 1s ago, and the work goes on")
		close(unread)
		require.ErrorIs(s, <-ended, ErrLost)
		require.NoError(s, a.Check(time.Second), "it knows now that it does not lead")
	})
}

// A program shows its leader, or sends requests to it. What the callback says and what the elector
// says must be the same.
func TestWhoeverIsToldOfALeaderFindsTheSame(t *testing.T) {
	inBubble(t, func(s *stand) {
		first := s.join("first")
		<-first.started
		var told, found []string
		var b *LeaderElector
		var err error
		started := make(chan struct{})
		b, err = NewLeaderElector(LeaderElectionConfig{
			Lock: s.lock("b"), Name: "found",
			LeaseDuration: worldTiming.lease, RenewDeadline: worldTiming.renew, RetryPeriod: worldTiming.retry,
			Callbacks: LeaderCallbacks{
				OnStartedLeading: func(context.Context) {
					close(started)
				}, OnStoppedLeading: func() {},
				OnNewLeader: func(identity string) {
					told, found = append(told, identity), append(found, b.GetLeader())
				},
			},
		})
		require.NoError(s, err)
		ctx, stop := context.WithCancel(s.Context())
		ended := make(chan error, 1)
		go func() { ended <- b.Elect(ctx) }()
		time.Sleep(time.Minute)
		s.end(first)
		s.remove()
		<-started
		stop()
		require.NoError(s, <-ended)
		require.Equal(s, []string{"first", "", "b"}, told, "nobody is a leader, too")
		require.Equal(s, told, found)
	})
}
