package handler_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/trace"
	"github.com/loopwright/loopwright/workqueue"
)

// wakerQueue writes down who is woken, as the queue does that a controller hands out.
type wakerQueue struct {
	*workqueue.PriorityQueue[reconcile.Request]
	woken []reconcile.ObjectRef
}

func (q *wakerQueue) Wake(ref reconcile.ObjectRef) { q.woken = append(q.woken, ref) }

func TestEveryEventOfAnObjectWakesThoseWhoWaitForIt(t *testing.T) {
	ref := reconcile.ObjectRef{Group: "apps", Kind: "Pod", Namespace: "shop", Name: "web"}
	old := pod("web", "1")
	for _, how := range []struct {
		name string
		h    handler.EventHandler
	}{
		{"alone", handler.EnqueueRequestsThatWaitFor(schema.GroupKind{Group: "apps", Kind: "Pod"})},
		{"as a source calls it", handler.Explained(handler.EnqueueRequestsThatWaitFor(schema.GroupKind{Group: "apps", Kind: "Pod"}), trace.New(0), "controller")},
	} {
		q := &wakerQueue{PriorityQueue: newQueue()}
		ctx, now := context.Background(), pod("web", "2")
		how.h.Create(ctx, event.CreateEvent{Object: now}, q)
		require.Equal(t, []reconcile.ObjectRef{ref}, q.woken, how.name)
		how.h.Update(ctx, event.UpdateEvent{ObjectOld: old, ObjectNew: now}, q)
		require.Equal(t, []reconcile.ObjectRef{ref, ref}, q.woken, how.name)
		how.h.Delete(ctx, event.DeleteEvent{Object: now, DeleteStateUnknown: true}, q)
		require.Equal(t, []reconcile.ObjectRef{ref, ref, ref}, q.woken, how.name)
		how.h.Generic(ctx, event.GenericEvent{Object: now}, q)
		require.Equal(t, []reconcile.ObjectRef{ref, ref, ref, ref}, q.woken, how.name)
		require.Zero(t, q.Len(), "who waits is known to the controller alone")
	}
}

func TestNobodyIsWokenForAnEventWithoutAnObjectOrByAQueueThatKnowsNobody(t *testing.T) {
	h := handler.EnqueueRequestsThatWaitFor(schema.GroupKind{Kind: "Pod"})
	q := &wakerQueue{PriorityQueue: newQueue()}
	for _, nothing := range []client.Object{nil, (*noObject)(nil)} {
		h.Create(t.Context(), event.CreateEvent{Object: nothing}, q)
		h.Delete(t.Context(), event.DeleteEvent{Object: nothing}, q)
		h.Generic(t.Context(), event.GenericEvent{Object: nothing}, q)
		h.Update(t.Context(), event.UpdateEvent{ObjectNew: nothing}, q)
	}
	require.Empty(t, q.woken)
	plain := newQueue()
	h.Create(t.Context(), event.CreateEvent{Object: pod("web", "1")}, plain)
	require.Zero(t, plain.Len())
}

// noObject is a type whose nil pointer is an object that is none.
type noObject struct{ client.Object }

func TestTheNameOfTheHandlerSaysWhichKindItIsFor(t *testing.T) {
	h := handler.EnqueueRequestsThatWaitFor(schema.GroupKind{Group: "apps", Kind: "Deployment"})
	require.Equal(t, "EnqueueRequestsThatWaitFor(Deployment.apps)", h.(interface{ String() string }).String())
}
