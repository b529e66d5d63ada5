package sharding

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/loopwright/loopwright/manager/leaderelection"
	"github.com/loopwright/loopwright/manager/leaderelection/resourcelock"
	"github.com/loopwright/loopwright/trace"
)

// Config of a member. Client, Namespace and ID are required; zeros are the defaults that a manager
// has for leader election.
type Config struct {
	// Client writes the Leases.
	Client coordinationv1client.LeasesGetter
	// Namespace and ID are where the Leases are, and what the table's is called. They are the same
	// in all replicas, and no other program's.
	Namespace, ID string

	// LeaseDuration, RenewDeadline and RetryPeriod are those of package leaderelection. A range of a
	// replica that was killed is free after LeaseDuration, and has another holder up to two
	// RetryPeriods later.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
	// GracePeriod is how long reconciles may go on in a range that's given away, before their
	// contexts end; 0 means 10 s.
	GracePeriod time.Duration
	// StopTimeout is how long a replica that stops may take to give its ranges away; 0 means 30 s.
	StopTimeout time.Duration

	// Namespaces lists the names of all namespaces. It's called every minute, and when ranges are
	// about to change hands. If it returns none and no error, they can't be known: then each member
	// gets an equal part of the numbers that namespaces' hashes may be. Nil means the same.
	Namespaces func(ctx context.Context) ([]string, error)
	// Keep makes the caches keep the last of these sets, and no others, after they've been told to keep
	// the ones before it: what leaves between two has to go, even if it comes back. Reconciles begin in
	// ranges that are new when it has returned nil; when it returns an error, it's called again. Its
	// context ends when there's another call to come. Nil means that there's nothing to do.
	Keep func(ctx context.Context, inTurn []Set) error
	// Recorder is the flight recorder; nil is off.
	Recorder *trace.Recorder
}

// Member is one replica of those that share the work.
type Member struct {
	config  Config
	name    string // of its Lease, and in the table
	gate    *Gate
	store   store
	lock    *ownLease
	elector *leaderelection.LeaderElector

	end    context.CancelCauseFunc // ends Run; set when it begins
	shares atomic.Bool             // reconciles may be inside

	keeper keeper
	diary  diary

	mu    sync.Mutex // guards ended
	ended Set        // the ranges that the gate has reported since the loop last looked
	woken chan struct{}
}

// New checks the configuration. It starts nothing.
func New(config Config) (*Member, error) {
	if config.Client == nil || config.Namespace == "" || config.ID == "" {
		return nil, errors.New("sharding: Client, Namespace and ID are required")
	}
	for _, d := range []struct {
		field    *time.Duration
		standard time.Duration
	}{
		{&config.LeaseDuration, 15 * time.Second}, {&config.RenewDeadline, 10 * time.Second},
		{&config.RetryPeriod, 2 * time.Second}, {&config.GracePeriod, 10 * time.Second}, {&config.StopTimeout, 30 * time.Second},
	} {
		*d.field = cmp.Or(*d.field, d.standard)
	}
	m := &Member{config: config, woken: make(chan struct{}, 1)}
	m.name = memberName(config.ID)
	m.store = store{config.ID, config.Client.Leases(config.Namespace)}
	m.gate = newGate(m.hasEnded)
	m.gate.late = m.endsLate
	m.diary = diary{recorder: config.Recorder, layer: "shards " + config.ID}
	m.keeper.news = make(chan struct{}, 1)
	m.lock = &ownLease{LeaseLock: resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: m.name}, Client: config.Client,
		LockConfig: resourcelock.ResourceLockConfig{Identity: m.name}, Labels: map[string]string{Label: config.ID},
	}}
	var err error
	m.elector, err = leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: m.lock, Name: config.ID, LeaseDuration: config.LeaseDuration, RenewDeadline: config.RenewDeadline,
		RetryPeriod: config.RetryPeriod, StopTimeout: config.StopTimeout, ReleaseOnCancel: true, Recorder: config.Recorder,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: m.share, OnStoppedLeading: func() {}},
	})
	return m, err
}

// memberName is a name that no other member has or gets. The host's name is in it, which is the
// Pod's, so that you see in kubectl and in X-ray who that is.
func memberName(id string) string {
	unique := string(uuid.NewUUID())
	host, err := os.Hostname()
	if err != nil || len(validation.IsDNS1123Subdomain(host)) > 0 {
		return id + "-" + unique
	}
	return id + "-" + host + "-" + unique
}

// Gate is what reconciles pass.
func (m *Member) Gate() *Gate { return m.gate }

// IsLate reports whether reconciles may still be inside although this replica's Lease has run out, by
// its own clock. A process that was paused, and wakes, is late before anything in it has noticed.
func (m *Member) IsLate() bool { return m.shares.Load() && !m.elector.IsLeader() }

// endsLate is IsLate, and ends a member that is: who is told no forgets what it wanted to do, so
// there's no way back, even if a renewal succeeds at the last moment.
func (m *Member) endsLate() bool {
	late := m.IsLate()
	if late {
		m.end(errLate)
	}
	return late
}

// errLate is the cause that ends a member whose Lease had run out when a reconcile was to begin.
var errLate = errors.New("its Lease had run out when a reconcile was to begin")

// Run shares the work until ctx ends. It returns an error if the member could not renew its Lease or
// read those of the others, or if a reconcile didn't end in time: then the process must exit, as
// after a lost leader election.
func (m *Member) Run(ctx context.Context) error {
	ctx, m.end = context.WithCancelCause(ctx)
	defer m.end(nil)
	err := m.elector.Elect(ctx)
	if cause := context.Cause(ctx); err == nil && (errors.Is(cause, errBlind) || errors.Is(cause, errLate)) {
		err = cause
	}
	if err != nil {
		return fmt.Errorf("sharding: %w", err)
	}
	return nil
}

// errBlind is the cause that ends a member that renews its Lease and can't look at the others'. They
// may have to take what it has.
var errBlind = errors.New("the Leases could not be read for too long")

// ownLease knows when the member has renewed its Lease, so that older answers can be told.
type ownLease struct {
	resourcelock.LeaseLock

	mu      sync.Mutex // guards renewed
	renewed time.Time
}

// Create implements resourcelock.Interface.
func (l *ownLease) Create(ctx context.Context, ler resourcelock.LeaderElectionRecord) error {
	return l.note(ler, l.LeaseLock.Create(ctx, ler))
}

// Update implements resourcelock.Interface.
func (l *ownLease) Update(ctx context.Context, ler resourcelock.LeaderElectionRecord) error {
	return l.note(ler, l.LeaseLock.Update(ctx, ler))
}

func (l *ownLease) note(ler resourcelock.LeaderElectionRecord, err error) error {
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.renewed = ler.RenewTime.Time
	}
	return err
}

// mayBe returns an error if an answer shows this member's Lease as it was before its last renewal:
// then the rest of it is old, too.
func (l *ownLease) mayBe(seen *coordinationv1.Lease, before time.Time) error {
	if seen == nil {
		return errors.New("this replica's own is missing")
	}
	if shown := valueOf(seen.Spec.RenewTime); shown.Time.Before(before) {
		return fmt.Errorf("they are older than they may be: this replica's own was renewed at %s, and the answer says %s",
			before.Format(time.RFC3339Nano), shown.Format(time.RFC3339Nano))
	}
	return nil
}

func (l *ownLease) lastRenewal() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.renewed
}

// hasEnded wakes the loop. It's called by the goroutines of reconciles.
func (m *Member) hasEnded(ranges Set) {
	m.mu.Lock()
	m.ended = m.ended.or(ranges)
	m.mu.Unlock()
	select {
	case m.woken <- struct{}{}:
	default:
	}
}

func (m *Member) takeEnded() Set {
	m.mu.Lock()
	defer m.mu.Unlock()
	ended := m.ended
	m.ended = nil
	return ended
}
