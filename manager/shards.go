package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/cluster"
	"github.com/loopwright/loopwright/manager/internal/anyvalue"
	"github.com/loopwright/loopwright/manager/internal/useragent"
	"github.com/loopwright/loopwright/manager/leaderelection"
	"github.com/loopwright/loopwright/manager/sharding"
)

// sharingRunnable is this replica as one that shares the work.
type sharingRunnable struct {
	id     string
	member *sharding.Member
	reader client.Reader
}

// newSharing returns this replica as one that shares the work; nil if the options don't say so.
func newSharing(
	config *rest.Config, o *Options, of cluster.Cluster, all *groups,
) (*sharingRunnable, error) {
	if o.Sharding == nil {
		return nil, nil
	}
	keeps, ok := of.GetCache().(cache.Sharded)
	if !ok {
		return nil, fmt.Errorf("Sharding: a cache made by NewCache, a %T, can't keep a part of the objects: "+
			"wrap one from cache.New, and pass on the methods of cache.Sharded", of.GetCache())
	}
	namespace := cmp.Or(o.Sharding.Namespace, o.LeaderElectionNamespace)
	if namespace == "" {
		var err error
		if namespace, err = leaderelection.PodNamespace(); err != nil {
			return nil, fmt.Errorf("Sharding: Namespace is missing: %w", err)
		}
	}
	config = useragent.Of(config, "sharding")
	config.Timeout = max(*o.RenewDeadline/2, time.Second)
	leases, err := coordinationv1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("Sharding: making a client for Leases: %w", err)
	}
	s := &sharingRunnable{id: o.Sharding.ID, reader: of.GetAPIReader()}
	s.member, err = sharding.New(sharding.Config{
		Client: leases, Namespace: namespace, ID: o.Sharding.ID,
		LeaseDuration: *o.LeaseDuration, RenewDeadline: *o.RenewDeadline, RetryPeriod: *o.RetryPeriod,
		GracePeriod: o.Sharding.GracePeriod, StopTimeout: *o.GracefulShutdownTimeout,
		Namespaces: s.namespaces, Recorder: o.Recorder,
		Keep: func(ctx context.Context, inTurn []sharding.Set) error {
			for _, ranges := range inTurn {
				keeps.Keep(ranges)
			}
			return keeps.WaitForShard(ctx)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("Sharding: %w", err)
	}
	return s, all.addTo(others, s)
}

// lateWrites refuses what a replica would write after its Lease has run out.
type lateWrites struct{ of *sharding.Member } // nil until there is one

// ErrLate is the error of a write that wasn't sent, because another replica may have taken over what
// this one had.
var ErrLate = errors.New("this replica's Lease has run out, so it doesn't write any more")

// refusing returns the config with which the manager's clients write. A client that you give it
// isn't made from the config, so it's replaced by one that refuses, too.
func (l *lateWrites) refusing(config *rest.Config, options *Options) *rest.Config {
	if options.Sharding == nil || config == nil {
		return config
	}
	wrap := func(next http.RoundTripper) http.RoundTripper { return lateTransport{l, next} }
	if given := options.Client.HTTPClient; given != nil {
		refuses := *given
		refuses.Transport = wrap(cmp.Or(given.Transport, http.DefaultTransport))
		options.Client.HTTPClient = &refuses
	}
	config = rest.CopyConfig(config)
	config.Wrap(wrap)
	return config
}

type lateTransport struct {
	*lateWrites
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper. It asks the clock, and not a context that a timer ends: in
// a process that was paused, a reconcile may go on before the timer's goroutine does.
func (t lateTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	isRead := request.Method == http.MethodGet || request.Method == http.MethodHead
	if !isRead && t.of != nil && t.of.IsLate() {
		if request.Body != nil {
			_ = request.Body.Close() // a transport has to
		}
		return nil, ErrLate
	}
	return t.next.RoundTrip(request)
}

// WrappedRoundTripper is how client-go finds the transport below.
func (t lateTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

// checkShared refuses a runnable that would run in all replicas, and shouldn't.
func checkShared(r Runnable) error {
	if r == nil {
		return nil // the groups refuse it
	}
	for _, place := range placesOf(r, 0) {
		if place.group == elected {
			return fmt.Errorf("%s may run in one replica at a time, and Sharding makes all of them work: "+
				"set LeaderElection, too, or give it a method NeedLeaderElection that returns false",
				anyvalue.Name(r, ""))
		}
	}
	return nil
}

// Start implements Runnable.
func (s *sharingRunnable) Start(ctx context.Context) error { return s.member.Run(ctx) }

// namespaces lists the namespaces, or none if this program isn't allowed to.
func (s *sharingRunnable) namespaces(ctx context.Context) (names []string, err error) {
	list := &metav1.PartialObjectMetadataList{}
	list.APIVersion, list.Kind = "v1", "NamespaceList"
	if err := s.reader.List(ctx, list); err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names, nil
}

// String is the runnable's name in messages.
func (s *sharingRunnable) String() string { return "sharding " + s.id }
