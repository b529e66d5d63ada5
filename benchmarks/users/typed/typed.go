// Package typed has a controller whose requests are of a type of its own, and whose events are about
// one Go type, as the large operators have them.
package typed

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Request is an object in one of several clusters.
type Request struct {
	reconcile.Request
	Cluster string
}

type queue = workqueue.TypedRateLimitingInterface[Request]

// Reconciler is one for Requests.
type Reconciler struct{ client.Client }

var _ reconcile.TypedReconciler[Request] = (*Reconciler)(nil)

// Reconcile reads the object.
func (r *Reconciler) Reconcile(ctx context.Context, request Request) (ctrl.Result, error) {
	var deployment appsv1.Deployment
	return ctrl.Result{}, client.IgnoreNotFound(r.Get(ctx, request.NamespacedName, &deployment))
}

// requests implements the handler itself, for one Go type.
type requests struct{ cluster string }

var _ handler.TypedEventHandler[*corev1.Pod, Request] = requests{}

func (r requests) add(q queue, pod *corev1.Pod) {
	q.Add(Request{Request: reconcile.Request{NamespacedName: client.ObjectKeyFromObject(pod)}, Cluster: r.cluster})
}

func (r requests) Create(_ context.Context, e event.TypedCreateEvent[*corev1.Pod], q queue) {
	r.add(q, e.Object)
}

func (r requests) Update(_ context.Context, e event.TypedUpdateEvent[*corev1.Pod], q queue) {
	r.add(q, e.ObjectNew)
}

func (r requests) Delete(_ context.Context, e event.TypedDeleteEvent[*corev1.Pod], q queue) {
	r.add(q, e.Object)
}

func (r requests) Generic(_ context.Context, e event.TypedGenericEvent[*corev1.Pod], q queue) {
	r.add(q, e.Object)
}

// SetUp has sources of all sorts.
func SetUp(mgr ctrl.Manager, alarms <-chan event.TypedGenericEvent[string], limiter workqueue.TypedRateLimiter[Request]) error {
	isRunning := predicate.NewTypedPredicateFuncs(func(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodRunning })
	return builder.TypedControllerManagedBy[Request](mgr).
		Named("clusters").
		Watches(&appsv1.Deployment{}, handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []Request {
			return []Request{{Request: reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)}}}
		}), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(source.TypedKind(mgr.GetCache(), &corev1.Pod{}, requests{"here"},
			predicate.Or(isRunning, predicate.TypedLabelChangedPredicate[*corev1.Pod]{}))).
		WatchesRawSource(source.TypedChannel(alarms, handler.TypedFuncs[string, Request]{
			GenericFunc: func(_ context.Context, e event.TypedGenericEvent[string], q queue) {
				q.AddAfter(Request{Cluster: e.Object}, time.Second)
			},
		}, source.WithBufferSize[string, Request](10))).
		WithOptions(controller.TypedOptions[Request]{RateLimiter: limiter, MaxConcurrentReconciles: 2}).
		Complete(&Reconciler{mgr.GetClient()})
}

// ByHand makes the controller without the builder, and gives it a shared informer of client-go.
func ByHand(mgr ctrl.Manager, shared toolscache.SharedIndexInformer) (controller.TypedController[Request], error) {
	c, err := controller.NewTyped("by-hand", mgr, controller.TypedOptions[Request]{
		Reconciler: reconcile.TypedFunc[Request](func(context.Context, Request) (reconcile.Result, error) { return reconcile.Result{}, nil }),
		NewQueue: func(name string, limiter workqueue.TypedRateLimiter[Request]) queue {
			return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[Request]{Name: name})
		},
	})
	if err != nil {
		return nil, err
	}
	return c, c.Watch(&source.TypedInformer[client.Object, Request]{Informer: shared, Handler: handler.TypedFuncs[client.Object, Request]{}})
}

// Forget is a client-go handler, added to an informer of the cache.
func Forget(ctx context.Context, objects cache.Cache, forget func(key string)) error {
	informer, err := objects.GetInformer(ctx, &corev1.Pod{})
	if err != nil {
		return err
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{DeleteFunc: func(obj any) {
		if last, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
			forget(last.Key)
		}
	}})
	return err
}
