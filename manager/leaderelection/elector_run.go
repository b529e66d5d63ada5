package leaderelection

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/manager/leaderelection/resourcelock"
)

// This file is the shell around the machine: one loop that asks it for the next step, sends the
// requests, and waits for whatever comes first.

// Run takes part in the election, and leads if it gets the lock, until the context ends or the lock
// is lost. Elect does the same and says why it has ended.
func (le *LeaderElector) Run(ctx context.Context) { _ = le.Elect(ctx) }

// Elect is Run with an error: nil if the context has ended and the work with it; ErrLost if the
// lock was lost and the work has ended; and ErrStillWorking if the work hasn't ended. Each call
// starts a new election. Don't call it twice at a time.
//
// When it returns, no goroutine of the elector is left, with one exception: after ErrStillWorking,
// the work may still run, or a call of the lock or of another callback that doesn't return.
func (le *LeaderElector) Elect(ctx context.Context) error {
	twice := false
	le.change(func(s *status) { twice, s.running = s.running, true })
	if twice {
		return fmt.Errorf("leader election %s: it runs already", le.config.Name)
	}
	if le.config.WatchDog != nil {
		le.config.WatchDog.SetLeaderElection(le)
	}
	lock := le.config.Lock
	r := &run{
		LeaderElector: le,
		log: logr.FromContextOrDiscard(ctx).
			WithValues("lock", lock.Describe(), "identity", lock.Identity()),
		e:        newElection(le.config.timing()),
		answers:  make(chan answer, 1),
		failures: map[do]string{},
		cut:      func() {},
		notifier: newNotifier(lock, le.config.Callbacks.OnNewLeader),
		term: func(fence Fence) (context.Context, context.CancelCauseFunc) {
			return context.WithCancelCause(WithFence(ctx, fence))
		},
	}
	err := r.loop(ctx)
	le.change(func(s *status) { s.running = false })
	le.config.Callbacks.OnStoppedLeading()
	if err != nil {
		r.log.Error(err, "Leader election has ended")
		return fmt.Errorf("leader election %s: %w", le.config.Name, err)
	}
	return nil
}

// run is one call of Elect. Only the loop's goroutine uses it.
type run struct {
	*LeaderElector
	log logr.Logger
	e   election

	// answers has room for one: there's one request at a time, and its goroutine ends even if the
	// loop doesn't receive. The request's goroutine sends, the loop receives, and it's never
	// closed.
	answers chan answer
	cut     context.CancelFunc // cancels the request

	term     func(Fence) (context.Context, context.CancelCauseFunc) // makes the context of the work
	notifier *notifier
	work     *work     // nil until this replica leads
	stopBy   time.Time // when Run returns even if the work hasn't; zero if the work may go on
	canceled bool      // the loop has seen that the context ended
	resigned bool      // the machine knows that the work has ended
	late     bool      // the work didn't end in time

	failures map[do]string // the last logged error of each kind of request; a success deletes it
}

func (r *run) loop(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	ended := ctx.Done()
	for {
		if ctx.Err() != nil {
			ended = nil
			r.cancels()
		}
		r.resign()
		r.steps(ctx)
		if r.over() {
			return r.result()
		}
		if at, ok := r.wake(); ok {
			timer.Reset(time.Until(at))
		} else {
			timer.Stop()
		}
		select {
		case a := <-r.answers:
			r.hear(a)
		case <-r.working():
			r.workHasEnded()
		case <-r.notifier.told:
		case <-timer.C:
		case <-ended:
		}
	}
}

// cancels notes that the context has ended. The work's context has ended with it; the loop renews
// the lock until the work has ended, too.
func (r *run) cancels() {
	if r.canceled {
		return
	}
	r.canceled = true
	r.stopBy = time.Now().Add(r.config.StopTimeout)
	if !r.e.holds() {
		r.cut()
	}
}

// resign tells the machine that no work is left and none is wanted.
func (r *run) resign() {
	if r.canceled && !r.resigned && !r.busy() && !(r.e.asking && !r.e.holds()) {
		r.resigned = true
		r.become(r.e.stops(r.config.ReleaseOnCancel))
	}
}

func (r *run) steps(ctx context.Context) {
	for {
		now := time.Now()
		switch s := r.e.next(now); s.do {
		case wait, finish:
			return
		case pause:
			r.e = r.e.rests(now, r.config.Jitter())
		case giveUp:
			r.become(r.e.expires())
		default:
			r.send(ctx, s, now)
		}
	}
}

// over returns true if there's nothing left to wait for, or no time to do so.
func (r *run) over() bool {
	switch {
	case r.e.phase == ended:
	case r.busy() && r.tooLate():
		r.resigned = true
		r.become(r.e.lose("the work does not stop"))
	case r.canceled && !r.resigned && r.tooLate(): // a call of the lock doesn't return
		r.resigned = true
		r.become(r.e.stops(false))
	default:
		return false
	}
	r.cut()
	if r.e.asking || r.busy() || !r.notifier.finished() {
		r.late = r.tooLate()
		return r.late
	}
	return true
}

// busy returns true if the work has begun and hasn't ended.
func (r *run) busy() bool { return r.work != nil && !r.work.ended }

func (r *run) tooLate() bool { return !r.stopBy.IsZero() && !time.Now().Before(r.stopBy) }

func (r *run) result() error {
	lost := r.work != nil && r.work.lost
	switch {
	case r.late && lost:
		return fmt.Errorf("%w: %w: %s", ErrStillWorking, ErrLost, r.e.why)
	case r.late:
		return fmt.Errorf("%w: it was given %s", ErrStillWorking, r.config.StopTimeout)
	case lost:
		return fmt.Errorf("%w: %s", ErrLost, r.e.why)
	}
	return nil
}

// wake is when the loop continues if nothing happens before.
func (r *run) wake() (at time.Time, ok bool) {
	if r.e.phase != ended {
		at, ok = r.e.wake()
		if r.resigned {
			return at, ok // the lock is being released, and stopBy may have passed
		}
	}
	if !r.stopBy.IsZero() && (!ok || r.stopBy.Before(at)) {
		return r.stopBy, true
	}
	return at, ok
}

// answer is the result of a request.
type answer struct {
	to     step
	record *resourcelock.LeaderElectionRecord
	raw    []byte
	err    error
}

// send sends a request from a goroutine of its own, because the loop has to notice the deadline
// meanwhile. A request may take half of RenewDeadline, so that one that hangs doesn't cost the
// lock. It goes on when the context of Run ends, because a leader renews until its work has
// stopped.
func (r *run) send(ctx context.Context, s step, now time.Time) {
	if s.do == update && r.e.phase == leading && r.e.read {
		r.meter.slowPath()
	}
	r.e = r.e.sends(s, now)
	until := now.Add(r.config.RenewDeadline / 2)
	if r.e.holds() && r.e.deadline().Before(until) {
		until = r.e.deadline()
	}
	ctx, r.cut = context.WithDeadline(context.WithoutCancel(ctx), until)
	lock, cut := r.config.Lock, r.cut
	go func() {
		defer cut()
		a := answer{to: s}
		switch s.do {
		case read:
			a.record, a.raw, a.err = lock.Get(ctx)
		case create:
			a.err = lock.Create(ctx, s.record)
		default:
			a.err = lock.Update(ctx, s.record)
		}
		r.answers <- a
	}()
}

// hear passes an answer to the machine.
func (r *run) hear(a answer) {
	now := time.Now()
	if a.err == nil {
		delete(r.failures, a.to.do)
	}
	switch {
	case a.err == nil && a.to.do == read:
		r.become(r.e.saw(*a.record, string(a.raw), now))
	case a.err == nil:
		r.become(r.e.wrote(now))
	case a.to.do == read && isMissing(a.err):
		r.become(r.e.sawNothing(now))
	default:
		if r.e.phase != ended && !errors.Is(a.err, context.Canceled) {
			r.recordError(a)
		}
		r.become(r.e.failed(now, r.config.Jitter()))
	}
}

// isMissing reports whether the API server says that there's no lock. A proxy's 404 is a failed
// request: a leader that believed it while it releases the lock would leave it unreleased.
//
// client.IsAbsent also compares the name. Here the lock may be of a user's own type, whose errors
// may have none; and if we create a lock because of another's absence, the server refuses.
func isMissing(err error) bool {
	return apierrors.IsNotFound(err) &&
		!apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// work is a running call of OnStartedLeading.
type work struct {
	cancel context.CancelCauseFunc
	done   chan struct{} // closed by the goroutine of the work, received by the loop
	ended  bool          // the loop has received done
	lost   bool          // the lock was lost, whether the work had ended or not
}

// become stores the machine's new state, and starts and stops the work accordingly.
func (r *run) become(after election) {
	before := r.e
	r.e = after
	r.publish()
	r.record(before)
	switch {
	case before.phase != leading && after.phase == leading:
		r.start()
	case before.phase == leading && after.phase == ended && !r.resigned:
		r.lose()
	}
}

func (r *run) start() {
	fence := Fence{Identity: r.e.identity, Transitions: r.e.record.LeaderTransitions}
	ctx, cancel := r.term(fence)
	r.work = &work{cancel: cancel, done: make(chan struct{})}
	done, start := r.work.done, r.config.Callbacks.OnStartedLeading
	r.change(func(s *status) { s.works = true })
	r.notifier.event("became leader")
	go func() {
		defer close(done)
		start(ctx)
	}()
}

// lose stops the work because the lock is lost. A replica that waits for the lock may begin when
// the lease has expired, so the work has until then at most.
func (r *run) lose() {
	r.work.lost = true
	r.work.cancel(fmt.Errorf("%w: %s", ErrLost, r.e.why))
	by := time.Now().Add(r.config.StopTimeout)
	for _, earlier := range []time.Time{r.e.free(), r.stopBy} {
		if !earlier.IsZero() && earlier.Before(by) {
			by = earlier
		}
	}
	r.stopBy = by
}

// working is closed when the work has ended. It's nil, which blocks forever, if the loop knows
// that already or if there's no work.
func (r *run) working() <-chan struct{} {
	if !r.busy() {
		return nil
	}
	return r.work.done
}

func (r *run) workHasEnded() {
	r.work.ended = true
	r.change(func(s *status) { s.works = false })
}

// publish updates what the elector's exported methods read.
func (r *run) publish() {
	leads := r.e.phase == leading
	r.change(func(s *status) {
		s.leads, s.leader = leads, r.e.record.HolderIdentity
		if r.e.observed != present {
			s.leader = ""
		}
		if r.e.holds() {
			s.renewed = r.e.renewed
		}
	})
	r.meter.leads(leads)
}
