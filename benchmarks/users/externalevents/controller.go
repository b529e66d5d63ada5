// Package externalevents reconciles when something outside the cluster says so.
package externalevents

import (
	"context"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Hook is an HTTP endpoint whose calls become events.
type Hook struct{ events chan event.GenericEvent }

func (h *Hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.events <- event.GenericEvent{Object: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: r.URL.Query().Get("namespace"), Name: r.URL.Query().Get("name")}}}
}

// Watch adds all sources.
func Watch(c controller.Controller, hook *Hook) error {
	sources := []source.Source{
		source.Channel(hook.events, &handler.EnqueueRequestForObject{}),
		source.Channel(hook.events, enqueue(), source.WithBufferSize[client.Object, reconcile.Request](10)),
		source.Channel[client.Object](hook.events, handler.WithLowPriorityWhenUnchanged(enqueue()),
			source.WithPredicates[client.Object, reconcile.Request](predicate.ResourceVersionChangedPredicate{}, onlyNamed("important"))),
		source.Func(poll),
		&ticker{every: time.Minute},
	}
	for _, s := range sources {
		if err := c.Watch(s); err != nil {
			return err
		}
	}
	return c.Watch(source.Func(func(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		q.AddRateLimited(reconcile.Request{NamespacedName: types.NamespacedName{Name: "once"}})
		return nil
	}))
}

func onlyNamed(name string) predicate.Predicate {
	return predicate.NewPredicateFuncs(func(object client.Object) bool { return object.GetName() == name })
}

func enqueue() handler.EventHandler {
	request := func(o client.Object) reconcile.Request {
		return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			if !e.IsInInitialList {
				q.Add(request(e.Object))
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			if e.ObjectOld.GetGeneration() == e.ObjectNew.GetGeneration() {
				return
			}
			if pq, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
				pq.AddWithOpts(priorityqueue.AddOpts{Priority: new(10), After: time.Second, RateLimited: false}, request(e.ObjectNew))
				return
			}
			q.AddAfter(request(e.ObjectNew), time.Second)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			if !e.DeleteStateUnknown {
				q.Forget(request(e.Object))
			}
		},
		GenericFunc: func(ctx context.Context, e event.GenericEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			if q.NumRequeues(request(e.Object)) < 3 && q.Len() < 1000 {
				q.Add(request(e.Object))
			}
		},
	}
}

func poll(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	go func() {
		<-ctx.Done()
		q.ShutDown()
	}()
	return nil
}

// ticker is a source of its own kind.
type ticker struct {
	every time.Duration
	ready chan struct{}
}

var _ source.SyncingSource = &ticker{}

func (t *ticker) Start(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	t.ready = make(chan struct{})
	go func() {
		defer close(t.ready)
		q.Add(reconcile.Request{})
	}()
	return nil
}

func (t *ticker) WaitForSync(ctx context.Context) error {
	select {
	case <-t.ready:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// counting is a handler of its own kind, around another.
type counting struct {
	handler.EventHandler
	deletes int
}

var _ handler.EventHandler = &counting{EventHandler: &handler.EnqueueRequestForObject{}}

func (c *counting) Delete(ctx context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	c.deletes++
	c.EventHandler.Delete(ctx, e, q)
}
