package mini

import (
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/trace"
)

// ErrLeaseLost is why an Elector's work ends without having been told to.
var ErrLeaseLost = errors.New("the lease was lost")

// Elector lets one of several processes work: the one that holds a Lease.
//
// Guarantees: work runs only while nobody else may take the lease, as far as the clocks
// of all processes run at about the same speed. They need not show the same time: a
// process measures how long ago *it* has seen the lease change.
//
// Caveats: a process that is stopped and goes on (a frozen machine, a long garbage
// collection) may send one more write before it notices. Only the API server can refuse
// that: by the resourceVersion of what is written.
type Elector struct {
	Client   *Client // not a cached one: who leads is read from the API server
	Lease    Request
	Identity string // of this process; no other may have it

	LeaseDuration time.Duration // others wait this long after the last renewal; 0 is 15 s
	RenewDeadline time.Duration // the leader gives up after so long without one; 0 is 10 s
	RetryPeriod   time.Duration // between two tries; 0 is 2 s

	observed     coordinationv1.LeaseSpec // the last state that was read
	observedTime time.Time                // when it was first seen
}

// Run waits for the lease, and then runs work until ctx ends, or work does, or the
// lease is lost: then the context of work ends. It returns when work has, and releases
// the lease, so that the next process need not wait for it to expire.
func (e *Elector) Run(ctx context.Context, work func(context.Context) error) error {
	e.setDefaults()
	if e.RenewDeadline >= e.LeaseDuration || e.RetryPeriod >= e.RenewDeadline {
		return fmt.Errorf("lease %s: want RetryPeriod < RenewDeadline < LeaseDuration, got %s, %s, %s",
			e.Lease, e.RetryPeriod, e.RenewDeadline, e.LeaseDuration)
	}
	for !e.try(ctx, e.RenewDeadline) {
		if !sleep(ctx, e.RetryPeriod) {
			return nil // told to stop before it was our turn: not a failure
		}
	}
	e.record("acquired")
	working, lose := context.WithCancelCause(ctx)
	renewing, stopRenewing := context.WithCancel(context.WithoutCancel(ctx))
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		if !e.renew(renewing) {
			lose(ErrLeaseLost)
		}
	}()
	err := work(working)
	stopRenewing() // only now: while work is ending, nobody else may begin
	<-renewed
	if errors.Is(context.Cause(working), ErrLeaseLost) {
		e.record("lost")
		return errors.Join(fmt.Errorf("lease %s: %w", e.Lease, ErrLeaseLost), err)
	}
	lose(nil)
	return errors.Join(err, e.release(context.WithoutCancel(ctx)))
}

func (e *Elector) setDefaults() {
	for value, standard := range map[*time.Duration]time.Duration{
		&e.LeaseDuration: 15 * time.Second,
		&e.RenewDeadline: 10 * time.Second,
		&e.RetryPeriod:   2 * time.Second,
	} {
		if *value == 0 {
			*value = standard
		}
	}
}

// renew holds the lease until ctx ends, and returns false if it was lost: somebody else
// has it, or no try has succeeded for RenewDeadline.
func (e *Elector) renew(ctx context.Context) bool {
	last := time.Now() // the beginning of the last try that succeeded
	for sleep(ctx, e.RetryPeriod) {
		began := time.Now()
		left := e.RenewDeadline - time.Since(last)
		switch {
		case left > 0 && e.try(ctx, left):
			last = began
		case ctx.Err() == nil && (e.heldByOther() || time.Since(last) >= e.RenewDeadline):
			return false
		}
	}
	return true
}

// try is one try to get or to renew the lease. It takes at most limit.
func (e *Elector) try(ctx context.Context, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ok, err := e.tryAcquireOrRenew(ctx)
	if err != nil {
		e.Client.Cluster.Trace.Record(trace.Event{
			Layer: "elector", Kind: trace.Error, Namespace: e.Lease.Namespace, Name: e.Lease.Name,
			Reason: err.Error(),
		})
	}
	return ok
}

func (e *Elector) tryAcquireOrRenew(ctx context.Context) (bool, error) {
	now := metav1.NowMicro()
	lease, err := Get[*coordinationv1.Lease](ctx, e.Client, e.Lease)
	if apierrors.IsNotFound(err) {
		lease.Namespace, lease.Name = e.Lease.Namespace, e.Lease.Name
		lease.Spec = e.spec(coordinationv1.LeaseSpec{}, now)
		err = e.Client.Create(ctx, lease) // two that try have one that succeeds
		return err == nil, err
	}
	if err != nil {
		return false, err
	}
	e.observe(lease.Spec)
	if e.heldByOther() && !e.expired() {
		return false, nil
	}
	lease.Spec = e.spec(lease.Spec, now)
	if err := e.Client.Update(ctx, lease); err != nil {
		return false, err // a conflict: somebody was faster
	}
	e.observe(lease.Spec)
	return true, nil
}

// spec is the lease with this process as its holder.
func (e *Elector) spec(
	old coordinationv1.LeaseSpec, now metav1.MicroTime,
) coordinationv1.LeaseSpec {
	next := *old.DeepCopy()
	if holder(old) != e.Identity {
		next.AcquireTime = &now
		next.LeaseTransitions = new(int32(0))
		if old.LeaseTransitions != nil {
			*next.LeaseTransitions = *old.LeaseTransitions + 1
		}
	}
	next.HolderIdentity = &e.Identity
	next.RenewTime = &now
	next.LeaseDurationSeconds = new(int32((e.LeaseDuration + time.Second - 1) / time.Second))
	return next
}

// observe notes when the lease has changed, by our own clock: its renewTime is from
// another's.
func (e *Elector) observe(spec coordinationv1.LeaseSpec) {
	if e.observedTime.IsZero() || holder(spec) != holder(e.observed) ||
		!spec.RenewTime.Equal(e.observed.RenewTime) {
		e.observed, e.observedTime = spec, time.Now()
	}
}

func (e *Elector) heldByOther() bool {
	h := holder(e.observed)
	return h != "" && h != e.Identity
}

// expired: the holder has not renewed for as long as it promised to.
func (e *Elector) expired() bool {
	duration := e.LeaseDuration
	if seconds := e.observed.LeaseDurationSeconds; seconds != nil {
		duration = time.Duration(*seconds) * time.Second
	}
	return time.Since(e.observedTime) >= duration
}

// release gives the lease back: it has no holder, and the next who tries gets it.
func (e *Elector) release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, e.RenewDeadline)
	defer cancel()
	lease, err := Get[*coordinationv1.Lease](ctx, e.Client, e.Lease)
	if err != nil || holder(lease.Spec) != e.Identity {
		return err
	}
	lease.Spec.HolderIdentity = new("")
	lease.Spec.LeaseDurationSeconds = new(int32(1))
	if err := e.Client.Update(ctx, lease); err != nil {
		return fmt.Errorf("releasing lease %s: %w", e.Lease, err)
	}
	e.record("released")
	return nil
}

func holder(spec coordinationv1.LeaseSpec) string {
	if spec.HolderIdentity == nil {
		return ""
	}
	return *spec.HolderIdentity
}

// sleep returns false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

func (e *Elector) record(what string) {
	e.Client.Cluster.Trace.Record(trace.Event{
		Layer: "elector", Kind: trace.Lease, Op: what, Object: "Lease",
		Namespace: e.Lease.Namespace, Name: e.Lease.Name, Reason: e.Identity,
	})
}
