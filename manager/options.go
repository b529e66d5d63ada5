package manager

import (
	"cmp"
	"context"
	"fmt"
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
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/leaderelection/resourcelock"
	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/manager/metrics/server"
	"github.com/loopwright/loopwright/manager/webhook"
	"github.com/loopwright/loopwright/trace"
)

// Options of a manager. All may be left empty; the defaults are those of controller-runtime.
type Options struct {
	// Strict chooses what is safer, wherever the options do not say otherwise. Without it, a program behaves as it
	// does with controller-runtime; the field is ours.
	//
	//   - Metrics are served to this machine alone, and not to everybody who reaches its port.
	//   - If the lease is missing, a leader waits for LeaseDuration before it works: somebody may have deleted the
	//     lease of a leader that has not noticed. So the first start takes 18 to 20 s.
	//   - Start fails if a cache has not listed within Controller.CacheSyncTimeout, and names the rule that
	//     is missing. Otherwise it does so only for the kinds that controllers watch, and waits forever for others
	//     that the cache was asked for before, by IndexField for instance.
	//   - Reconciles that are under way have 10 s to end when a controller stops: see
	//     controller.Options.GracePeriod. Otherwise their contexts end at once.
	//   - Requests of several namespaces take turns: see controller.Options.Group. Otherwise those of a
	//     priority are first in, first out.
	Strict bool

	// Scheme knows the Go types; by default it is client-go's, with the types of Kubernetes itself.
	Scheme *runtime.Scheme
	// MapperProvider makes what knows the resources of the kinds; the default asks the server.
	MapperProvider func(c *rest.Config, httpClient *http.Client) (meta.RESTMapper, error)
	// Cache has the options of the cache; NewCache makes it, and by default is cache.New.
	Cache    cache.Options
	NewCache cache.NewCacheFunc
	// Client has the options of the client; NewClient makes it, and by default is client.New.
	Client    client.Options
	NewClient client.NewClientFunc
	// Logger is what runnables find in their contexts; by default it is log.Log.
	Logger logr.Logger

	// LeaderElection runs what needs the lead in one replica at a time.
	LeaderElection bool
	// LeaderElectionResourceLock is the kind of the lock: "leases", which is also the default.
	LeaderElectionResourceLock string
	// LeaderElectionNamespace is where the lease is; by default it is the Pod's own.
	LeaderElectionNamespace string
	// LeaderElectionID is the name of the lease. It is needed, and is the same in all replicas.
	LeaderElectionID string
	// LeaderElectionConfig is for a lease in another cluster, or for limits of its own.
	LeaderElectionConfig *rest.Config
	// LeaderElectionReleaseOnCancel gives the lease up when the manager stops, so that another replica
	// need not wait until it has run out. That happens when all that needs the lead has ended, and
	// not at all if something has not ended in time.
	LeaderElectionReleaseOnCancel bool
	// LeaderElectionLabels are set on the lease by the replica that holds it.
	LeaderElectionLabels map[string]string
	// LeaderElectionResourceLockInterface is a lock of another kind. The fields above, except
	// LeaderElection and LeaderElectionReleaseOnCancel, do not matter then.
	LeaderElectionResourceLockInterface resourcelock.Interface
	// LeaseDuration is how long other replicas wait for a leader of which nothing is heard; nil is 15 s.
	LeaseDuration *time.Duration
	// RenewDeadline is how long a leader tries to renew before it gives up; nil is 10 s.
	RenewDeadline *time.Duration
	// RetryPeriod is the pause between two tries; nil is 2 s.
	RetryPeriod *time.Duration

	// Metrics has the options of the metrics server. By default it serves at server.DefaultBindAddress; the
	// address "0" serves none.
	Metrics server.Options
	// HealthProbeBindAddress is where the probes are served; "" and "0" serve none.
	HealthProbeBindAddress string
	// ReadinessEndpointName and LivenessEndpointName are the paths; by default /readyz and /healthz.
	ReadinessEndpointName string
	LivenessEndpointName  string
	// PprofBindAddress is where profiles and /debug/reconciles are served; "" and "0" serve none. Who
	// reaches it sees what the process does: bind it to the loopback.
	PprofBindAddress string

	// WebhookServer serves webhooks, if GetWebhookServer is called.
	WebhookServer webhook.Server
	// BaseContext has the values that runnables find in their contexts; nil is context.Background.
	BaseContext BaseContextFunc
	// GracefulShutdownTimeout is how long runnables may take to end; nil is 30 s. With 0 nobody waits
	// for them, with less than 0 as long as it takes.
	GracefulShutdownTimeout *time.Duration
	// Controller has settings for all controllers.
	Controller config.Controller
	// OverrideControllerOptions has the last word about the options of each controller that is made for
	// this manager. It is how a configfile.Config reaches them, and it is ours.
	OverrideControllerOptions func(name string, options *controller.Options)

	// Recorder is the flight recorder of the caches and controllers; nil is off. It is ours, and so
	// is what /debug/reconciles shows of it.
	Recorder *trace.Recorder
}

// complete puts a value into every field that may be left empty.
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
	if o.BaseContext == nil {
		o.BaseContext = context.Background
	}
	if o.WebhookServer == nil {
		o.WebhookServer = webhook.NewServer(webhook.Options{})
	}
	if o.Strict {
		o.beStrict()
	}
	orDefault(&o.GracefulShutdownTimeout, 30*time.Second)
	orDefault(&o.LeaseDuration, 15*time.Second)
	orDefault(&o.RenewDeadline, 10*time.Second)
	orDefault(&o.RetryPeriod, 2*time.Second)
	for _, path := range []struct {
		field    string
		value    *string
		standard string
	}{{"ReadinessEndpointName", &o.ReadinessEndpointName, "/readyz"}, {"LivenessEndpointName", &o.LivenessEndpointName, "/healthz"}} {
		if *path.value == "" {
			*path.value = path.standard
		}
		asked := *path.value
		*path.value = strings.TrimRight(asked, "/") // each check is at a path below, with a slash between
		if !strings.HasPrefix(*path.value, "/") || strings.ContainsAny(*path.value, "{} ") {
			return fmt.Errorf("%s is %q: it must be a path such as %s", path.field, asked, path.standard)
		}
	}
	if o.ReadinessEndpointName == o.LivenessEndpointName {
		return fmt.Errorf("%s cannot be both the ReadinessEndpointName and the LivenessEndpointName", o.LivenessEndpointName)
	}
	return nil
}

// beStrict is what Strict says of the options' other fields.
func (o *Options) beStrict() {
	o.Controller.Strict = true
	if o.Metrics.BindAddress == "" && strings.HasPrefix(server.DefaultBindAddress, ":") {
		o.Metrics.BindAddress = "127.0.0.1" + server.DefaultBindAddress
	}
}

// syncTimeout is how long caches may take to list at the start; 0 is forever.
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
