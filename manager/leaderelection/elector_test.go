package leaderelection

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/leaderelection/resourcelock"
	"github.com/loopwright/loopwright/manager/metrics"
)

func goodConfig() LeaderElectionConfig {
	return LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{LockConfig: resourcelock.ResourceLockConfig{Identity: "me"}},
		Name: "good", LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
		Callbacks: LeaderCallbacks{OnStartedLeading: func(context.Context) {},
			OnStoppedLeading: func() {}},
	}
}

// A typo in a duration must not become two leaders.
func TestAWrongConfigurationIsRefusedWithAReason(t *testing.T) {
	_, err := NewLeaderElector(goodConfig())
	require.NoError(t, err)
	for _, c := range []struct {
		says   string
		change func(*LeaderElectionConfig)
	}{
		{"there is no Lock", func(c *LeaderElectionConfig) { c.Lock = nil }},
		{"identity is empty", func(c *LeaderElectionConfig) { c.Lock = &resourcelock.LeaseLock{} }},
		{"RetryPeriod is 0s", func(c *LeaderElectionConfig) { c.RetryPeriod = 0 }},
		{"RetryPeriod is -1s", func(c *LeaderElectionConfig) { c.RetryPeriod = -time.Second }},
		{"RenewDeadline is 2.4s, and must be more than RetryPeriod with its jitter, which is " +
			"1.2 times 2s", func(c *LeaderElectionConfig) {
			c.RenewDeadline = 2400 * time.Millisecond
		}},
		{"LeaseDuration is 10s, and must be more", func(c *LeaderElectionConfig) {
			c.LeaseDuration = 10 * time.Second
		}},
		{"StopTimeout is -1ns", func(c *LeaderElectionConfig) { c.StopTimeout = -1 }},
		{"OnStartedLeading is missing", func(c *LeaderElectionConfig) {
			c.Callbacks.OnStartedLeading = nil
		}},
		{"OnStoppedLeading is missing", func(c *LeaderElectionConfig) {
			c.Callbacks.OnStoppedLeading = nil
		}},
	} {
		config := goodConfig()
		c.change(&config)
		_, err := NewLeaderElector(config)
		require.ErrorContains(t, err, c.says)
		require.ErrorContains(t, err, "leader election good", "which one of several")
		require.PanicsWithError(t, err.Error(), func() { RunOrDie(t.Context(), config) })
	}
}

// What is refused is what is unsafe, and nothing else.
func TestDurationsThatAreJustLongEnoughAreTaken(t *testing.T) {
	for _, change := range []func(*LeaderElectionConfig){
		func(c *LeaderElectionConfig) { c.RetryPeriod = 1 },
		func(c *LeaderElectionConfig) { c.RenewDeadline = 2400*time.Millisecond + 1 },
		func(c *LeaderElectionConfig) { c.LeaseDuration = c.RenewDeadline + 1 },
		func(c *LeaderElectionConfig) { c.StopTimeout = 1 },
	} {
		config := goodConfig()
		change(&config)
		_, err := NewLeaderElector(config)
		require.NoError(t, err)
	}
}

func TestWhatTheConfigurationSaysIsNotReplacedByADefault(t *testing.T) {
	config := goodConfig()
	config.StopTimeout, config.Jitter = time.Second, func() float64 { return 0.25 }
	elector, err := NewLeaderElector(config)
	require.NoError(t, err)
	require.Equal(t, time.Second, elector.config.StopTimeout)
	require.Equal(t, 0.25, elector.config.Jitter())
}

func TestRunOrDieRunsUntilTheContextEnds(t *testing.T) {
	inBubble(t, func(s *stand) {
		lock, err := resourcelock.New(resourcelock.LeasesResourceLock, "default", "it", nil,
			s.clients.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: "a"})
		require.NoError(s, err)
		config, worked := goodConfig(), false
		config.Lock = lock
		ctx, stop := context.WithCancel(s.Context())
		config.Callbacks.OnStartedLeading = func(ctx context.Context) {
			worked = true
			stop()
			<-ctx.Done()
		}
		RunOrDie(ctx, config)
		require.True(s, worked)
	})
}

// A part of a second that is cut off is a lease that is shorter than its holder believes.
func TestALeaseOfPartsOfASecondIsRoundedUp(t *testing.T) {
	e := follower()
	e.lease = 1500 * time.Millisecond
	require.Equal(t, 2, e.taking(at(0)).LeaseDurationSeconds)
	e.lease = 2 * time.Second
	require.Equal(t, 2, e.taking(at(0)).LeaseDurationSeconds)
}

func TestAnElectorThatHasNotRunKnowsNothing(t *testing.T) {
	config := goodConfig()
	config.Name = "waits for its start"
	elector, err := NewLeaderElector(config)
	require.NoError(t, err)
	for _, metric := range []string{"leader_election_master_status",
		"leader_election_slowpath_total"} {
		require.Zero(t, value(t, metric, config.Name), "an alert cannot count what is not there")
	}
	require.False(t, elector.IsLeader())
	require.Empty(t, elector.GetLeader())
	require.NoError(t, elector.Check(0))
	health := NewLeaderHealthzAdaptor(0)
	require.Equal(t, "leaderElection", health.Name())
	require.NoError(t, health.Check(nil), "there is no elector yet")
	health.SetLeaderElection(elector)
	require.NoError(t, health.Check(nil))
}

// value reads a metric of an election from the registry, as a dashboard does. It is -1 if there is
// none.
func value(t *testing.T, metric, name string) float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == metric && m.GetLabel()[0].GetValue() == name {
				return m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	return -1
}

func TestTheMetricsSayWhoLeadsAndHowSlowly(t *testing.T) {
	inBubble(t, func(s *stand) {
		a := s.join("a", func(c *LeaderElectionConfig) { c.WaitForMissing = true })
		name := a.config.Name
		require.Zero(t, value(t, "leader_election_master_status", name),
			"it is there from the beginning, so that an alert can count leaders")
		<-a.started
		time.Sleep(time.Minute)
		require.EqualValues(t, 1, value(t, "leader_election_master_status", name))
		slow := value(t, "leader_election_slowpath_total", name)
		require.GreaterOrEqual(t, slow, 0.0, "it is there from the beginning")
		s.server.Inject(fakeapi.Fault{Match: s.onLeases("update", "a"), Times: 2, Skip: 1,
			Status: fakeapi.Conflict()})
		time.Sleep(time.Minute)
		require.Equal(t, slow+2, value(t, "leader_election_slowpath_total", name),
			"the second conflict was one of the slow path itself")
		s.end(a)
		require.Zero(t, value(t, "leader_election_master_status", name))
	})
}
