package leaderelection

import (
	"context"
	"fmt"
	"time"
)

// work is OnStartedLeading while it runs.
type work struct {
	cancel context.CancelCauseFunc
	done   chan struct{} // closed by the goroutine of the work, received by the loop
	ended  bool          // done was received
	lost   bool          // the lock was lost, whether the work had ended or not
}

// become takes over what the machine has decided, and starts and stops the work accordingly.
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

// start starts the work.
func (r *run) start() {
	fence := Fence{Identity: r.e.identity, Transitions: r.e.record.LeaderTransitions}
	ctx, cancel := r.term(fence)
	r.work = &work{cancel: cancel, done: make(chan struct{})}
	done, start := r.work.done, r.config.Callbacks.OnStartedLeading
	r.change(func(s *status) { s.works = true })
	r.teller.event("became leader")
	go func() {
		defer close(done)
		start(ctx)
	}()
}

// lose stops the work because the lock is lost. Whoever waits for the lock may begin when the lease has
// run out, so the work has until then at most.
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

// working is closed when the work has ended. It is nil, which is never ready, if that is known, or if
// there is no work.
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

// publish is for the methods that anybody may call.
func (r *run) publish() {
	leads := r.e.phase == leading
	r.change(func(s *status) {
		s.leads, s.leader = leads, r.e.record.HolderIdentity
		if r.e.sight != present {
			s.leader = ""
		}
		if r.e.holds() {
			s.renewed = r.e.renewed
		}
	})
	r.meter.leads(leads)
}
