package manager

// groupName is one of the groups of a manager's runnables. The groups start in this order, because
// each needs those before it.
type groupName int

const (
	// httpServers answer probes and metrics. They come first, so that the kubelet doesn't take a
	// slow start for a dead process.
	httpServers groupName = iota
	// webhooks come before the caches: the API server calls a conversion webhook to answer the
	// list that a cache waits for.
	webhooks
	// caches come before everything that reads from them.
	caches
	// others run in every replica, whether it leads or not.
	others
	// warmups prepare the leader-only runnables, so that a new leader loses no time.
	warmups
	// election competes for the lease and renews it, if there's a leader election.
	election
	// elected runs in the leader only.
	elected

	groupCount = iota
)

func (g groupName) String() string {
	return [groupCount]string{
		"HTTP servers", "webhooks", "caches", "others", "warm-up",
		"leader election", "leader-elected",
	}[g]
}

// groupPhase is a group's phase. It only ever advances.
type groupPhase int

const (
	idle     groupPhase = iota // not started yet
	starting                   // started; not all of its runnables are ready
	ready                      // the next group may start
	stopping                   // its context was cancelled; some of its runnables still run
	ended                      // none of its runnables runs any more
)

func (p groupPhase) String() string {
	return [...]string{"idle", "starting", "ready", "stopping", "ended"}[p]
}

// phases has the phase of every group.
type phases [groupCount]groupPhase

// toStart returns the group to start next. A group waits until all before it are ready; the last
// one also waits until this replica leads.
func (p phases) toStart(leads bool) (next groupName, found bool) {
	for group := range groupName(groupCount) {
		switch {
		case p[group] == idle:
			return group, group != elected || leads
		case p[group] != ready:
			return 0, false
		}
	}
	return 0, false
}

// toStop returns the group to stop next. Groups stop in reverse order: each stops when all groups
// after it have ended. That way a reconciler can read from the cache until it returns, the lease is
// released once the last leader-only runnable has ended, and probes are answered until the end.
//
// warmups don't wait until elected has ended, only until it's stopping. Both have the same
// runnables, and a Start may wait for its own Warmup.
func (p phases) toStop() (next groupName, found bool) {
	for group := groupName(groupCount - 1); group >= 0; group-- {
		if p[group] < stopping && p.mayStop(group) {
			return group, true
		}
	}
	return 0, false
}

func (p phases) mayStop(group groupName) bool {
	if group == warmups {
		return p[elected] >= stopping
	}
	for after := group + 1; after < groupCount; after++ {
		if p[after] != ended {
			return false
		}
	}
	return true
}

// areEnded returns true if every group has ended.
func (p phases) areEnded() bool {
	for _, phase := range p {
		if phase != ended {
			return false
		}
	}
	return true
}
