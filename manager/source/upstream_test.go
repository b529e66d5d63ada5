package source

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/predicate"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// Each of these is how users of controller-runtime write it. That they compile is the test.
var (
	_ = func(c cache.Cache, h handler.EventHandler, p predicate.Predicate, pod *corev1.Pod, events chan event.GenericEvent) []Source {
		return []Source{
			Kind[client.Object](c, pod, h),
			Kind[client.Object](c, pod, h, p, p),
			Kind(c, client.Object(pod), h, predicate.GenerationChangedPredicate{}),
			Kind(c, pod, &handler.TypedEnqueueRequestForObject[*corev1.Pod]{}),
			Kind[client.Object](c, pod, &handler.EnqueueRequestForObject{}, p),
			Kind[client.Object](c, pod, handler.Funcs{}),
			Channel(events, h),
			Channel[client.Object](events, &handler.EnqueueRequestForObject{}),
			Channel((<-chan event.GenericEvent)(events), h, WithBufferSize[client.Object, reconcile.Request](10)),
			Channel(events, h, WithPredicates[client.Object, reconcile.Request](p), ChannelOpt[client.Object, reconcile.Request](nil)),
			&Informer{Informer: nil, Handler: h, Predicates: []predicate.Predicate{p}},
			Func(func(context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request]) error { return nil }),
		}
	}

	_ Source                    = Func(nil)
	_ Source                    = &Informer{}
	_ SyncingSource             = &Informer{}
	_ controller.StoppingSource = &Informer{}
	_ controller.StoppingSource = &kindSource[client.Object, reconcile.Request]{}
	_ controller.StoppingSource = &channelSource[client.Object, reconcile.Request]{}
)

func TestAFunctionIsASource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := newQueue()
		f := Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(configMap("web"))})
			return context.Canceled
		})
		require.ErrorIs(t, f.Start(t.Context(), queue), context.Canceled)
		require.Equal(t, []string{"web"}, queue.waiting())
		require.Contains(t, f.String(), "func source: 0x")
	})
}
