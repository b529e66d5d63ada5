package election

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	upstream "k8s.io/client-go/tools/leaderelection"
	upstreamlock "k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/loopwright/loopwright/manager/leaderelection"
	"github.com/loopwright/loopwright/manager/leaderelection/resourcelock"
)

// Times of an election. The zero value is what most programs use.
type Times struct{ Lease, Renew, Retry time.Duration }

func (t Times) orUsual() Times {
	if t == (Times{}) {
		return Times{15 * time.Second, 10 * time.Second, 2 * time.Second}
	}
	return t
}

// Replica is what runs: who it is, how it reaches the server, and its work.
type Replica struct {
	Identity        string
	Client          coordinationv1client.LeasesGetter
	Namespace, Name string
	Times           Times
	ReleaseOnCancel bool
	Work            func(context.Context)
}

// Peer is one of the two electors. Run blocks until the context ends or the lock is lost.
type Peer struct {
	Name string
	Run  func(context.Context, Replica)
}

// Ours is told to wait when the Lease is missing, which client-go cannot.
var Ours = Peer{"ours", func(ctx context.Context, r Replica) {
	t := r.Times.orUsual()
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Name}, Client: r.Client,
			LockConfig: resourcelock.ResourceLockConfig{Identity: r.Identity},
		},
		Name: r.Identity, LeaseDuration: t.Lease, RenewDeadline: t.Renew, RetryPeriod: t.Retry,
		ReleaseOnCancel: r.ReleaseOnCancel, WaitForMissing: true, StopTimeout: time.Hour,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: r.Work, OnStoppedLeading: func() {}},
	})
}}

// Theirs is client-go's.
var Theirs = Peer{"client-go", func(ctx context.Context, r Replica) {
	t := r.Times.orUsual()
	upstream.RunOrDie(ctx, upstream.LeaderElectionConfig{
		Lock: &upstreamlock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Name}, Client: r.Client,
			LockConfig: upstreamlock.ResourceLockConfig{Identity: r.Identity},
		},
		Name: r.Identity, LeaseDuration: t.Lease, RenewDeadline: t.Renew, RetryPeriod: t.Retry,
		ReleaseOnCancel: r.ReleaseOnCancel,
		Callbacks:       upstream.LeaderCallbacks{OnStartedLeading: r.Work, OnStoppedLeading: func() {}},
	})
}}
