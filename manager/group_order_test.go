package manager

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Function: phases.toStart
func TestGroupsStartOneByOneEachWhenThoseBeforeItAreReady(t *testing.T) {
	var p phases
	for _, want := range []groupName{httpServers, webhooks, caches, others, warmups, election} {
		next, found := p.toStart(false)
		require.True(t, found, "nothing starts, although all groups before %q are ready", want)
		require.Equal(t, want, next,
			"a group starts before one that it needs: a cache, for instance, cannot list "+
				"objects while the conversion webhook does not answer")
		p[want] = starting
		next, found = p.toStart(true)
		require.False(t, found, "the group %q starts while %q is not ready yet", next, want)
		p[want] = ready
	}
}

// Function: phases.toStart
func TestWhatNeedsTheLeadWaitsForIt(t *testing.T) {
	p := phases{httpServers: ready, webhooks: ready, caches: ready, others: ready, warmups: ready,
		election: ready}
	next, found := p.toStart(false)
	require.False(t, found,
		"the group %q starts in a replica that does not lead: two replicas do the same work", next)
	next, found = p.toStart(true)
	require.True(t, found, "the leader does not start its controllers")
	require.Equal(t, elected, next, "a leader starts its controllers")
	p[elected] = ready
	_, found = p.toStart(true)
	require.False(t, found, "a group is started twice")
}

// A replica that is not ready may lead: that must not hurry it.
//
// Function: phases.toStart
func TestALeaderWaitsUntilItIsReadyBeforeItsControllersStart(t *testing.T) {
	for unready := range elected {
		for _, phase := range []groupPhase{starting, stopping, ended} {
			p := phases{httpServers: ready, webhooks: ready, caches: ready, others: ready,
				warmups: ready, election: ready}
			p[unready] = phase
			next, found := p.toStart(true)
			require.False(t, found, "the group %q starts, although %q is %s and not ready", next,
				unready, phase)
		}
	}
}

// Function: phases.toStop
func TestGroupsEndInTheReverseOrderEachWhenThoseAfterItHaveEnded(t *testing.T) {
	p := phases{ready, ready, ready, ready, ready, ended, ended}
	for _, want := range []groupName{warmups, others, caches, webhooks, httpServers} {
		next, found := p.toStop()
		require.True(t, found,
			"nobody tells the group %q to end: the process hangs until it is killed", want)
		require.Equal(t, want, next,
			"a group ends before one that needs it: a reconciler that finishes its work, for "+
				"instance, cannot read from the cache any more")
		p[want] = stopping
		next, found = p.toStop()
		require.False(t, found, "the group %q is told to end while %q still runs", next, want)
		p[want] = ended
	}
	require.True(t, p.areEnded(), "all groups have ended")
	_, found := p.toStop()
	require.False(t, found, "a group is told twice")
}

// Start and Warmup are two calls of one runnable. The one may wait for the other.
//
// Function: phases.toStop
func TestTheWarmUpIsToldToEndWhileTheControllersEnd(t *testing.T) {
	p := phases{ready, ready, ready, ready, ready, ready, ready}
	next, found := p.toStop()
	require.True(t, found && next == elected,
		"what needs the lead is told first, or its Start takes the end of its own Warmup for a "+
			"failure")
	p[elected] = stopping
	next, found = p.toStop()
	require.False(t, found && next == election,
		"the lease is released while controllers run: two replicas reconcile at the same time")
	require.True(t, found && next == warmups, "a Start that waits for its own Warmup never ends")
	for _, phase := range []groupPhase{stopping, ended} {
		p[warmups] = phase
		next, found = p.toStop()
		require.False(t, found, "the group %q is told to end while reconcilers still run", next)
	}
	p[elected] = ended
	next, found = p.toStop()
	require.True(t, found && next == election,
		"the lease is kept although nothing runs that needs it")
}

// Whoever gets the lease then reconciles the same objects.
//
// Function: phases.toStop
func TestTheLeaseIsKeptUntilAllThatNeedsItHasEnded(t *testing.T) {
	for _, warm := range []groupPhase{idle, starting, ready, stopping, ended} {
		for _, phase := range []groupPhase{ready, stopping} {
			p := phases{ready, ready, ready, ready, warm, ready, phase}
			next, found := p.toStop()
			require.False(t, found && next == election,
				"the lease is released while controllers run: two replicas reconcile at the "+
					"same time")
		}
	}
}

// A process may be told to stop while it starts.
//
// Function: phases.toStop
func TestGroupsThatNeverStartedDoNotKeepOthersFromEnding(t *testing.T) {
	for reached := range groupName(groupCount) {
		for _, last := range []groupPhase{starting, ready} {
			t.Run(fmt.Sprintf("%s, %s", reached, last), func(t *testing.T) {
				var p phases
				for group := range reached {
					p[group] = ready
				}
				p[reached] = last
				for range groupCount {
					left := groupName(groupCount - 1)
					for p[left] == ended {
						left--
					}
					next, found := p.toStop()
					require.True(t, found,
						"nobody is told to end, although the group %q has not ended: the "+
							"process hangs until it is killed", left)
					require.Less(t, p[next], stopping, "the group %q is told twice", next)
					p[next] = ended
				}
				require.True(t, p.areEnded(), "a group is left")
			})
		}
	}
}

// Function: phases.areEnded
func TestGroupsThatNeverStartedHaveNotEnded(t *testing.T) {
	require.False(t, phases{}.areEnded())
	for group := range groupName(groupCount) {
		for _, phase := range []groupPhase{idle, starting, ready, stopping} {
			p := phases{ended, ended, ended, ended, ended, ended, ended}
			p[group] = phase
			require.False(t, p.areEnded(),
				"the group %q is left: a manager returns, and its process ends in the middle of "+
					"their work", group)
		}
	}
}

// The names are in logs and errors.
func TestGroupsStartOneByOneAndAreCalledByTheirNames(t *testing.T) {
	var names []string
	for group := range groupName(groupCount) {
		names = append(names, group.String())
	}
	require.Equal(t, []string{"HTTP servers", "webhooks", "caches", "others", "warm-up",
		"leader election", "leader-elected"}, names)
	names = nil
	for phase := idle; phase <= ended; phase++ {
		names = append(names, phase.String())
	}
	require.Equal(t, []string{"idle", "starting", "ready", "stopping", "ended"}, names)
}
