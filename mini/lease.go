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

// ErrLeaseLost is returned by Run if work had to end because the lease was lost.
var ErrLeaseLost = errors.New("the lease was lost")

// Elector lets one of several processes work, the one that holds a Lease.
//
// Guarantees: two processes never work at the same time, as long as only electors write
// the Lease, clocks run at about the same speed, and work ends within LeaseDuration -
// RenewDeadline after its context. The clocks may show different times, because a process
// measures how long ago *it* saw the lease change.
//
// Caveats: if a user deletes the Lease, or a backup restores one without a holder, a
// process that has never seen the holder begins at once. The holder finds out when it
// next renews the lease: after RetryPeriod, or after RenewDeadline if the API server
// doesn't answer. Until then both work.
//
// A process that was frozen and wakes up (a paused machine, a long garbage collection)
// may go on writing until it notices. Only the API server can refuse such writes, by
// their resourceVersion.
type Elector struct {
	Client   *Client // not a cached one: only the API server knows who leads
	Lease    Request
	Identity string // of this process, and of no other

	LeaseDuration time.Duration // others wait this long after the last renewal; 0: 15 s
	RenewDeadline time.Duration // the leader gives up this long after a renewal; 0: 10 s
	RetryPeriod   time.Duration // between two tries; 0: 2 s

	observed     coordinationv1.LeaseSpec // the last state that we've read
	observedTime time.Time                // when we first saw it
	renewed      time.Time                // when the last successful try began
}

// Run waits for the lease, and then runs work until work returns. The context of work
// ends when ctx does, or when the lease is lost. Afterwards, Run releases the lease if it
// still has it, so that the next process doesn't have to wait until it expires.
func (e *Elector) Run(ctx context.Context, work func(context.Context) error) error {
	e.LeaseDuration = cmp.Or(e.LeaseDuration, 15*time.Second)
	e.RenewDeadline = cmp.Or(e.RenewDeadline, 10*time.Second)
	e.RetryPeriod = cmp.Or(e.RetryPeriod, 2*time.Second)
	if e.RenewDeadline >= e.LeaseDuration || e.RetryPeriod >= e.RenewDeadline {
		return fmt.Errorf("lease %s: want retry %s < deadline %s < duration %s",
			e.Lease, e.RetryPeriod, e.RenewDeadline, e.LeaseDuration)
	}
	if e.Identity == "" {
		return fmt.Errorf("lease %s: Identity is empty: set a unique name", e.Lease)
	}
	for !e.try(ctx, e.RenewDeadline) {
		if !sleep(ctx, e.RetryPeriod) {
			return nil // stopped before it was our turn: not a failure
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
	stopRenewing() // only now: until work has ended, no other may begin
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

// try is one try to acquire or renew the lease. It takes at most limit, because a later
// answer would be useless.
func (e *Elector) try(ctx context.Context, limit time.Duration) bool {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	held, err := e.tryAcquireOrRenew(ctx)
	if held {
		// Others count from when they see the write, which is later than this. Our answer
		// may come long after that, so we can't count from there.
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
	missing := apierrors.IsNotFound(err) // by the API server's word: see isAbsent
	if err != nil && !missing {
		return false, err
	}
	if !missing {
		e.observe(lease.Spec)
	}
	if e.heldByOther() && !e.expired() {
		return false, nil // even if the lease was deleted: its holder still works
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

// observe notes when the lease has changed, by this process's clock: the renewTime comes
// from another one.
func (e *Elector) observe(spec coordinationv1.LeaseSpec) {
	if !equality.Semantic.DeepEqual(spec, e.observed) {
		e.observed, e.observedTime = spec, time.Now()
	}
}

func (e *Elector) heldByOther() bool {
	h := holder(e.observed)
	return h != "" && h != e.Identity
}

// expired returns true if the holder hasn't renewed for as long as its lease lasts.
func (e *Elector) expired() bool {
	duration := e.LeaseDuration
	if seconds := e.observed.LeaseDurationSeconds; seconds != nil {
		duration = time.Duration(*seconds) * time.Second
	}
	return time.Since(e.observedTime) >= duration
}

// release takes this process out of the lease, so the next one that tries gets it.
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
			continue // with our own renewal that was still on its way
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
