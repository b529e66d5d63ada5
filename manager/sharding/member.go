package sharding

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
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

	// Namespaces returns the names of all namespaces, or false if they aren't known: then each
	// member gets an equal part of the numbers that namespaces' hashes may be. It's called every
	// RetryPeriod, so it must return at once. Nil means that they are never known.
	Namespaces func() (names []string, known bool)
	// Keep makes the caches keep these ranges, and no others. Reconciles begin in ranges that are
	// new when it has returned nil; when it returns an error, it's called again. Its context ends
	// when there's another call to come. Nil means that there's nothing to do.
	Keep func(ctx context.Context, ranges Set) error
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

	end context.CancelCauseFunc // ends Run; set when it begins

	keeper keeper

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
	m.name = config.ID + "-" + string(uuid.NewUUID())
	m.store = store{config.ID, config.Client.Leases(config.Namespace)}
	m.gate = newGate(m.hasEnded)
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

// Gate is what reconciles pass.
func (m *Member) Gate() *Gate { return m.gate }

// Run shares the work until ctx ends. It returns an error if the member could not renew its Lease or
// read those of the others, or if a reconcile didn't end in time: then the process must exit, as
// after a lost leader election.
func (m *Member) Run(ctx context.Context) error {
	ctx, m.end = context.WithCancelCause(ctx)
	defer m.end(nil)
	err := m.elector.Elect(ctx)
	if err == nil && errors.Is(context.Cause(ctx), errBlind) {
		err = context.Cause(ctx)
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

// share is the work of a member: it holds its Lease until this returns.
func (m *Member) share(ctx context.Context) {
	s := &sharing{Member: m, log: logr.FromContextOrDiscard(ctx), members: members{}}
	s.replica = newReplica(m.name, m.config.LeaseDuration)
	// The loop may be waiting for an answer when the Lease is lost.
	lost, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	defer context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), leaderelection.ErrLost) {
			stop(context.Cause(ctx))
		}
	})()
	s.blind = time.AfterFunc(m.patienceWithTheServer(), func() {
		stop(errBlind)
		m.end(errBlind)
	})
	defer s.blind.Stop()
	keeping, end := context.WithCancel(lost)
	var running sync.WaitGroup
	running.Go(func() { m.keep(keeping, s.log) })
	for lost.Err() == nil && !s.left() {
		s.step(ctx, lost)
	}
	m.gate.close()
	end()
	running.Wait()
	m.gate.wait()
}

// sharing is the loop's state. Only its goroutine uses it.
type sharing struct {
	*Member
	replica
	members members
	log     logr.Logger
	failure string      // as it was logged
	blind   *time.Timer // goes off when it hasn't looked for too long
}

// patienceWithTheServer is how long a member works without a look at the Leases: as long as a leader
// does without a renewal.
func (m *Member) patienceWithTheServer() time.Duration {
	return min(m.config.RetryPeriod+m.config.RenewDeadline, (m.config.LeaseDuration+m.config.RenewDeadline)/2)
}

// step looks once at the Leases, does what follows, and waits for the next look.
func (s *sharing) step(ctx, lost context.Context) {
	s.leaving = s.leaving || ctx.Err() != nil
	s.replica = s.replica.ended(s.takeEnded())
	s.keeper.set(s.works, nil, s.gate)
	if s.leaving {
		s.act() // even if the server doesn't answer
	}
	again := false
	if !s.leaving { // or there's nothing left to find out
		now, err := s.look(lost)
		if err == nil {
			again, err = s.change(lost, now)
		}
		s.report(err)
	}
	if again || lost.Err() != nil || s.left() {
		return
	}
	pause := time.NewTimer(s.config.RetryPeriod)
	defer pause.Stop()
	ended := ctx.Done()
	if s.leaving {
		ended = nil
	}
	select {
	case <-pause.C:
	case <-s.woken:
	case <-ended:
	case <-lost.Done():
	}
}

// look reads the Leases, and begins and stops what follows from them.
func (s *sharing) look(ctx context.Context) (snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.RenewDeadline/2)
	defer cancel()
	renewed, asked := s.lock.lastRenewal(), time.Now()
	seen, err := s.store.read(ctx)
	if err == nil {
		err = s.lock.mayBe(seen.objects[s.name], renewed)
	}
	if err != nil {
		s.current = false
		return seen, fmt.Errorf("reading the Leases: %w", err)
	}
	now := time.Now()
	since := asked
	if renewed.Before(since) { // which counts when it's leaving: then nobody says that the Lease is lost
		since = renewed
	}
	s.blind.Reset(time.Until(since.Add(s.patienceWithTheServer())))
	s.numbers = s.count()
	s.members = s.members.sees(seen.leases, seen.table.holders(), now)
	s.replica = s.reads(seen.table, seen.version(s.config.ID), s.members.alive(now, s.patience), s.members.gone(), now)
	s.act()
	return seen, nil
}

// count returns the numbers of the namespaces.
func (s *sharing) count() []uint64 {
	if s.config.Namespaces == nil {
		return unknown
	}
	names, known := s.config.Namespaces()
	if !known {
		return unknown
	}
	return numbersOf(names)
}

// act makes begin and stop what may and must.
func (s *sharing) act() {
	begin, stop := s.acts(time.Now())
	if begin.IsEmpty() && stop.IsEmpty() {
		return
	}
	s.log.Info("Ranges change hands", "begin", begin.String(), "stop", stop.String())
	s.replica = s.replica.stopping(stop)
	empty := s.gate.stop(stop)
	s.replica = s.replica.ended(empty)
	if left := stop.without(empty); !left.IsEmpty() {
		time.AfterFunc(s.config.GracePeriod, s.gate.terminator(left))
	}
	s.replica = s.begun(begin)
	s.keeper.set(s.works, begin, s.gate)
}

// change writes what there is to write, and reports whether to look again at once.
func (s *sharing) change(ctx context.Context, now snapshot) (again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.RenewDeadline/2)
	defer cancel()
	for _, name := range s.members.silent(time.Now(), s.patience) {
		object := now.objects[name]
		if object != nil && object.ResourceVersion != s.members[name].version {
			continue
		}
		if err := s.store.release(ctx, name, object); err != nil {
			return false, fmt.Errorf("releasing the Lease %s, which nobody has renewed: %w", name, err)
		}
		again = true
	}
	t, needed := s.writes(time.Now())
	if again || !needed {
		return again, nil
	}
	s.replica = s.sends(t)
	version, err := s.store.write(ctx, now.objects[s.config.ID], t)
	if err != nil {
		s.replica = s.failed()
		return false, fmt.Errorf("writing the table: %w", err)
	}
	s.replica = s.wrote(version)
	s.act()
	return false, nil
}

// report logs a failure, if it isn't the one that was logged last.
func (s *sharing) report(err error) {
	what := ""
	if err != nil {
		what = err.Error()
	}
	if what != s.failure && err != nil {
		s.log.Error(err, "The work can't be shared; this replica goes on with what it has")
	}
	s.failure = what
}
