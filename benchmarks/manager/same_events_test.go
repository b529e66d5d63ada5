package manager

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	upstreamqueue "k8s.io/client-go/util/workqueue"
	upstreamclient "sigs.k8s.io/controller-runtime/pkg/client"
	upstreamevent "sigs.k8s.io/controller-runtime/pkg/event"
	upstreamhandler "sigs.k8s.io/controller-runtime/pkg/handler"
	upstreampredicate "sigs.k8s.io/controller-runtime/pkg/predicate"
	upstream "sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/predicate"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

const randomEvents = 5000

// A controller that moves over must hear of the same events.
func TestPredicatesGiveTheVerdictsOfControllerRuntime(t *testing.T) {
	selector := metav1.LabelSelector{MatchLabels: map[string]string{"app": "1"}}
	ourSelector, err := predicate.LabelSelectorPredicate(selector)
	require.NoError(t, err)
	theirSelector, err := upstreampredicate.LabelSelectorPredicate(selector)
	require.NoError(t, err)
	for _, c := range []struct {
		name   string
		ours   predicate.Predicate
		theirs upstreampredicate.Predicate
	}{
		{"generation", predicate.GenerationChangedPredicate{}, upstreampredicate.GenerationChangedPredicate{}},
		{"labels", predicate.LabelChangedPredicate{}, upstreampredicate.LabelChangedPredicate{}},
		{"annotations", predicate.AnnotationChangedPredicate{}, upstreampredicate.AnnotationChangedPredicate{}},
		{"resource version", predicate.ResourceVersionChangedPredicate{}, upstreampredicate.ResourceVersionChangedPredicate{}},
		{"selector", ourSelector, theirSelector},
		{"no functions", predicate.Funcs{}, upstreampredicate.Funcs{}},
		{"one function", predicate.Funcs{DeleteFunc: func(e event.DeleteEvent) bool { return e.DeleteStateUnknown }},
			upstreampredicate.Funcs{DeleteFunc: func(e upstreamevent.DeleteEvent) bool { return e.DeleteStateUnknown }}},
		{"new funcs", predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetName() == "pod-1" }),
			upstreampredicate.NewPredicateFuncs(func(o upstreamclient.Object) bool { return o.GetName() == "pod-1" })},
		{"and", predicate.And(ourSelector, predicate.GenerationChangedPredicate{}), upstreampredicate.And(theirSelector, upstreampredicate.GenerationChangedPredicate{})},
		{"or", predicate.Or(ourSelector, predicate.LabelChangedPredicate{}), upstreampredicate.Or(theirSelector, upstreampredicate.LabelChangedPredicate{})},
		{"not", predicate.Not(ourSelector), upstreampredicate.Not(theirSelector)},
		{"all of it", predicate.And(predicate.Or(predicate.Not(ourSelector), predicate.Funcs{}), predicate.AnnotationChangedPredicate{}),
			upstreampredicate.And(upstreampredicate.Or(upstreampredicate.Not(theirSelector), upstreampredicate.Funcs{}), upstreampredicate.AnnotationChangedPredicate{})},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(11, 1))
			for range randomEvents {
				e := RandomEvent(r)
				require.Equal(t, AskTheirs(c.theirs, e), AskOurs(c.ours, e), "%s", e)
			}
		})
	}
}

type pair struct {
	name   string
	ours   handler.EventHandler
	theirs upstreamhandler.EventHandler
}

// handlers are the same ones of both sides.
func handlers() []pair {
	fanOut := func(obj metav1.Object) (names []types.NamespacedName) {
		for _, key := range []string{obj.GetResourceVersion(), "0", "1"} {
			names = append(names, types.NamespacedName{Namespace: obj.GetNamespace(), Name: key}, types.NamespacedName{Name: "0"})
		}
		return names
	}
	ourFuncs := handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.Object)})
			q.AddAfter(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.Object)}, time.Second)
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			q.AddRateLimited(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.ObjectNew)})
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.Object)})
		},
	}
	theirFuncs := upstreamhandler.Funcs{
		CreateFunc: func(_ context.Context, e upstreamevent.CreateEvent, q upstreamqueue.TypedRateLimitingInterface[upstream.Request]) {
			q.Add(upstream.Request{NamespacedName: upstreamclient.ObjectKeyFromObject(e.Object)})
			q.AddAfter(upstream.Request{NamespacedName: upstreamclient.ObjectKeyFromObject(e.Object)}, time.Second)
		},
		UpdateFunc: func(_ context.Context, e upstreamevent.UpdateEvent, q upstreamqueue.TypedRateLimitingInterface[upstream.Request]) {
			q.AddRateLimited(upstream.Request{NamespacedName: upstreamclient.ObjectKeyFromObject(e.ObjectNew)})
		},
		DeleteFunc: func(_ context.Context, e upstreamevent.DeleteEvent, q upstreamqueue.TypedRateLimitingInterface[upstream.Request]) {
			q.Add(upstream.Request{NamespacedName: upstreamclient.ObjectKeyFromObject(e.Object)})
		},
	}
	ourOwner := func(owner client.Object, opts ...handler.OwnerOption) handler.EventHandler {
		return handler.EnqueueRequestForOwner(scheme.Scheme, Mapper(), owner, opts...)
	}
	theirOwner := func(owner upstreamclient.Object, opts ...upstreamhandler.OwnerOption) upstreamhandler.EventHandler {
		return upstreamhandler.EnqueueRequestForOwner(scheme.Scheme, Mapper(), owner, opts...)
	}
	return []pair{
		{"object", &handler.EnqueueRequestForObject{}, &upstreamhandler.EnqueueRequestForObject{}},
		{"owner", ourOwner(&appsv1.ReplicaSet{}), theirOwner(&appsv1.ReplicaSet{})},
		{"owner without a namespace", ourOwner(&corev1.Node{}), theirOwner(&corev1.Node{})},
		{"controller", ourOwner(&appsv1.ReplicaSet{}, handler.OnlyControllerOwner()), theirOwner(&appsv1.ReplicaSet{}, upstreamhandler.OnlyControllerOwner())},
		{"map function", handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) (requests []reconcile.Request) {
			for _, name := range fanOut(o) {
				requests = append(requests, reconcile.Request{NamespacedName: name})
			}
			return requests
		}), upstreamhandler.EnqueueRequestsFromMapFunc(func(_ context.Context, o upstreamclient.Object) (requests []upstream.Request) {
			for _, name := range fanOut(o) {
				requests = append(requests, upstream.Request{NamespacedName: name})
			}
			return requests
		})},
		{"functions", ourFuncs, theirFuncs},
		{"low priority", handler.WithLowPriorityWhenUnchanged(ourFuncs), upstreamhandler.WithLowPriorityWhenUnchanged(theirFuncs)},
	}
}

// It must also ask for the same objects, and not put some of them off, nor before others.
func TestHandlersAddTheRequestsOfControllerRuntimeWithTheSamePriorities(t *testing.T) {
	for _, c := range handlers() {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(11, 2))
			some, explained := 0, handler.Explained(c.ours, nil, "source")
			var ours, explainedOurs OurQueue
			var theirs TheirQueue
			for range randomEvents {
				e := RandomEvent(r)
				TellOurs(t.Context(), c.ours, e, &ours)
				TellOurs(t.Context(), explained, e, &explainedOurs)
				TellTheirs(t.Context(), c.theirs, e, &theirs)
				want := theirs.Take()
				require.Equal(t, want, ours.Take(), "%s", e)
				require.Equal(t, want, explainedOurs.Take(), "%s", e)
				some += len(want)
			}
			require.Greater(t, some, randomEvents/10, "most events lead to nothing: the test says little")
		})
	}
}

// A reference is older than the API server's latest version, and the version with which it was
// written is no longer served. controller-runtime drops the event; we do not.
func TestControllerRuntimeLosesTheOwnersWhenAVersionIsGone(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "apps/v1beta1", Kind: "ReplicaSet", Name: "old"}, {APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "new"},
	}}}
	var ours OurQueue
	var theirs TheirQueue
	TellOurs(t.Context(), handlers()[1].ours, Event{Op: "create", New: pod}, &ours)
	TellTheirs(t.Context(), handlers()[1].theirs, Event{Op: "create", New: pod}, &theirs)
	require.Empty(t, theirs.Take())
	require.Len(t, ours.Take(), 2)
}

// Ours leaves the function alone.
func TestControllerRuntimeCallsAMapFunctionWithNothing(t *testing.T) {
	var theirs TheirQueue
	called := 0
	upstreamhandler.EnqueueRequestsFromMapFunc(func(_ context.Context, o upstreamclient.Object) []upstream.Request {
		require.Nil(t, o)
		called++
		return nil
	}).Update(t.Context(), upstreamevent.UpdateEvent{}, &theirs)
	require.Equal(t, 2, called)
	handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		t.Error("it was called")
		return nil
	}).Update(t.Context(), event.UpdateEvent{}, new(OurQueue))
}
