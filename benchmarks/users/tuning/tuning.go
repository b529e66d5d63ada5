// Package tuning sets every option that a controller has.
package tuning

import (
	"context"
	"errors"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

var (
	_ metrics.RegistererGatherer = metrics.Registry

	errBusy = errors.New("busy")
	never   = reconcile.TerminalError(errors.New("never"))
)

// Defaults are those of all controllers of a program.
func Defaults() config.Controller {
	return config.Controller{
		SkipNameValidation: new(true), MaxConcurrentReconciles: 2, CacheSyncTimeout: time.Minute,
		RecoverPanic: new(false), NeedLeaderElection: new(true), UsePriorityQueue: new(true), EnableWarmup: new(false),
		ReconciliationTimeout: time.Minute, Logger: logr.Discard(), GroupKindConcurrency: map[string]int{"Pod": 3},
	}
}

// New makes a controller that has nothing left to its defaults.
func New(r reconcile.Reconciler) (controller.Controller, error) {
	options := controller.Options{
		Reconciler: r,
		RateLimiter: workqueue.NewTypedMaxOfRateLimiter(
			workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Millisecond, time.Minute),
			&workqueue.TypedBucketRateLimiter[reconcile.Request]{Limiter: rate.NewLimiter(rate.Limit(10), 100)},
		),
		NewQueue: func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
			return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{Name: name})
		},
		LogConstructor: func(req *reconcile.Request) logr.Logger {
			if req == nil {
				return logr.Discard()
			}
			return logr.Discard().WithValues("namespace", req.Namespace, "name", req.Name)
		},
	}
	options.MaxConcurrentReconciles = 3
	options.RecoverPanic = new(true)
	options.SkipNameValidation = new(false)
	options.CacheSyncTimeout = time.Second
	options.ReconciliationTimeout = 10 * time.Second
	options.NeedLeaderElection = new(false)
	options.UsePriorityQueue = new(false)
	options.EnableWarmup = new(true)
	options.Logger = logr.Discard()
	options.DefaultFromConfig(Defaults())
	return controller.NewUnmanaged("tuned", options)
}

// WithPriorities makes the queue itself.
func WithPriorities(options controller.Options) controller.Options {
	options.NewQueue = func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
		return priorityqueue.New(name, func(o *priorityqueue.Opts[reconcile.Request]) {
			o.RateLimiter = limiter
			o.Log = logr.Discard()
		})
	}
	options.RateLimiter = workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]()
	return options
}

// slow is a rate limiter of its own kind.
type slow struct{ failures map[reconcile.Request]int }

var _ workqueue.TypedRateLimiter[reconcile.Request] = slow{}

func (s slow) When(item reconcile.Request) time.Duration {
	s.failures[item]++
	return time.Duration(s.failures[item]) * time.Minute
}
func (s slow) Forget(item reconcile.Request)          { delete(s.failures, item) }
func (s slow) NumRequeues(item reconcile.Request) int { return s.failures[item] }

// Timed wraps a reconciler.
func Timed(inner reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		if req == (reconcile.Request{NamespacedName: types.NamespacedName{Name: "none"}}) {
			return reconcile.Result{}, never
		}
		id := controller.ReconcileIDFromContext(ctx)
		result, err := inner.Reconcile(logr.NewContext(ctx, logr.Discard().WithValues("id", id)), req)
		if errors.Is(err, errBusy) && result.IsZero() {
			return reconcile.Result{RequeueAfter: time.Second}, nil
		}
		if errors.Is(err, reconcile.TerminalError(nil)) {
			return reconcile.Result{}, err
		}
		return result, err
	})
}
