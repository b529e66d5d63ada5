package leaderelection

import (
	"fmt"
	"time"
)

// status is what others may know of a run.
type status struct {
	running bool
	leads   bool      // until deadline
	works   bool      // OnStartedLeading has not returned
	leader  string    // as last seen
	renewed time.Time // when the last renewal was sent
}

// IsLeader reports whether this replica leads at this moment. It is false once the lock was not renewed
// for RenewDeadline, even if nobody else has it, and even if the work has not noticed yet. client-go
// returns true as long as it has seen no other holder.
func (le *LeaderElector) IsLeader() bool {
	s := le.look()
	return s.leads && time.Since(s.renewed) < le.config.RenewDeadline
}

// GetLeader returns the identity of the last leader that was seen, for people. It is empty if there was
// none, or if it has released the lock.
func (le *LeaderElector) GetLeader() string { return le.look().leader }

// Check returns an error if this replica leads, or still works, although the lock has run out for all
// others, and longer than the given time ago. This cannot happen unless the process hangs, or the work
// does not stop. A follower is healthy.
func (le *LeaderElector) Check(maxTolerableExpiredLease time.Duration) error {
	s := le.look()
	if over := time.Since(s.renewed) - le.config.LeaseDuration; (s.leads || s.works) && over > maxTolerableExpiredLease {
		return fmt.Errorf("leader election %s: the lock ran out %s ago, and the work goes on; restart this process", le.config.Name, over.Round(time.Millisecond))
	}
	return nil
}

func (le *LeaderElector) look() status {
	le.mu.Lock()
	defer le.mu.Unlock()
	return le.status
}

func (le *LeaderElector) change(f func(*status)) {
	le.mu.Lock()
	defer le.mu.Unlock()
	f(&le.status)
}
