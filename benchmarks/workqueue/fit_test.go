package workqueue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	upstream "k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/loopwright/loopwright/workqueue"
)

// Our queues are client-go's interfaces, without knowing of them; and its rate
// limiters and ours can take each other's places.
var (
	_ upstream.TypedInterface[request]             = (*workqueue.Queue[request])(nil)
	_ upstream.TypedDelayingInterface[request]     = (*workqueue.DelayingQueue[request])(nil)
	_ upstream.TypedRateLimitingInterface[request] = (*workqueue.RateLimitingQueue[request])(nil)
	_ upstream.TypedRateLimitingInterface[request] = (*workqueue.PriorityQueue[request])(nil)
	_ upstream.TypedRateLimiter[request]           = (*workqueue.Exponential[request])(nil)
	_ workqueue.RateLimiter[request]               = (*upstream.TypedBucketRateLimiter[request])(nil)
	_ priorityqueue.PriorityQueue[request]         = adapter{}
)

// adapter is a PriorityQueue for controller-runtime. Its interface has a method
// that takes a struct type of its own, which no foreign type can have.
type adapter struct {
	*workqueue.PriorityQueue[request]
}

func (a adapter) AddWithOpts(o priorityqueue.AddOpts, items ...request) {
	a.PriorityQueue.AddWithOpts(workqueue.AddOpts{After: o.After, RateLimited: o.RateLimited, Priority: o.Priority}, items...)
}

// A controller of controller-runtime on our queues: whoever has one can try them
// by setting controller.Options.NewQueue.
func TestAControllerOfControllerRuntimeRunsOnOurQueues(t *testing.T) {
	for name, newQueue := range map[string]func(string, upstream.TypedRateLimiter[request]) upstream.TypedRateLimitingInterface[request]{
		"rate limiting": func(name string, limiter upstream.TypedRateLimiter[request]) upstream.TypedRateLimitingInterface[request] {
			return workqueue.NewRateLimiting(limiter, workqueue.Options[request]{Name: name})
		},
		"priority": func(name string, limiter upstream.TypedRateLimiter[request]) upstream.TypedRateLimitingInterface[request] {
			return adapter{workqueue.NewPriority(workqueue.PriorityOptions[request]{
				Options: workqueue.Options[request]{Name: name}, Limiter: limiter,
				Group: func(r request) string { return r.Namespace },
			})}
		},
	} {
		t.Run(name, func(t *testing.T) { runController(t, newQueue) })
	}
}

// runController sends 50 objects. Each is reconciled three times: the first fails,
// and the second asks to be called again.
func runController(t *testing.T, newQueue func(string, upstream.TypedRateLimiter[request]) upstream.TypedRateLimitingInterface[request]) {
	const objects = 50
	var mu sync.Mutex // guards both
	times, holders := map[request]int{}, map[request]int{}
	finished := make(chan struct{}, objects)
	reconciler := reconcile.Func(func(_ context.Context, r request) (reconcile.Result, error) {
		mu.Lock()
		times[r]++
		holders[r]++
		n, alone := times[r], holders[r] == 1
		mu.Unlock()
		defer func() {
			mu.Lock()
			defer mu.Unlock()
			holders[r]--
		}()
		switch {
		case !alone:
			t.Errorf("two workers hold %s", r)
		case n == 1:
			return reconcile.Result{}, errors.New("not yet")
		case n == 2:
			return reconcile.Result{RequeueAfter: 10 * time.Millisecond}, nil
		case n == 3:
			finished <- struct{}{}
		}
		return reconcile.Result{}, nil
	})
	c, err := controller.NewUnmanaged("ours", controller.Options{
		Reconciler: reconciler, NewQueue: newQueue, MaxConcurrentReconciles: 5, SkipNameValidation: ptr.To(true),
	})
	require.NoError(t, err)
	events := make(chan event.GenericEvent)
	require.NoError(t, c.Watch(source.Channel(events, &handler.EnqueueRequestForObject{})))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	stopped := make(chan error, 1)
	go func() { stopped <- c.Start(ctx) }()
	for i := range objects {
		events <- event.GenericEvent{Object: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint(i)}}}
	}
	for range objects {
		select {
		case <-finished:
		case <-ctx.Done():
			t.Fatal("not all objects were reconciled three times")
		}
	}
	cancel()
	require.NoError(t, <-stopped)
}
