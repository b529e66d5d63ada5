package mini

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/loopwright/loopwright/trace"
)

// ErrLeaseLost is why an Elector's work ends without having been told to.
var ErrLeaseLost = errors.New("the lease was lost")

// Elector lets one of several processes work: the one that holds a Lease.
//
// Guarantees: two processes never work at the same time, if only electors write the
// Lease, their clocks run at about the same speed, and work ends within LeaseDuration -
// RenewDeadline after its context. The clocks need not show the same time: a process
// measures how long ago *it* has seen the lease change.
//
// Caveats: if a user deletes the Lease, or a backup brings back one without a holder, a
// process that has never seen the holder begins at once. The holder finds out with its
// next renewal: after RetryPeriod, or, without an API server, after RenewDeadline. Until
// then both work.
//
// A process that is stopped and goes on (a frozen machine, a long garbage
// collection) may go on writing until it notices. Only the API server can refuse that: by
// the resourceVersion of what is written.
type Elector struct {
	Client   *Client // not a cached one: the API server knows who leads
	Lease    Request
	Identity string // of this process; no other may have it

	LeaseDuration time.Duration // others wait this long after the last renewal; 0 is 15 s
	RenewDeadline time.Duration // the leader gives up after this long; 0 is 10 s
	RetryPeriod   time.Duration // between two tries; 0 is 2 s

	observed     coordinationv1.LeaseSpec // the last state that was read
	observedTime time.Time                // when it was first seen
	renewed      time.Time                // when the last try that succeeded began
}

// Run waits for the lease, and then runs work until ctx ends, or work does, or the
// lease is lost: then the context of work ends. It returns when work has, and releases
// the lease, so that the next process need not wait for it to expire.
func (e *Elector) Run(ctx context.Context, work func(context.Context) error) error {
	e.LeaseDuration = cmp.Or(e.LeaseDuration, 15*time.Second)
	e.RenewDeadline = cmp.Or(e.RenewDeadline, 10*time.Second)
	e.RetryPeriod = cmp.Or(e.RetryPeriod, 2*time.Second)
	if e.RenewDeadline >= e.LeaseDuration || e.RetryPeriod >= e.RenewDeadline {
		return fmt.Errorf("lease %s: want retry %s < deadline %s < duration %s",
			e.Lease, e.RetryPeriod, e.RenewDeadline, e.LeaseDuration)
	}
	if e.Identity == "" {
		return fmt.Errorf("lease %s: a holder without an identity is no holder", e.Lease)
	}
	for !e.try(ctx, e.RenewDeadline) {
		if !sleep(ctx, e.RetryPeriod) {
			return nil // told to stop before it was our turn: not a failure
		}
	}
	e.record("acquired")
	working, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	renewing, stopRenewing := context.WithCancel(context.WithoutCancel(ctx))
	over := make(chan struct{})
	go func() {
		defer close(over)
		if !e.renew(renewing) {
			lose(ErrLeaseLost)
		}
	}()
	err := work(working)
	stopRenewing() // only now: while work is ending, no other process may begin
	<-over
	if errors.Is(context.Cause(working), ErrLeaseLost) {
		e.record("lost")
		return errors.Join(fmt.Errorf("lease %s: %w", e.Lease, ErrLeaseLost), err)
	}
	return errors.Join(err, e.release(context.WithoutCancel(ctx)))
}

// renew renews the lease until ctx ends. It returns false if the lease is lost: another
// process has it, or no try has succeeded for RenewDeadline.
func (e *Elector) renew(ctx context.Context) bool {
	for {
		left := time.Until(e.renewed.Add(e.RenewDeadline))
		if left <= 0 || e.heldByOther() {
			return false
		}
		if !sleep(ctx, min(e.RetryPeriod, left)) {
			return true
		}
		e.try(ctx, left-e.RetryPeriod)
	}
}

// try is one try to get or to renew the lease. It takes at most limit: an answer that
// comes later is of no use.
func (e *Elector) try(ctx context.Context, limit time.Duration) bool {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	held, err := e.tryAcquireOrRenew(ctx)
	if held {
		// Others count from the moment when they see the write, which is after this
		// one. The moment of the answer may be long after theirs.
		e.renewed = began
	}
	if err != nil {
		e.Client.Cluster.Trace.Record(trace.Event{
			Layer: "elector", Kind: trace.Error, Reason: err.Error(),
			Namespace: e.Lease.Namespace, Name: e.Lease.Name,
		})
	}
	return held
}

func (e *Elector) tryAcquireOrRenew(ctx context.Context) (held bool, err error) {
	lease, err := Get[*coordinationv1.Lease](ctx, e.Client, e.Lease)
	missing := apierrors.IsNotFound(err) // by the API server's word, see isAbsent
	if err != nil && !missing {
		return false, err
	}
	if !missing {
		e.observe(lease.Spec)
	}
	if e.heldByOther() && !e.expired() {
		return false, nil // even if the lease was deleted: its holder works on
	}
	// If it's missing, Get has returned an empty one, which we fill in.
	lease.Namespace, lease.Name = e.Lease.Namespace, e.Lease.Name
	lease.Spec = e.spec(lease.Spec)
	if missing {
		err = e.Client.Create(ctx, lease) // if two processes try, one succeeds
	} else {
		err = e.Client.Update(ctx, lease) // a conflict: another process was faster
	}
	if err != nil {
		return false, err
	}
	e.observe(lease.Spec)
	return true, nil
}

// spec is the lease with this process as its holder.
func (e *Elector) spec(old coordinationv1.LeaseSpec) coordinationv1.LeaseSpec {
	next, now := old, metav1.NowMicro()
	if holder(old) != e.Identity {
		next.AcquireTime = &now
		next.LeaseTransitions = new(ptr.Deref(old.LeaseTransitions, -1) + 1) // from 0
	}
	next.HolderIdentity = &e.Identity
	next.RenewTime = &now
	seconds := (e.LeaseDuration + time.Second - 1) / time.Second // rounded up
	next.LeaseDurationSeconds = new(int32(seconds))
	return next
}

// observe notes when the lease has changed, by the clock of this process: the renewTime
// is from another one.
func (e *Elector) observe(spec coordinationv1.LeaseSpec) {
	if !equality.Semantic.DeepEqual(spec, e.observed) {
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

// release takes this process out of the lease: the next one that tries gets it.
func (e *Elector) release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, e.RenewDeadline)
	defer cancel()
	for {
		lease, err := Get[*coordinationv1.Lease](ctx, e.Client, e.Lease)
		if apierrors.IsNotFound(err) {
			return nil // deleted
		}
		if err == nil {
			if holder(lease.Spec) != e.Identity {
				return nil // another process has it
			}
			lease.Spec.HolderIdentity = nil
			err = e.Client.Update(ctx, lease)
		}
		if apierrors.IsConflict(err) {
			continue // with a renewal of our own that was still on its way
		}
		if err != nil {
			return fmt.Errorf("releasing lease %s: %w", e.Lease, err)
		}
		e.record("released")
		return nil
	}
}

func holder(spec coordinationv1.LeaseSpec) string {
	return ptr.Deref(spec.HolderIdentity, "")
}

func (e *Elector) record(what string) {
	e.Client.Cluster.Trace.Record(trace.Event{
		Layer: "elector", Kind: trace.Lease, Op: what, Object: "Lease",
		Namespace: e.Lease.Namespace, Name: e.Lease.Name, Reason: e.Identity,
	})
}
