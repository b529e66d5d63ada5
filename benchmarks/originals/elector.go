package originals

import (
	"context"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/loopwright/loopwright/internal/simulation/stories"
)

// elect does what kube-controller-manager does with client-go's elector: its times, its client for the
// lock, and an exit when the Lease is lost or the process is told to stop. It doesn't release the Lease
// then, because the feature gate for that is alpha, and off.
func elect(ctx context.Context, c stories.Candidate) {
	const lease, renew, retry = 15 * time.Second, 10 * time.Second, 2 * time.Second
	// resourcelock.NewFromKubeconfig sets the same timeout. But it replaces the UserAgent, by which the
	// simulation knows whose requests a mishap is for.
	connection := rest.CopyConfig(c.Connection)
	connection.Timeout = renew / 2
	client := kubernetes.NewForConfigOrDie(connection)
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock,
		stories.LeaseNamespace, stories.LeaseName, client.CoreV1(), client.CoordinationV1(),
		resourcelock.ResourceLockConfig{Identity: c.Lock.Identity()})
	if err != nil {
		panic(err)
	}
	// The work has ended with the process. Its goroutine needs up to 3 s to notice, and a bubble ends
	// only when all its goroutines have.
	defer time.Sleep(3 * time.Second)
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: c.ByItsClock(lock), LeaseDuration: lease, RenewDeadline: renew, RetryPeriod: retry,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: c.Lead, OnStoppedLeading: c.Exit,
		},
	})
}
