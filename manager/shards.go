package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/internal/anyvalue"
	"github.com/loopwright/loopwright/manager/internal/useragent"
	"github.com/loopwright/loopwright/manager/leaderelection"
	"github.com/loopwright/loopwright/manager/sharding"
)

// Sharding makes all replicas of a program work, instead of one. Each has the objects of some
// namespaces, and its caches keep only these. When a replica comes or goes, the others give it
// namespaces, or take them; as few as will do.
//
// Guarantees: a request is reconciled by one replica at a time, through joins and leaves, when a
// replica is killed, and when one can't reach the API server. A replica that gives a namespace away
// has ended its reconciles there before that. One that can't renew its Lease stops by its own clock
// before another one takes what it had. And the new one's caches have all that the old one has
// written, before its first reconcile. Once a replica's Lease has run out by its own clock, no
// reconcile begins, and the manager's clients send no more writes (ErrLate), whatever a reconcile's
// context is.
//
// This holds for controllers that need leader election, which is the default. A reconcile's
// namespace is its request's; all requests without one go to the same replica. The other leader-only
// runnables need LeaderElection, too: without it, they would run in each replica, and Add refuses
// them.
//
// Caveats: the clocks of two replicas may differ, but must run at the same speed. A process that's
// paused in the middle of a reconcile can't end it in time. When it wakes, another replica may be
// reconciling that object: the old reconcile's context ends and its writes are refused, but what it
// does elsewhere, such as in a cloud's API, isn't. A reconcile that goes on after its context has
// ended isn't stopped: then the replica's Start returns an error, and the process must exit, as after
// a lost leader election. A write that was on its way when its sender was cut off or paused may still
// arrive; the API server refuses it as a conflict if it has a resourceVersion and the object has
// changed since. Reconciles read other namespaces with
// GetAPIReader, with Client.Cache.ReadElsewhere, or if the kind is kept whole
// (Cache.ByObject.KeepWhole); so do handlers that map objects to requests in other namespaces. Kinds
// without namespaces are kept whole. Lists of all namespaces have this replica's.
//
// The program needs permission to create, get, list, update and delete Leases in its namespace, and
// to list Namespaces, so that each replica gets about the same number of them: the difference is at
// most an eighth. Without that, each gets the same part of the numbers that their names' hashes may
// be, and namespaces like team-1, team-2, team-3 mostly go to one replica, because FNV-1a, which
// Kubernetes uses, puts them side by side.
type Sharding struct {
	// ID is the name of the Lease that says who has what, and the beginning of the replicas' own
	// Leases. It's required, the same in all replicas, and no other program's.
	ID string
	// Namespace is the namespace of the Leases. The default is LeaderElectionNamespace, and then the
	// Pod's own.
	Namespace string
	// GracePeriod is how long reconciles may go on in a namespace that's given away, before their
	// contexts end; 0 means 10 s.
	GracePeriod time.Duration
}

// shard makes the caches begin empty. The caller may use its Options again.
func (o *Options) shard() {
	o.Cache.Shard = sharding.Set{}
	o.Cache.ByObject = maps.Clone(o.Cache.ByObject)
}

// sharingRunnable is this replica as one that shares the work.
type sharingRunnable struct {
	id     string
	member *sharding.Member
	reader client.Reader
}

// makeMember makes this replica a member of those that share the work, if the options say so.
func (m *controllerManager) makeMember(config *rest.Config) error {
	o := m.options
	if o.Sharding == nil {
		return nil
	}
	keeps, ok := m.GetCache().(cache.Sharded)
	if !ok {
		return fmt.Errorf("Sharding: a cache made by NewCache, a %T, can't keep a part of the objects: "+
			"wrap one from cache.New, and pass on the methods of cache.Sharded", m.GetCache())
	}
	namespace := cmp.Or(o.Sharding.Namespace, o.LeaderElectionNamespace)
	if namespace == "" {
		var err error
		if namespace, err = leaderelection.PodNamespace(); err != nil {
			return fmt.Errorf("Sharding: Namespace is missing: %w", err)
		}
	}
	config = useragent.Of(config, "sharding")
	config.Timeout = max(*o.RenewDeadline/2, time.Second)
	leases, err := coordinationv1client.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("Sharding: making a client for Leases: %w", err)
	}
	s := &sharingRunnable{id: o.Sharding.ID, reader: m.GetAPIReader()}
	s.member, err = sharding.New(sharding.Config{
		Client: leases, Namespace: namespace, ID: o.Sharding.ID,
		LeaseDuration: *o.LeaseDuration, RenewDeadline: *o.RenewDeadline, RetryPeriod: *o.RetryPeriod,
		GracePeriod: o.Sharding.GracePeriod, StopTimeout: *o.GracefulShutdownTimeout,
		Namespaces: s.namespaces, Recorder: o.Recorder,
		Keep: func(ctx context.Context, ranges sharding.Set) error {
			keeps.Keep(ranges)
			return keeps.WaitForShard(ctx)
		},
	})
	if err != nil {
		return fmt.Errorf("Sharding: %w", err)
	}
	m.sharing = s
	m.late.of = s.member
	m.options.Controller.Shards = s.member.Gate()
	return m.groups.addTo(others, s)
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
func (m *controllerManager) checkShared(r Runnable) error {
	if m.sharing == nil || m.election != nil || r == nil {
		return nil
	}
	for _, place := range placesOf(r, m.groups.syncTimeout) {
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
