package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/leaderelection"
	"github.com/loopwright/loopwright/manager/leaderelection/resourcelock"
	"github.com/loopwright/loopwright/manager/recorder"
)

// errStillElected reports that the lease was lost while work was still running.
var errStillElected = leaderelection.ErrStillWorking

// tolerated is how long work may go on after its lease has expired until the liveness probe fails
// and the kubelet restarts the container. The elector stops the work long before that, unless the
// process hangs.
const tolerated = 20 * time.Second

// newElection returns the elector's runnable; nil if the options don't enable leader election. The
// elector has its own event writer, because the lease may be in another cluster and the program's
// scheme may not know leases.
func newElection(config *rest.Config, o *Options, all *groups) (*electionRunnable, error) {
	if !o.LeaderElection {
		return nil, nil
	}
	lock := o.LeaderElectionResourceLockInterface
	if lock == nil {
		var err error
		if lock, err = newLock(cmp.Or(o.LeaderElectionConfig, config), o, all); err != nil {
			return nil, err
		}
	}
	e := &electionRunnable{groups: all, name: cmp.Or(o.LeaderElectionID, lock.Describe())}
	e.config = leaderelection.LeaderElectionConfig{
		Lock: lock, Name: e.name,
		LeaseDuration: *o.LeaseDuration, RenewDeadline: *o.RenewDeadline,
		RetryPeriod:     *o.RetryPeriod,
		ReleaseOnCancel: o.LeaderElectionReleaseOnCancel, WaitForMissing: o.Strict,
		Recorder: o.Recorder, WatchDog: leaderelection.NewLeaderHealthzAdaptor(tolerated),
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: e.work, OnStoppedLeading: func() {},
		},
	}
	return e, nil
}

func newLock(config *rest.Config, o *Options, all *groups) (resourcelock.Interface, error) {
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("making the HTTP client of the leader election: %w", err)
	}
	events, err := recorder.New(config, httpClient, scheme.Scheme,
		recorder.Options{Logger: o.Logger.WithName("events")})
	if err != nil {
		return nil, fmt.Errorf("making the event writer of the leader election: %w", err)
	}
	lock, err := leaderelection.NewResourceLock(config, events, leaderelection.Options{
		LeaderElection: true, LeaderElectionResourceLock: o.LeaderElectionResourceLock,
		LeaderElectionNamespace: o.LeaderElectionNamespace, LeaderElectionID: o.LeaderElectionID,
		RenewDeadline: *o.RenewDeadline, LeaderLabels: o.LeaderElectionLabels,
	})
	return lock, errors.Join(err, all.addTo(others, RunnableFunc(events.Run)))
}

// electionRunnable competes for the lease, and starts the leader-only runnables once it holds it.
//
// Its group starts before the leader-only group and therefore stops after it: the lease is renewed
// until the last reconciler has returned, and released then.
type electionRunnable struct {
	name    string
	config  leaderelection.LeaderElectionConfig
	elector *leaderelection.LeaderElector // made by prepare
	groups  *groups
	// lead starts the leader-only runnables, and returns when they are ready. It's set before
	// Start is called.
	lead func(leading context.Context)
}

// prepare checks the configuration. Manager.Start calls it first.
func (e *electionRunnable) prepare() (err error) {
	e.elector, err = leaderelection.NewLeaderElector(e.config)
	return err
}

// Start implements Runnable. It returns an error if the lease is lost. It strips the elector's name
// from the error, because the group adds one.
func (e *electionRunnable) Start(ctx context.Context) error {
	err := e.elector.Elect(ctx)
	if named := errors.Unwrap(err); named != nil {
		return named
	}
	return err
}

// work runs while this replica leads. It returns when the last leader-only runnable has ended.
func (e *electionRunnable) work(leading context.Context) {
	e.lead(leading)
	<-leading.Done()
	// If the manager is stopping, they have all ended already. If the lease was lost, they get no
	// grace period.
	e.groups.stopElected(fmt.Errorf("%w: %w", controller.ErrStopNow, context.Cause(leading)))
}

// String is the runnable's name in messages.
func (e *electionRunnable) String() string { return "leader election " + e.name }

// withFenceOf copies the leader's fencing token to another context. The context that an elector
// passes to its work always has one.
func withFenceOf(leading, base context.Context) context.Context {
	fence, _ := leaderelection.FenceFrom(leading)
	return leaderelection.WithFence(base, fence)
}
