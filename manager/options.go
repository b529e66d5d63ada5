package manager

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/cluster"
	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/leaderelection/resourcelock"
	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/manager/metrics/server"
	"github.com/loopwright/loopwright/manager/sharding"
	"github.com/loopwright/loopwright/manager/webhook"
	"github.com/loopwright/loopwright/trace"
)

// Options of a manager. You can leave every field empty: the defaults are controller-runtime's.
type Options struct {
	// Strict chooses the safer behaviour wherever another field doesn't say otherwise. Without it,
	// a program behaves as it does with controller-runtime, which has no such field. With it:
	//
	//   - The metrics server listens on localhost only. Otherwise it listens on every interface.
	//   - If the lease is missing, the replica that creates it waits for LeaseDuration before it
	//     starts work, because somebody may have deleted the lease while its holder still works.
	//     So the first start takes 18 to 20 s.
	//   - Start fails if a cache hasn't listed within Controller.CacheSyncTimeout, and the error
	//     names the missing RBAC rule. Otherwise this timeout holds only for the kinds that
	//     controllers watch. For a kind that was requested before the start in another way, with
	//     IndexField for instance, Start waits forever.
	//   - Reconciles in flight get 10 s to finish when a controller stops: see
	//     controller.Options.GracePeriod. Otherwise their contexts end at once.
	//   - Namespaces take turns among requests of the same priority: see controller.Options.Group.
	//     Otherwise such requests are first in, first out.
	Strict bool

	// Scheme knows the Go types. The default is client-go's, which has the types of Kubernetes
	// itself.
	Scheme *runtime.Scheme
	// MapperProvider makes the mapper from kinds to resources. The default asks the API server.
	MapperProvider func(c *rest.Config, httpClient *http.Client) (meta.RESTMapper, error)
	// Cache has the options of the cache. NewCache makes it; the default is cache.New.
	Cache    cache.Options
	NewCache cache.NewCacheFunc
	// Client has the options of the client. NewClient makes it; the default is client.New.
	Client    client.Options
	NewClient client.NewClientFunc
	// Logger is the logger that runnables find in their contexts. The default is log.Log.
	Logger logr.Logger

	// LeaderElection runs the leader-only runnables in one replica at a time.
	LeaderElection bool
	// LeaderElectionResourceLock is the kind of the lock. It's "leases", which is also the default.
	LeaderElectionResourceLock string
	// LeaderElectionNamespace is the namespace of the lease. The default is the Pod's own.
	LeaderElectionNamespace string
	// LeaderElectionID is the name of the lease. It's required, and must be the same in all
	// replicas.
	LeaderElectionID string
	// LeaderElectionConfig is for a lease in another cluster, or with its own client limits.
	LeaderElectionConfig *rest.Config
	// LeaderElectionReleaseOnCancel releases the lease when the manager stops, so another replica
	// doesn't have to wait until it expires. The lease is released when all leader-only runnables
	// have ended. If one of them doesn't end in time, it isn't released at all.
	LeaderElectionReleaseOnCancel bool
	// LeaderElectionLabels are the labels that the holder sets on the lease.
	LeaderElectionLabels map[string]string
	// LeaderElectionResourceLockInterface is a lock of another kind. The manager then ignores the
	// fields above, except LeaderElection and LeaderElectionReleaseOnCancel.
	LeaderElectionResourceLockInterface resourcelock.Interface
	// LeaseDuration is how long other replicas wait for a leader that doesn't renew; nil means 15
	// s.
	LeaseDuration *time.Duration
	// RenewDeadline is how long a leader tries to renew before it gives up; nil means 10 s.
	RenewDeadline *time.Duration
	// RetryPeriod is the pause between two attempts; nil means 2 s.
	RetryPeriod *time.Duration

	// Sharding makes the replicas share the work; nil is off. controller-runtime has no such field.
	Sharding *Sharding

	// Metrics has the options of the metrics server. It listens on server.DefaultBindAddress by
	// default; the address "0" switches it off.
	Metrics server.Options
	// HealthProbeBindAddress is the address of the probes; "" and "0" switch them off.
	HealthProbeBindAddress string
	// ReadinessEndpointName and LivenessEndpointName are the paths of the probes. The defaults are
	// /readyz and /healthz.
	ReadinessEndpointName string
	LivenessEndpointName  string
	// PprofBindAddress is the address of the profiles and of X-ray, at /debug/xray/; "" and "0"
	// switch them off. Bind it to localhost, because any client that can connect sees what the
	// process does.
	PprofBindAddress string

	// WebhookServer serves the webhooks. The manager runs it if GetWebhookServer is called.
	WebhookServer webhook.Server
	// BaseContext returns a context with the values that runnables find in theirs; nil means
	// context.Background.
	BaseContext BaseContextFunc
	// GracefulShutdownTimeout is how long runnables may take to end; nil means 30 s. With 0, Start
	// doesn't wait for them. With a negative value, it waits as long as it takes.
	GracefulShutdownTimeout *time.Duration
	// Controller has the settings that all controllers share.
	Controller config.Controller

	// Recorder is the flight recorder of the caches, the controllers and the client; nil is off.
	// X-ray shows its records in a browser. controller-runtime has no such field.
	Recorder *trace.Recorder
}

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

// complete fills in the defaults.
func (o *Options) complete() error {
	if o.Logger.GetSink() == nil {
		o.Logger = log.Log
	}
	if o.Controller.Logger.GetSink() == nil {
		o.Controller.Logger = o.Logger
	}
	if o.Controller.Recorder == nil {
		o.Controller.Recorder = o.Recorder
	}
	if o.Cache.Recorder == nil {
		o.Cache.Recorder = o.Recorder
	}
	if o.Client.Recorder == nil {
		o.Client.Recorder = o.Recorder
	}
	if o.BaseContext == nil {
		o.BaseContext = context.Background
	}
	if o.WebhookServer == nil {
		o.WebhookServer = webhook.NewServer(webhook.Options{})
	}
	if o.Strict {
		o.beStrict()
	}
	if o.Sharding != nil {
		o.shard()
	}
	orDefault(&o.GracefulShutdownTimeout, 30*time.Second)
	orDefault(&o.LeaseDuration, 15*time.Second)
	orDefault(&o.RenewDeadline, 10*time.Second)
	orDefault(&o.RetryPeriod, 2*time.Second)
	for _, path := range []struct {
		field    string
		value    *string
		standard string
	}{
		{"ReadinessEndpointName", &o.ReadinessEndpointName, "/readyz"},
		{"LivenessEndpointName", &o.LivenessEndpointName, "/healthz"},
	} {
		if *path.value == "" {
			*path.value = path.standard
		}
		asked := *path.value
		// each check has a path below this one, with a slash between
		*path.value = strings.TrimRight(asked, "/")
		if !strings.HasPrefix(*path.value, "/") || strings.ContainsAny(*path.value, "{} ") {
			return fmt.Errorf("%s is %q: it must be a path such as %s",
				path.field, asked, path.standard)
		}
	}
	if o.ReadinessEndpointName == o.LivenessEndpointName {
		return fmt.Errorf("%s cannot be both the ReadinessEndpointName "+
			"and the LivenessEndpointName", o.LivenessEndpointName)
	}
	return nil
}

// beStrict sets the fields that Strict changes.
func (o *Options) beStrict() {
	o.Controller.Strict = true
	if o.Metrics.BindAddress == "" && strings.HasPrefix(server.DefaultBindAddress, ":") {
		o.Metrics.BindAddress = "127.0.0.1" + server.DefaultBindAddress
	}
}

// shard makes the caches begin empty. The caller may use its Options again.
func (o *Options) shard() {
	o.Cache.Shard = sharding.Set{}
	o.Cache.ByObject = maps.Clone(o.Cache.ByObject)
}

// syncTimeout is how long caches may take to list at the start; 0 is without limit.
func (o *Options) syncTimeout() time.Duration {
	if !o.Strict {
		return 0
	}
	return cmp.Or(o.Controller.CacheSyncTimeout, 2*time.Minute)
}

func orDefault[V any](field **V, value V) {
	if *field == nil {
		*field = &value
	}
}

// ofCluster implements cluster.Option.
func (o *Options) ofCluster(c *cluster.Options) {
	c.Scheme, c.MapperProvider, c.Logger = o.Scheme, o.MapperProvider, o.Logger
	c.Cache, c.NewCache, c.Client, c.NewClient = o.Cache, o.NewCache, o.Client, o.NewClient
}
