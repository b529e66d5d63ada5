package controller

import (
	"errors"
	"time"

	"github.com/go-logr/logr"

	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/manager/metrics"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/trace"
	"github.com/loopwright/loopwright/workqueue"
)

// Options of a controller. Only Reconciler is needed.
type Options struct {
	// Reconciler does the work.
	Reconciler reconcile.Reconciler
	// MaxConcurrentReconciles is the number of workers, and so of requests that are reconciled at
	// a time; 0 stands for 1.
	MaxConcurrentReconciles int

	// SkipNameValidation allows a name that another controller has. Their metrics are added up
	// then. A name is free again when the Start of its controller has returned; in
	// controller-runtime, it never is.
	SkipNameValidation *bool
	// NeedLeaderElection says whether a manager waits to become the leader before it starts the
	// controller; nil stands for true.
	NeedLeaderElection *bool
	// EnableWarmup lets the manager start the sources before it is the leader; nil stands for
	// false.
	EnableWarmup *bool
	// CacheSyncTimeout bounds how long the sources may take to become ready; 0 stands for 2 min.
	CacheSyncTimeout time.Duration

	// RecoverPanic says whether a reconciler's panic is an error, logged and retried, and not the
	// end of the process; nil stands for true. What was recovered goes to apimachinery's
	// PanicHandlers, too.
	RecoverPanic *bool
	// ReconciliationTimeout ends the context of a reconcile; 0 is no timeout. The context's cause
	// says that it was this.
	ReconciliationTimeout time.Duration

	// RateLimiter says how long a request waits after its reconcile has failed or has returned a
	// Result with Requeue. Package workqueue has some, and client-go's fit, too. Nil stands for 5 ms
	// after the first failure, doubled up to 1000 s; without the priority queue, for workqueue.DefaultLimiter.
	RateLimiter workqueue.TypedRateLimiter[reconcile.Request]
	// UsePriorityQueue says whether requests have priorities; nil stands for true. With false,
	// the queue is first-in first-out, as client-go's.
	UsePriorityQueue *bool
	// NewQueue makes another queue. It is called once, when the sources are started.
	NewQueue func(
		controllerName string, rateLimiter workqueue.TypedRateLimiter[reconcile.Request],
	) workqueue.TypedRateLimitingInterface[reconcile.Request]

	// Logger is what LogConstructor begins with; without it, log.Log.
	Logger logr.Logger
	// LogConstructor makes the logger that a reconciler finds in its context. It is called with
	// nil for messages that are about no request, and not before the controller starts. Nil stands
	// for Logger with the controller's name, and the request's namespace and name.
	LogConstructor func(request *reconcile.Request) logr.Logger

	// The options below are ours: controller-runtime does not have them.

	// MaxRetries is how often a request that fails is retried before the controller gives it up:
	// it is forgotten then, and starts over with the next event, or with a retry that was already
	// due to come. 0 retries forever. Only errors count, and not a Result with Requeue.
	MaxRetries int

	// GracePeriod is how long reconciles that are under way may go on when the controller stops,
	// before their contexts end. 0 ends them at once, as controller-runtime does; but it stands for
	// 10 s with DrainOnStop, or if the manager is Strict. With less than 0 they end at once in any
	// case. Start waits for them.
	GracePeriod time.Duration
	// DrainOnStop reconciles what waits in the queue before the controller stops, as far as the
	// grace period allows. Retries are dropped.
	DrainOnStop bool
	// WaitFallback is after how long a request that waits for another object is looked at
	// although nothing was heard of that object; 0 stands for 10 min. With less than 0, it never
	// is.
	WaitFallback time.Duration

	// Group says whose turn a request takes: among requests of one priority, the groups take turns.
	// Nil is first in, first out, as in controller-runtime; if the manager is Strict, it stands for
	// the request's namespace. Only the default queue asks.
	Group func(reconcile.Request) string
	// Recorder is the flight recorder; nil is off. Kind is the kind of the objects that the
	// requests name, such as "Deployment", for the recorder.
	Recorder *trace.Recorder
	Kind     string
}

// DefaultFromConfig takes from a manager's settings what the options do not say themselves.
func (o *Options) DefaultFromConfig(config config.Controller) {
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
	if config.Strict {
		orDefault(&o.GracePeriod, defaultGrace)
		if o.Group == nil {
			o.Group = func(r reconcile.Request) string { return r.Namespace }
		}
	}
}

// defaultGrace is the GracePeriod of those who want one and do not say how long.
const defaultGrace = 10 * time.Second

func orDefault[V comparable](field *V, value V) {
	var zero V
	if *field == zero {
		*field = value
	}
}

// complete puts a value into every field that may be left empty.
func (o *Options) complete(name string) error {
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
	if o.RateLimiter == nil && *o.UsePriorityQueue {
		o.RateLimiter = &workqueue.Exponential[reconcile.Request]{}
	} else if o.RateLimiter == nil {
		o.RateLimiter = workqueue.DefaultLimiter[reconcile.Request]()
	}
	if o.LogConstructor == nil {
		o.LogConstructor = logConstructor(o.Logger, name)
	}
	if o.NewQueue == nil {
		o.NewQueue = o.defaultQueue
	}
	return nil
}

func logConstructor(logger logr.Logger, name string) func(*reconcile.Request) logr.Logger {
	if logger.GetSink() == nil {
		logger = log.Log
	}
	logger = logger.WithValues("controller", name)
	return func(request *reconcile.Request) logr.Logger {
		if request == nil {
			return logger
		}
		return logger.WithValues("object", request.NamespacedName, "namespace", request.Namespace,
			"name", request.Name)
	}
}

func (o *Options) defaultQueue(
	name string, limiter workqueue.TypedRateLimiter[reconcile.Request],
) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	log := o.LogConstructor(nil)
	options := workqueue.Options[reconcile.Request]{
		Name: name, Metrics: metrics.WorkqueueMetricsProvider{}, Recorder: o.Recorder, Kind: o.Kind,
		Key:    func(r reconcile.Request) (namespace, name string) { return r.Namespace, r.Name },
		Report: func(err error) { log.Error(err, "Misused work queue") },
	}
	if !*o.UsePriorityQueue {
		return workqueue.NewRateLimiting(limiter, options)
	}
	return workqueue.NewPriority(workqueue.PriorityOptions[reconcile.Request]{Options: options,
		Limiter: limiter, Group: o.Group})
}
