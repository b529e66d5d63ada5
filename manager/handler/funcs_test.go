package handler_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller/priorityqueue"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

func createOf(obj client.Object) event.CreateEvent { return event.CreateEvent{Object: obj} }

// adding is a handler that adds in response to any event.
func adding(add func(queue)) handler.Funcs {
	return handler.Funcs{
		CreateFunc:  func(_ context.Context, _ event.CreateEvent, q queue) { add(q) },
		UpdateFunc:  func(_ context.Context, _ event.UpdateEvent, q queue) { add(q) },
		DeleteFunc:  func(_ context.Context, _ event.DeleteEvent, q queue) { add(q) },
		GenericFunc: func(_ context.Context, _ event.GenericEvent, q queue) { add(q) },
	}
}

// Users write q.Add, as they always have. The log line says why, nevertheless.
func TestWhatAFunctionAddsHasTheEventsPriorityAndReason(t *testing.T) {
	h := adding(func(q queue) { q.Add(req("shop", "web")) })
	for _, c := range []struct {
		event happening
		want  string
	}{
		{create(pod("a", "1"), false), "shop/web at 0: create of Pod shop/a, through a handler function"},
		{create(pod("a", "1"), true), "shop/web at -100: first listing of Pod shop/a, through a handler function"},
		{create(nil, true), "shop/web at 0: first listing, through a handler function"},
		{update(pod("a", "1"), pod("a", "2")), "shop/web at 0: update of Pod shop/a, through a handler function"},
		{update(pod("a", "1"), pod("a", "1")), "shop/web at -100: resync of Pod shop/a, through a handler function"},
		{update(nobody, pod("a", "1")), "shop/web at 0: update of Pod shop/a, through a handler function"},
		{update(pod("a", "1"), nil), "shop/web at 0: update of Pod shop/a, through a handler function"},
		{remove(pod("a", "1"), false), "shop/web at 0: delete of Pod shop/a, through a handler function"},
		{generic(pod("a", "1")), "shop/web at 0: generic event of Pod shop/a, through a handler function"},
	} {
		q := newQueue()
		c.event.tell(h, q)
		require.Equal(t, []string{c.want}, added(t, q), c.event.name)
	}
}

func TestAnEventWithoutAFunctionIsDropped(t *testing.T) {
	for _, e := range []happening{create(pod("a", "1"), true), update(pod("a", "1"), pod("a", "2")), remove(pod("a", "1"), false), generic(pod("a", "1"))} {
		q := newQueue()
		e.tell(handler.Funcs{}, q)
		require.Empty(t, added(t, q), e.name)
	}
}

// Whoever gives a priority or a reason knows better than we do.
func TestWhatAFunctionSaysItselfIsKept(t *testing.T) {
	urgent := 7
	for _, c := range []struct {
		opts priorityqueue.AddOpts
		want string
	}{
		{priorityqueue.AddOpts{}, "at -100: resync of Pod shop/a, through a handler function"},
		{priorityqueue.AddOpts{Priority: &urgent}, "at 7: resync of Pod shop/a, through a handler function"},
		{priorityqueue.AddOpts{Priority: new(0)}, "at 0: resync of Pod shop/a, through a handler function"},
		{priorityqueue.AddOpts{Reason: "the * of the hour"}, "at -100: the * of the hour"},
		{priorityqueue.AddOpts{Reason: "* is late", About: workqueue.Subject{Name: "n1"}}, "at -100: n1 is late"},
	} {
		q := newQueue()
		update(pod("a", "1"), pod("a", "1")).tell(adding(func(q queue) {
			q.(priorityqueue.PriorityQueue[reconcile.Request]).AddWithOpts(c.opts, req("shop", "web"))
		}), q)
		require.Equal(t, []string{"shop/web " + c.want}, added(t, q))
	}
}

func TestDelaysAndRateLimitsOfAFunctionCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		create(pod("a", "1"), true).tell(adding(func(q queue) {
			q.AddAfter(req("shop", "later"), time.Minute)
			q.AddRateLimited(req("shop", "limited"))
		}), q)
		require.Zero(t, q.Len())
		time.Sleep(5 * time.Millisecond)
		synctest.Wait()
		require.Equal(t, []string{"shop/limited at -100: first listing of Pod shop/a, through a handler function"}, added(t, q))
		require.Equal(t, 1, q.NumRequeues(req("shop", "limited")))
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"shop/later at -100: first listing of Pod shop/a, through a handler function"}, added(t, q))
		q.ShutDown()
	})
}

// A queue of the user's own may be asserted to its type, which only works without a wrapper.
func TestAQueueWithoutPrioritiesIsHandedOnAsItIs(t *testing.T) {
	plain := workqueue.NewTypedRateLimitingQueue[reconcile.Request](nil)
	create(pod("a", "1"), true).tell(adding(func(q queue) { require.Same(t, plain, q) }), plain)
}

// wakeable is a queue as a controller has it.
type wakeable struct {
	*workqueue.PriorityQueue[reconcile.Request]
	woken *[]reconcile.ObjectRef
}

func (w wakeable) Wake(ref reconcile.ObjectRef) { *w.woken = append(*w.woken, ref) }

// A handler of the user's own may wake requests that wait for an object.
func TestAWakerStaysAWaker(t *testing.T) {
	node, woken := reconcile.ObjectRef{Kind: "Node", Name: "n1"}, []reconcile.ObjectRef{}
	create(pod("a", "1"), true).tell(adding(func(q queue) { q.(reconcile.Waker).Wake(node) }), wakeable{newQueue(), &woken})
	require.Equal(t, []reconcile.ObjectRef{node}, woken)
	create(pod("a", "1"), true).tell(adding(func(q queue) { q.(reconcile.Waker).Wake(node) }), newQueue()) // wakes nothing
}

// own is a handler that a user has written.
type own struct{ handler.EventHandler }

func newOwn() own { return own{plainHandler{}} }

// plainHandler adds what it is told of.
type plainHandler struct{}

func (plainHandler) Create(_ context.Context, e event.CreateEvent, q queue) {
	q.Add(req("shop", e.Object.GetName()))
}

func (plainHandler) Update(_ context.Context, e event.UpdateEvent, q queue) {
	q.Add(req("shop", e.ObjectNew.GetName()))
}

func (plainHandler) Delete(_ context.Context, e event.DeleteEvent, q queue) {
	q.Add(req("shop", e.Object.GetName()))
}

func (plainHandler) Generic(_ context.Context, e event.GenericEvent, q queue) {
	q.Add(req("shop", e.Object.GetName()))
}

func TestAHandlerOfTheUsersOwnGetsALowPriorityWhenNothingHasChanged(t *testing.T) {
	for _, c := range []struct {
		event happening
		want  string
	}{
		{create(pod("a", "1"), true), "at -100: first listing of Pod shop/a, through a handler function"},
		{update(pod("a", "1"), pod("a", "1")), "at -100: resync of Pod shop/a, through a handler function"},
		{update(pod("a", "1"), pod("a", "2")), "at 0: update of Pod shop/a, through a handler function"},
		{remove(pod("a", "1"), false), "at 0: delete of Pod shop/a, through a handler function"},
		{generic(pod("a", "1")), "at 0: generic event of Pod shop/a, through a handler function"},
	} {
		// These are the ways in which programs for controller-runtime write it.
		var h handler.EventHandler = newOwn()
		for _, h := range []handler.EventHandler{
			handler.WithLowPriorityWhenUnchanged(newOwn()),
			handler.WithLowPriorityWhenUnchanged(h),
			handler.WithLowPriorityWhenUnchanged[client.Object, reconcile.Request](newOwn()),
			handler.WithLowPriorityWhenUnchanged[client.Object, reconcile.Request](h),
			handler.WithLowPriorityWhenUnchanged(handler.WithLowPriorityWhenUnchanged(newOwn())),
		} {
			q := newQueue()
			c.event.tell(h, q)
			require.Equal(t, []string{"shop/a " + c.want}, added(t, q), c.event.name)
		}
	}
}

// It does no harm to what has a priority anyway, and the reason that says more is kept.
func TestAHandlerInsideAnotherGivesTheReason(t *testing.T) {
	q := newQueue()
	create(pod("a", "1", web), true).tell(handler.WithLowPriorityWhenUnchanged(forOwner(replicaSet)), q)
	require.Equal(t, []string{"shop/web at -100: first listing of Pod shop/a, through its owner"}, added(t, q))
}
