// Package leaderelection lets one replica of many do the work, and another one when that one ends.
//
// Replicas compete for a lock, which is a Lease: each tries to write its name into it. The holder
// leads, and renews the lock periodically. If the renewals stop, the others wait until the holder
// must have stopped its work, and one of them takes over.
//
// The data: answers of the lock -> election, a pure machine that decides (elector_machine.go) ->
// requests to the lock, and the start and the end of the work (elector_run.go).
//
// Neighbours: below it are the lock, in package resourcelock, the metrics and the flight recorder.
// Above it is the manager, which starts the leader-only runnables. Names and fields are those of
// client-go's tools/leaderelection, and of controller-runtime's pkg/leaderelection for the options
// that make a lock.
//
// # Guarantees
//
// Two electors of one lock never run OnStartedLeading at the same time. This holds even if requests
// or answers are lost, late or repeated, or a proxy answers instead of the API server; and with
// LeaderElectionConfig.WaitForMissing, even if the Lease is deleted. It needs three things. The
// work ends within StopTimeout when its context does. The clocks run at about the same speed: the
// fastest is faster than the slowest by less than the lease divided by the time after which a
// leader without renewals stops, 15 s / 12 s by default, minus the time that the work takes to
// stop. They don't have to show the same time. And all replicas use this package, or another one
// that keeps the same rules: see the chapter for where client-go doesn't.
//
// # Caveats
//
// A process that is suspended, for example with its machine, can't stop in time. What it writes
// when it wakes can be refused only by the store that it writes to: see Fence.
//
// A missing lock may have been deleted a moment ago, and its holder may still work. The replica
// that creates it leads at once, as in client-go, unless LeaderElectionConfig.WaitForMissing is
// set. With it, a replica that has never seen the Lease takes its own LeaseDuration for that of the
// holder. If a rollout makes it shorter, and the Lease is deleted meanwhile, that's too short.
//
// After a restore from a backup, the Lease may have no holder although its last holder is still
// working. A replica that has seen that holder waits for it; one that was started later leads at
// once.
package leaderelection

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/loopwright/loopwright/manager/leaderelection/resourcelock"
	"github.com/loopwright/loopwright/trace"
)

// JitterFactor is how much longer than RetryPeriod a follower may pause, as a fraction of it.
const JitterFactor = 1.2

// LeaderElectionConfig configures an elector. In controller-runtime, and in most programs, the
// three times are 15 s, 10 s and 2 s.
type LeaderElectionConfig struct {
	// Lock is where the replicas write their names.
	Lock resourcelock.Interface

	// LeaseDuration is how long the others wait after the last renewal that they have seen. It must
	// be longer than RenewDeadline; the difference is the time that the work has to stop. The Lease
	// stores it in whole seconds, rounded up.
	LeaseDuration time.Duration
	// RenewDeadline is how long a leader tries to renew before it stops. The first try is due
	// RetryPeriod after it sent its last successful renewal, so with 15 s, 10 s and 2 s it stops
	// 12 s after that. Half of what RenewDeadline leaves of the lease is never used for trying, but
	// for stopping. It must be longer than RetryPeriod with its jitter.
	RenewDeadline time.Duration
	// RetryPeriod is how often the leader renews, and how often followers read the lock, at most.
	RetryPeriod time.Duration

	// Callbacks are the work and its notifications.
	Callbacks LeaderCallbacks

	// WatchDog is given the elector, and reports its health.
	WatchDog *HealthzAdaptor

	// ReleaseOnCancel releases the lock when the context of Run and the work have both ended, so
	// the next leader doesn't have to wait.
	ReleaseOnCancel bool

	// Name is the elector's name in metrics, usually that of the lock.
	Name string

	// StopTimeout is how long OnStartedLeading may take to return when its context has ended. Zero
	// means LeaseDuration - RenewDeadline. After the lock was lost, it ends with the lease at the
	// latest, because then another replica may lead. After this time, Run returns although the work
	// hasn't ended: see ErrStillWorking.
	StopTimeout time.Duration

	// WaitForMissing is for a lock that may be deleted. Its holder has RetryPeriod to create it
	// again. Another replica that creates it waits for LeaseDuration before it leads, because the
	// old holder may not have noticed. If it has seen the old holder's LeaseDuration and that is
	// longer, it waits for that. So the first start takes longer. client-go creates a missing lock,
	// and leads at once.
	WaitForMissing bool

	// Recorder is the flight recorder; nil is off.
	Recorder *trace.Recorder

	// Jitter returns numbers from 0 to 1, which vary the pauses of followers. The default is
	// random.
	Jitter func() float64
}

// LeaderCallbacks are called by Run.
type LeaderCallbacks struct {
	// OnStartedLeading is the work. Its context ends when the work has to stop: because the context
	// of Run has ended, or because the lock was lost, which is then the context's cause. It carries
	// the token that FenceFrom returns. When the function returns, the work must have ended; the
	// elector doesn't protect goroutines that it leaves behind. If it returns early, the elector
	// goes on leading.
	OnStartedLeading func(context.Context)
	// OnStoppedLeading is called before Run returns, even if this replica has never led. By then
	// the work has ended, and the lock was released if it had to be, unless Run has given up
	// waiting.
	OnStoppedLeading func()
	// OnNewLeader is called when the leader changes, even if it's now this replica: in order, and
	// one call at a time. If it's slow, it misses leaders, but not the newest one. Run waits for it
	// as it does for the work.
	OnNewLeader func(identity string)
}

// Errors of Elect.
var (
	// ErrLost means that the lock was lost, and the work has ended.
	ErrLost = errors.New("leader election lost")
	// ErrStillWorking means that OnStartedLeading hasn't returned in time. Another replica may
	// lead already or soon, so the process must exit at once.
	ErrStillWorking = errors.New("the work has not stopped in time")
)

// LeaderElector takes part in an election. Its methods may be called from any goroutine.
type LeaderElector struct {
	config LeaderElectionConfig
	meter  meter

	mu     sync.Mutex // guards status
	status status
}

// NewLeaderElector checks the configuration. It starts nothing.
func NewLeaderElector(lec LeaderElectionConfig) (*LeaderElector, error) {
	if err := lec.check(); err != nil {
		return nil, fmt.Errorf("leader election %s: %w", lec.Name, err)
	}
	lec.complete()
	le := &LeaderElector{config: lec, meter: meter{lec.Name}}
	le.meter.begin()
	return le, nil
}

// RunOrDie makes an elector and runs it. It panics if the configuration is wrong.
func RunOrDie(ctx context.Context, lec LeaderElectionConfig) {
	le, err := NewLeaderElector(lec)
	if err != nil {
		panic(err)
	}
	le.Run(ctx)
}

func (c *LeaderElectionConfig) check() error {
	switch {
	case c.Lock == nil:
		return errors.New("there is no Lock")
	case c.Lock.Identity() == "":
		return errors.New("the Lock's identity is empty; give each replica another one")
	case c.RetryPeriod <= 0:
		return fmt.Errorf("RetryPeriod is %s, and must be more than zero", c.RetryPeriod)
	case c.RenewDeadline <= time.Duration(JitterFactor*float64(c.RetryPeriod)):
		return fmt.Errorf("RenewDeadline is %s, and must be more than RetryPeriod with its "+
			"jitter, which is %g times %s", c.RenewDeadline, JitterFactor, c.RetryPeriod)
	case c.LeaseDuration <= c.RenewDeadline:
		return fmt.Errorf("LeaseDuration is %s, and must be more than RenewDeadline, which is %s",
			c.LeaseDuration, c.RenewDeadline)
	case c.StopTimeout < 0:
		return fmt.Errorf("StopTimeout is %s, and must not be negative", c.StopTimeout)
	case c.Callbacks.OnStartedLeading == nil:
		return errors.New("Callbacks.OnStartedLeading is missing: it is the work")
	case c.Callbacks.OnStoppedLeading == nil:
		return errors.New("Callbacks.OnStoppedLeading is missing; it may be empty")
	}
	return nil
}

func (c *LeaderElectionConfig) complete() {
	if c.StopTimeout == 0 {
		c.StopTimeout = c.LeaseDuration - c.RenewDeadline
	}
	if c.Jitter == nil {
		c.Jitter = rand.Float64
	}
}

func (c *LeaderElectionConfig) timing() timing {
	return timing{
		identity: c.Lock.Identity(), waitForMissing: c.WaitForMissing,
		lease: c.LeaseDuration, renew: c.RenewDeadline, retry: c.RetryPeriod,
	}
}

// status is the part of a run that other goroutines may read.
type status struct {
	running bool
	leads   bool      // until deadline
	works   bool      // OnStartedLeading hasn't returned
	leader  string    // as last seen
	renewed time.Time // when the last renewal was sent
}

// IsLeader returns true if this replica leads at this moment. It returns false once RenewDeadline
// has passed without a renewal, even if no other replica holds the lock, and even if the work has
// not noticed yet. client-go returns true as long as it has seen no other holder.
func (le *LeaderElector) IsLeader() bool {
	s := le.look()
	return s.leads && time.Since(s.renewed) < le.config.timing().leadsFor()
}

// GetLeader returns the identity of the last leader that this replica saw; use it for messages
// only. It's empty if there was none, or if it has released the lock.
func (le *LeaderElector) GetLeader() string { return le.look().leader }

// Check returns an error if this replica leads or still works although its lease expired longer
// than the given time ago. This can't happen unless the process hangs, or the work doesn't stop.
// A follower is healthy.
func (le *LeaderElector) Check(maxTolerableExpiredLease time.Duration) error {
	s := le.look()
	over := time.Since(s.renewed) - le.config.LeaseDuration
	if (s.leads || s.works) && over > maxTolerableExpiredLease {
		return fmt.Errorf("leader election %s: the lock ran out %s ago, and the work goes on; "+
			"restart this process", le.config.Name, over.Round(time.Millisecond))
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

// HealthzAdaptor makes an elector a health check. Use it for liveness: a process whose check fails
// has to be restarted.
type HealthzAdaptor struct {
	timeout time.Duration

	mu sync.Mutex // guards le
	le *LeaderElector
}

// NewLeaderHealthzAdaptor returns a check that tolerates work for this long after the lease has
// expired. Set it as LeaderElectionConfig.WatchDog.
func NewLeaderHealthzAdaptor(timeout time.Duration) *HealthzAdaptor {
	return &HealthzAdaptor{timeout: timeout}
}

// Name is the name of the check.
func (*HealthzAdaptor) Name() string { return "leaderElection" }

// Check fails if the elector's check does. Without an elector it passes.
func (a *HealthzAdaptor) Check(*http.Request) error {
	a.mu.Lock()
	le := a.le
	a.mu.Unlock()
	if le == nil {
		return nil
	}
	return le.Check(a.timeout)
}

// SetLeaderElection sets the elector to check. An elector that has this adaptor as its WatchDog
// calls it when it runs.
func (a *HealthzAdaptor) SetLeaderElection(le *LeaderElector) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.le = le
}
