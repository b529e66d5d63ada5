package handler_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/trace"
	"github.com/loopwright/loopwright/workqueue"
)

// Without the request, the timeline of a ReplicaSet would not show that a Pod was the reason.
func TestTheRecorderLearnsWhichRequestsAnEventLedTo(t *testing.T) {
	for _, c := range []struct {
		h        handler.EventHandler
		name, to string
		kind     string
	}{
		{&handler.EnqueueRequestForObject{}, "EnqueueRequestForObject", "a", ""},
		{forOwner(replicaSet), "EnqueueRequestForOwner(ReplicaSet.apps)", "web", "ReplicaSet"},
		{handler.EnqueueRequestsFromMapFunc(byName), "EnqueueRequestsFromMapFunc(handler_test.byName)", "a", ""},
		{adding(func(q queue) { q.Add(req("shop", "web")) }), "Funcs", "web", ""},
		{newOwn(), "handler_test.own", "a", ""},
		{new(own{plainHandler{}}), "handler_test.own", "a", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec, q := trace.New(8), newQueue()
			h := handler.Explained(c.h, rec, "kind source")
			for i, e := range []struct {
				event happening
				op    string
			}{
				{create(pod("a", "1", web), true), "first listing"},
				{update(pod("a", "1", web), pod("a", "2", web)), "update"},
				{remove(pod("a", "1", web), false), "delete"},
				{generic(pod("a", "1", web)), "generic event"},
			} {
				e.event.tell(h, q)
				events := rec.Events()
				require.Len(t, events, i+1)
				got := events[i]
				require.Equal(t, trace.Event{Seq: got.Seq, At: got.At, Kind: trace.Handler, Layer: "kind source", Op: e.op, Reason: c.name,
					Object: "Pod", Namespace: "shop", Name: "a", Version: got.Version, ToObject: c.kind, ToNamespace: got.ToNamespace, ToName: c.to}, got)
			}
			require.Equal(t, "2", rec.Events()[1].Version)
		})
	}
}

// A story in which the request is in the queue before the handler was called would be read wrongly.
func TestTheHandlerComesBeforeTheQueueInTheStory(t *testing.T) {
	rec := trace.New(8)
	q := workqueue.NewPriority(workqueue.PriorityOptions[reconcile.Request]{Options: workqueue.Options[reconcile.Request]{Recorder: rec}})
	create(pod("a", "1"), false).tell(handler.Explained(&handler.EnqueueRequestForObject{}, rec, "s"), q)
	var story []trace.Kind
	for _, e := range rec.Events() {
		story = append(story, e.Kind)
	}
	require.Equal(t, []trace.Kind{trace.Handler, trace.Enqueue}, story)
}

func TestAnEventThatLeadsToNothingIsRecordedAsSuch(t *testing.T) {
	rec := trace.New(8)
	create(pod("a", "1"), false).tell(handler.Explained(forOwner(&corev1.Node{}), rec, "s"), newQueue())
	create(nil, false).tell(handler.Explained(adding(func(queue) {}), rec, "s"), newQueue())
	events := rec.Events()
	require.Len(t, events, 2)
	require.Equal(t, "a", events[0].Name)
	require.Empty(t, events[0].ToName+events[0].ToObject)
	require.Empty(t, events[1].Name+events[1].Object)
}

// A queue without priorities cannot be watched, so it would look as if nothing had been added.
func TestNothingIsRecordedOfAQueueWithoutPriorities(t *testing.T) {
	rec, q := trace.New(8), workqueue.NewTypedRateLimitingQueue[reconcile.Request](nil)
	create(pod("a", "1"), false).tell(handler.Explained(newOwn(), rec, "s"), q)
	require.Zero(t, rec.Recorded())
	require.Equal(t, 1, q.Len())
}

// The log line has to name a reason even for handlers that know nothing of reasons.
func TestAHandlerOfTheUsersOwnGivesAReasonIfItIsExplained(t *testing.T) {
	q := newQueue()
	create(pod("a", "1"), true).tell(handler.Explained(newOwn(), nil, "s"), q)
	require.Equal(t, []string{"shop/a at 0: first listing of Pod shop/a, through handler_test.own"}, added(t, q), "its priority is as in controller-runtime")
	named := handler.Explained(handler.Explained(newOwn(), nil, "s"), nil, "s")
	create(pod("a", "1"), false).tell(named, q)
	require.Equal(t, []string{"shop/a at 0: create of Pod shop/a, through handler_test.own"}, added(t, q))
	require.Equal(t, "handler_test.own", named.(fmt.Stringer).String(), "the name does not get lost when somebody explains it once more")
}

func TestExplainingAHandlerOfThisPackageCostsNothingWithoutARecorder(t *testing.T) {
	object := &handler.EnqueueRequestForObject{}
	require.Same(t, object, handler.Explained(object, nil, "s"))
	owners := forOwner(replicaSet)
	require.Same(t, owners, handler.Explained(owners, nil, "s"))
	require.IsType(t, handler.Funcs{}, handler.Explained(handler.Funcs{}, nil, "s"))
	mapped := handler.EnqueueRequestsFromMapFunc(byName)
	require.IsType(t, mapped, handler.Explained(mapped, nil, "s"))
}

// Handlers are called by one goroutine for each source, and kept queues by any.
func TestHandlersMayBeCalledByManyAtATime(t *testing.T) {
	rec, q := trace.New(1024), newQueue()
	handlers := []handler.EventHandler{
		&handler.EnqueueRequestForObject{}, forOwner(replicaSet), handler.EnqueueRequestsFromMapFunc(byName), newOwn(),
		adding(func(q queue) { q.Add(req("shop", "web")) }),
	}
	var all sync.WaitGroup
	for i, h := range handlers {
		h = handler.Explained(h, rec, "s")
		for range 4 {
			all.Go(func() {
				for range 50 {
					create(pod("a", "1", web), i%2 == 0).tell(h, q)
				}
			})
		}
	}
	all.Wait()
	require.EqualValues(t, 5*4*50, rec.Recorded())
}

// onlyNew is a handler that a user has made of one of this package's, as many do.
type onlyNew struct {
	*handler.EnqueueRequestForObject
}

func (onlyNew) Create(_ context.Context, _ event.CreateEvent, q queue) { q.Add(req("shop", "all")) }

// What a handler of this package says of itself is no longer true of one that embeds it: this one's
// requests differ, so a source that merged the events of an object would lose some.
func TestAHandlerThatEmbedsOneOfThisPackageIsTheUsersOwn(t *testing.T) {
	require.True(t, handler.AddsSameRequest(&handler.EnqueueRequestForObject{}))
	require.True(t, handler.AddsSameRequest(&handler.TypedEnqueueRequestForObject[*corev1.Pod]{}))
	mine, q := onlyNew{&handler.EnqueueRequestForObject{}}, newQueue()
	require.False(t, handler.AddsSameRequest(mine))
	create(pod("a", "1"), false).tell(handler.Explained[client.Object, reconcile.Request](mine, nil, "s"), q)
	require.Equal(t, []string{"shop/all at 0: create of Pod shop/a, through handler_test.onlyNew"}, added(t, q))
	require.False(t, handler.AddsSameRequest(handler.Funcs{}))
	require.False(t, handler.AddsSameRequest(nil))
}
