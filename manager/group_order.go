package manager

// groupName is one of the groups in which a manager keeps its runnables. The groups start in this
// order, because each needs those before it.
type groupName int

const (
	// httpServers answer probes and metrics, so that the kubelet does not take a process that
	// starts slowly for a dead one.
	httpServers groupName = iota
	// webhooks come before the caches: the API server calls a conversion webhook to answer the
	// list that a cache waits for.
	webhooks
	// caches come before all who read from them.
	caches
	// others run in each replica, whether it leads or not.
	others
	// warmups prepare what needs the lead, so that a new leader loses no time.
	warmups
	// election asks for the lease and renews it, if there is a leader election.
	election
	// elected runs in the leader alone.
	elected

	groupCount = iota
)

func (g groupName) String() string {
	return [groupCount]string{"HTTP servers", "webhooks", "caches", "others", "warm-up", "leader election", "leader-elected"}[g]
}

// groupPhase is how far a group is. It only ever grows.
type groupPhase int

const (
	idle     groupPhase = iota // not started yet
	starting                   // started; not all of its runnables are ready
	ready                      // the next group may start
	stopping                   // told to end; some of its runnables have not ended
	ended                      // none of its runnables is left
)

func (p groupPhase) String() string {
	return [...]string{"idle", "starting", "ready", "stopping", "ended"}[p]
}

// phases are those of all groups.
type phases [groupCount]groupPhase

// toStart returns the group that is to be started next. A group waits until all before it are
// ready, and the last one for the lead, too.
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

// toStop returns the group that is to be told to end next. The way back is the way there, reversed:
// a group is told when all after it have ended. So a reconciler can read from the cache until it
// returns, the lease is released when nothing runs that needs it, and probes are answered until
// the end.
//
// warmups do not wait until elected has ended, but only until it is told: both have the same
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

// areEnded reports whether nothing is left.
func (p phases) areEnded() bool {
	for _, phase := range p {
		if phase != ended {
			return false
		}
	}
	return true
}
