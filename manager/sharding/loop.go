package sharding

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/loopwright/loopwright/manager/leaderelection"
)

// share is the work of a member: it holds its Lease until this returns.
func (m *Member) share(ctx context.Context) {
	s := &sharing{Member: m, log: logr.FromContextOrDiscard(ctx), members: members{}, failure: map[string]failure{}}
	s.replica = newReplica(m.name, m.config.LeaseDuration)
	m.shares.Store(true)
	defer m.shares.Store(false)
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
	counted count
	failure map[string]failure // the last one of each kind
	blind   *time.Timer        // goes off when it hasn't looked for too long
}

// patienceWithTheServer is how long a member works without a look at the Leases: as long as a leader
// does without a renewal.
func (m *Member) patienceWithTheServer() time.Duration {
	return min(m.config.RetryPeriod+m.config.RenewDeadline, (m.config.LeaseDuration+m.config.RenewDeadline)/2)
}

// step looks once at the Leases, does what follows, and waits for the next look.
func (s *sharing) step(ctx, lost context.Context) {
	s.leaving = s.leaving || ctx.Err() != nil
	s.noteEnded(s.takeEnded())
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
		s.report(err, "The work can't be shared; this replica goes on with what it has")
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
	since := asked
	if renewed.Before(since) { // which counts when it's leaving: then nobody says that the Lease is lost
		since = renewed
	}
	s.blind.Reset(time.Until(since.Add(s.patienceWithTheServer())))
	now := time.Now()
	s.members = s.members.sees(seen.leases, seen.table.holders(), now)
	alive, gone := s.members.alive(now, s.patience), s.members.gone()
	s.count(ctx, seen.table, alive, gone)
	s.replica = s.reads(seen.table, seen.version(s.config.ID), alive, gone, time.Now())
	s.diary.reads(s.table)
	s.act()
	return seen, nil
}

// count is when, and in which situation, the namespaces were listed last.
type count struct {
	at         time.Time
	generation int64
	alive      []string
}

// recount is how often namespaces are listed if nobody comes or goes.
const recount = time.Minute

// count lists the namespaces if ranges may be about to change hands.
func (s *sharing) count(ctx context.Context, seen table, alive, gone []string) {
	isFree := func(holder string) bool { return holder == "" || slices.Contains(gone, holder) }
	current := time.Since(s.counted.at) < recount && s.counted.generation == seen.generation &&
		slices.Equal(s.counted.alive, alive) && heldBy(seen.runs, isFree).IsEmpty()
	if current || s.config.Namespaces == nil {
		return
	}
	began := time.Now()
	names, err := s.config.Namespaces(ctx)
	s.report(err, "The namespaces can't be listed; this replica gives none away until they can")
	if s.guesses = err != nil; s.guesses {
		return
	}
	s.counted = count{began, seen.generation, alive}
	s.numbers = unknown
	if len(names) > 0 {
		s.numbers = numbersOf(names)
	}
	s.diary.knows(names)
}

func (s *sharing) noteEnded(ranges Set) {
	s.replica = s.replica.ended(ranges)
	s.diary.works("ended", ranges)
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
	s.diary.works("stops", stop)
	s.noteEnded(empty)
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
	if again {
		return true, nil
	}
	if !needed {
		s.report(s.store.forget(ctx, now, s.members.goneFor(forgotten, time.Now())),
			"The Leases of replicas that left a day ago can't be deleted")
		return false, nil
	}
	s.replica = s.sends(t)
	version, err := s.store.write(ctx, now.objects[s.config.ID], t)
	if err != nil {
		s.replica = s.failed()
		return false, fmt.Errorf("writing the table: %w", err)
	}
	s.replica = s.wrote(version)
	s.diary.reads(s.table)
	s.act()
	return false, nil
}

// failure is what went wrong last, and how often in a row.
type failure struct {
	text  string
	times int
}

// report logs a failure once. When two replicas write at the same time, one of them is refused: that's
// how it should be, so it's an error only if it's refused again.
func (s *sharing) report(err error, what string) {
	if err == nil {
		delete(s.failure, what)
		return
	}
	f := s.failure[what]
	if f.text != err.Error() {
		f = failure{text: err.Error()}
	}
	f.times++
	s.failure[what] = f
	mayBeARace := apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)
	switch {
	case mayBeARace && f.times == 1:
		s.log.Info("Another replica wrote first; this one looks again", "refused", f.text)
	case mayBeARace && f.times == 2, !mayBeARace && f.times == 1:
		s.log.Error(err, what)
	}
}
