package controller

import (
	"errors"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"

	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/internal/requestname"
	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/manager/metrics"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/trace"
	"github.com/loopwright/loopwright/workqueue"
)

// Options are TypedOptions for requests that are the names of objects.
type Options = TypedOptions[reconcile.Request]

// TypedOptions of a controller. Only Reconciler is required.
type TypedOptions[request comparable] struct {
	// Reconciler does the work.
	Reconciler reconcile.TypedReconciler[request]
	// MaxConcurrentReconciles is the number of workers, and so of requests that are reconciled at
	// the same time; 0 means 1.
	MaxConcurrentReconciles int

	// SkipNameValidation allows a name that another controller has. Their metrics are then added
	// up. A name is free again when the Start of its controller has returned; in
	// controller-runtime, it never is.
	SkipNameValidation *bool
	// NeedLeaderElection says whether a manager starts the controller only once it's the leader;
	// nil means true.
	NeedLeaderElection *bool
	// EnableWarmup lets the manager start the sources before it's the leader; nil means false.
	EnableWarmup *bool
	// CacheSyncTimeout is how long the sources may take to become ready; 0 means 2 min.
	CacheSyncTimeout time.Duration

	// RecoverPanic turns a reconciler's panic into an error that is logged and retried, instead of
	// crashing the process; nil means true. Recovered panics also go to apimachinery's
	// PanicHandlers.
	RecoverPanic *bool
	// ReconciliationTimeout ends the context of a reconcile; 0 means no timeout. The context's
	// cause says that it was this timeout.
	ReconciliationTimeout time.Duration

	// RateLimiter says how long a request waits after its reconcile has failed, or has returned a
	// Result with Requeue. Package workqueue has some, and client-go's work, too. Nil means 5 ms
	// after the first failure, doubled up to 1000 s; without the priority queue, it means
	// workqueue.DefaultLimiter.
	RateLimiter workqueue.TypedRateLimiter[request]
	// UsePriorityQueue says whether requests have priorities; nil means true. With false, the queue
	// is first in, first out, like client-go's.
	UsePriorityQueue *bool
	// NewQueue makes a different queue. It's called once, when the sources are started.
	NewQueue func(
		controllerName string, rateLimiter workqueue.TypedRateLimiter[request],
	) workqueue.TypedRateLimitingInterface[request]

	// Logger is the logger that LogConstructor starts from. The default is log.Log.
	Logger logr.Logger
	// LogConstructor makes the logger that a reconciler finds in its context. It isn't called until
	// the controller starts, and gets nil for messages that aren't about a request. Nil means
	// Logger with the controller's name and the request's namespace and name.
	LogConstructor func(request *request) logr.Logger

	// The options below are ours: controller-runtime doesn't have them.

	// MaxRetries is how often a failing request is retried until the controller gives up on it. The
	// controller then forgets its failures; it starts over with the next event, or with a retry
	// that was already scheduled. 0 retries forever. Only errors count, not a Result with Requeue.
	MaxRetries int

	// GracePeriod is how long reconciles in flight may go on when the controller stops, before
	// their contexts end. With 0 they end at once, as in controller-runtime; but with DrainOnStop,
	// or if the manager is Strict, 0 means 10 s. With a negative value they always end at once.
	// Start waits for them.
	GracePeriod time.Duration
	// DrainOnStop reconciles the requests in the queue before the controller stops, as far as the
	// grace period allows. Retries are dropped.
	DrainOnStop bool
	// WaitFallback is how long a request waits for another object until it's reconciled anyway,
	// without news of that object; 0 means 10 min. With a negative value, it waits forever.
	WaitFallback time.Duration

	// Group returns a request's group: among requests of the same priority, the groups take turns.
	// Nil means first in, first out, as in controller-runtime; if the manager is Strict, it means
	// the request's namespace. Only the default queue calls it.
	Group func(request) string
	// Recorder is the flight recorder; nil is off. Kind is what it calls the kind of the objects
	// that the requests name, such as "Deployment".
	Recorder *trace.Recorder
	Kind     string
	// Shards say which requests the controller may work on now; nil means all. A request whose
	// namespace belongs to another replica is dropped. When the namespace comes, the sources report
	// its objects again. Requests without a namespace have one place, too: that of the empty name.
	// A controller that needs no leader election works on all requests of its cache's objects.
	Shards config.Shards
}

// DefaultFromConfig takes the options that aren't set from a manager's settings.
func (o *TypedOptions[request]) DefaultFromConfig(config config.Controller) {
	if o.Logger.GetSink() == nil {
		o.Logger = config.Logger
	}
	if o.MaxConcurrentReconciles <= 0 {
		o.MaxConcurrentReconciles = config.MaxConcurrentReconciles
	}
	orDefault(&o.CacheSyncTimeout, config.CacheSyncTimeout)
	orDefault(&o.ReconciliationTimeout, config.ReconciliationTimeout)
	orDefault(&o.SkipNameValidation, config.SkipNameValidation)
	orDefault(&o.UsePriorityQueue, config.UsePriorityQueue)
	orDefault(&o.RecoverPanic, config.RecoverPanic)
	orDefault(&o.NeedLeaderElection, config.NeedLeaderElection)
	orDefault(&o.EnableWarmup, config.EnableWarmup)
	orDefault(&o.Recorder, config.Recorder)
	orDefault(&o.Shards, config.Shards)
	if config.Strict {
		orDefault(&o.GracePeriod, defaultGrace)
		if o.Group == nil {
			o.Group = func(r request) string {
				namespace, _ := requestname.Of(&r)
				return namespace
			}
		}
	}
}

// defaultGrace is the GracePeriod for options that need one and don't set it.
const defaultGrace = 10 * time.Second

func orDefault[V comparable](field *V, value V) {
	var zero V
	if *field == zero {
		*field = value
	}
}

// complete fills in every field that may be left empty.
func (o *TypedOptions[request]) complete(name string) error {
	if o.Reconciler == nil {
		return errors.New("it needs a Reconciler")
	}
	if o.MaxConcurrentReconciles <= 0 {
		o.MaxConcurrentReconciles = 1
	}
	orDefault(&o.CacheSyncTimeout, 2*time.Minute)
	if o.DrainOnStop {
		orDefault(&o.GracePeriod, defaultGrace)
	}
	orDefault(&o.WaitFallback, 10*time.Minute)
	orDefault(&o.SkipNameValidation, new(false))
	orDefault(&o.UsePriorityQueue, new(true))
	orDefault(&o.RecoverPanic, new(true))
	orDefault(&o.NeedLeaderElection, new(true))
	orDefault(&o.EnableWarmup, new(false))
	if !*o.NeedLeaderElection {
		o.Shards = nil
	}
	if o.RateLimiter == nil && *o.UsePriorityQueue {
		o.RateLimiter = &workqueue.Exponential[request]{}
	} else if o.RateLimiter == nil {
		o.RateLimiter = workqueue.DefaultLimiter[request]()
	}
	if o.LogConstructor == nil {
		o.LogConstructor = logConstructor[request](o.Logger, name)
	}
	if o.NewQueue == nil {
		o.NewQueue = o.defaultQueue
	}
	return nil
}

func logConstructor[request comparable](
	logger logr.Logger, name string,
) func(*request) logr.Logger {
	if logger.GetSink() == nil {
		logger = log.Log
	}
	logger = logger.WithValues("controller", name)
	return func(req *request) logr.Logger {
		if req == nil {
			return logger
		}
		namespace, name := requestname.Of(req)
		if named, ok := any(req).(*reconcile.Request); ok {
			return logger.WithValues("object", named.NamespacedName, "namespace", namespace,
				"name", name)
		}
		return logger.WithValues("namespace", namespace, "name", name)
	}
}

// Override applies the settings that a program's user has chosen. Each call makes a new rate
// limiter, for one controller.
func (o *TypedOptions[request]) Override(with config.Override) {
	override(&o.MaxConcurrentReconciles, with.Workers)
	override(&o.MaxRetries, with.MaxRetries)
	override(&o.CacheSyncTimeout, with.CacheSyncTimeout)
	override(&o.ReconciliationTimeout, with.ReconciliationTimeout)
	override(&o.GracePeriod, with.GracePeriod)
	override(&o.WaitFallback, with.WaitFallback)
	override(&o.DrainOnStop, with.DrainOnStop)
	if with.RetryDelay == nil && with.LongestRetryDelay == nil && with.RetriesPerSecond == nil {
		return
	}
	delays := &workqueue.Exponential[request]{}
	override(&delays.Base, with.RetryDelay)
	override(&delays.Limit, with.LongestRetryDelay)
	o.RateLimiter = delays
	if with.RetriesPerSecond != nil {
		burst := 1
		override(&burst, with.RetryBurst)
		o.RateLimiter = workqueue.MaxOf[request]{delays, workqueue.Bucket[request]{
			Limiter: rate.NewLimiter(rate.Limit(*with.RetriesPerSecond), burst),
		}}
	}
}

func override[V any](field *V, value *V) {
	if value != nil {
		*field = *value
	}
}

func (o *TypedOptions[request]) defaultQueue(
	name string, limiter workqueue.TypedRateLimiter[request],
) workqueue.TypedRateLimitingInterface[request] {
	log := o.LogConstructor(nil)
	options := workqueue.Options[request]{
		Name: name, Metrics: metrics.WorkqueueMetricsProvider{}, Recorder: o.Recorder, Kind: o.Kind,
		Key:    func(r request) (namespace, name string) { return requestname.Of(&r) },
		Report: func(err error) { log.Error(err, "Misused work queue") },
	}
	if !*o.UsePriorityQueue {
		return workqueue.NewRateLimiting(limiter, options)
	}
	return workqueue.NewPriority(workqueue.PriorityOptions[request]{Options: options,
		Limiter: limiter, Group: o.Group})
}
