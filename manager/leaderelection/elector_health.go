package leaderelection

import (
	"net/http"
	"sync"
	"time"
)

// HealthzAdaptor makes an elector a health check. Use it for liveness: a process whose check fails has
// to be restarted.
type HealthzAdaptor struct {
	timeout time.Duration

	mu sync.Mutex // guards le
	le *LeaderElector
}

// NewLeaderHealthzAdaptor returns a check that tolerates work for a time after the lock has run out.
// Give it to the elector as LeaderElectionConfig.WatchDog.
func NewLeaderHealthzAdaptor(timeout time.Duration) *HealthzAdaptor {
	return &HealthzAdaptor{timeout: timeout}
}

// Name is the check's.
func (*HealthzAdaptor) Name() string { return "leaderElection" }

// Check fails if the elector's check does. It passes as long as there is no elector.
func (a *HealthzAdaptor) Check(*http.Request) error {
	a.mu.Lock()
	le := a.le
	a.mu.Unlock()
	if le == nil {
		return nil
	}
	return le.Check(a.timeout)
}

// SetLeaderElection says which elector is checked. An elector that has this adaptor as its WatchDog
// calls it when it runs.
func (a *HealthzAdaptor) SetLeaderElection(le *LeaderElector) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.le = le
}
