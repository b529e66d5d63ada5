package handler

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller/priorityqueue"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// added is a queue that only notes what is added, and with which priority.
type added struct {
	priorityQueue
	requests []string
	low      bool
	reason   string
}

func (a *added) AddWithOpts(opts workqueue.AddOpts, requests ...reconcile.Request) {
	for _, request := range requests {
		a.requests = append(a.requests, strings.TrimPrefix(request.String(), "/"))
	}
	a.low = opts.Priority != nil && *opts.Priority < 0
	a.reason = opts.ReasonText()
}

func (a *added) Add(request reconcile.Request) { a.AddWithOpts(workqueue.AddOpts{}, request) }

// owned is a Pod in the namespace shop with these owners, each written as "apiVersion Kind name",
// with "controller" or "not controller" behind that if the reference says so.
func owned(version string, owners ...string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", ResourceVersion: version}}
	for _, owner := range owners {
		words := strings.Fields(owner)
		ref := metav1.OwnerReference{APIVersion: words[0], Kind: words[1], Name: words[2], UID: types.UID(words[1] + " " + words[2]), BlockOwnerDeletion: new(words[2] == "db")}
		switch strings.Join(words[3:], " ") {
		case "controller":
			ref.Controller = new(true)
		case "not controller":
			ref.Controller = new(false)
		}
		pod.OwnerReferences = append(pod.OwnerReferences, ref)
	}
	return pod
}

// ownerHandlers are those that the tests below ask, by what they look for.
func ownerHandlers() map[string]EventHandler {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	mapper.Add(storagev1.SchemeGroupVersion.WithKind("StorageClass"), meta.RESTScopeRoot)
	return map[string]EventHandler{
		"ReplicaSet":                EnqueueRequestForOwner(scheme.Scheme, mapper, &appsv1.ReplicaSet{}),
		"ReplicaSet that controls":  EnqueueRequestForOwner(scheme.Scheme, mapper, &appsv1.ReplicaSet{}, OnlyControllerOwner()),
		"ConfigMap":                 EnqueueRequestForOwner(scheme.Scheme, mapper, &corev1.ConfigMap{}),
		"ConfigMap, unknown mapper": EnqueueRequestForOwner(scheme.Scheme, meta.NewDefaultRESTMapper(nil), &corev1.ConfigMap{}),
		"StorageClass":              EnqueueRequestForOwner(scheme.Scheme, mapper, &storagev1.StorageClass{}),
	}
}

// Whatever happens to an object, its owner has to look.
func TestEveryEventLeadsToTheOwner(t *testing.T) {
	var leads, all []string
	for _, c := range happenings(t.Context()) {
		var queue added
		c.happen(ownerHandlers()["ReplicaSet"], &queue)
		all = append(all, c.name)
		if len(queue.requests) > 0 {
			leads = append(leads, c.name)
		}
	}
	require.Equal(t, all, leads, "these things may happen to a Pod that the ReplicaSet web controls, and lead to a request")
}

// With a high priority, 10,000 Pods of the first list come before a user's change. With a low one,
// a change waits for them.
func TestWhatIsNoNewsHasALowPriority(t *testing.T) {
	for _, c := range happenings(t.Context()) {
		t.Run(c.name, func(t *testing.T) {
			var queue added
			c.happen(ownerHandlers()["ReplicaSet"], &queue)
			require.Equal(t, c.low, queue.low, "is the priority of the request low?")
			require.Equal(t, c.reason, queue.reason, "somebody wants to know why the owner was reconciled")
		})
	}
}

// happening is something that happens to a Pod that the ReplicaSet web controls.
type happening struct {
	name   string
	happen func(h EventHandler, queue requestQueue)
	low    bool
	reason string
}

func happenings(ctx context.Context) []happening {
	pod, later := owned("1", "apps/v1 ReplicaSet web controller"), owned("2", "apps/v1 ReplicaSet web controller")
	return []happening{
		{"it is created", func(h EventHandler, q requestQueue) { h.Create(ctx, event.CreateEvent{Object: pod}, q) },
			false, "create of Pod shop/web-1, through its owner"},
		{"it was there at the start", func(h EventHandler, q requestQueue) {
			h.Create(ctx, event.CreateEvent{Object: pod, IsInInitialList: true}, q)
		}, true, "first listing of Pod shop/web-1, through its owner"},
		{"it is updated", func(h EventHandler, q requestQueue) {
			h.Update(ctx, event.UpdateEvent{ObjectOld: pod, ObjectNew: later}, q)
		}, false, "update of Pod shop/web-1, through its owner"},
		{"it is resynced", func(h EventHandler, q requestQueue) {
			h.Update(ctx, event.UpdateEvent{ObjectOld: pod, ObjectNew: pod}, q)
		},
			true, "resync of Pod shop/web-1, through its owner"},
		{"it is deleted", func(h EventHandler, q requestQueue) { h.Delete(ctx, event.DeleteEvent{Object: pod}, q) },
			false, "delete of Pod shop/web-1, through its owner"},
		{"it was deleted, and nobody saw how", func(h EventHandler, q requestQueue) {
			h.Delete(ctx, event.DeleteEvent{Object: pod, DeleteStateUnknown: true}, q)
		}, false, "unseen delete of Pod shop/web-1, through its owner"},
		{"somebody reports something", func(h EventHandler, q requestQueue) { h.Generic(ctx, event.GenericEvent{Object: pod}, q) },
			false, "generic event of Pod shop/web-1, through its owner"}}
}

// A request with the wrong namespace is for an object that does not exist.
func TestAnOwnerIsInTheNamespaceOfTheObjectOrInNone(t *testing.T) {
	var class, set added
	ownerHandlers()["StorageClass"].Create(t.Context(), event.CreateEvent{Object: owned("1", "storage.k8s.io/v1 StorageClass fast controller")}, &class)
	ownerHandlers()["ReplicaSet"].Create(t.Context(), event.CreateEvent{Object: owned("1", "apps/v1 ReplicaSet web controller")}, &set)
	require.Equal(t, []string{"fast", "shop/web"}, append(class.requests, set.requests...),
		"the owners of two Pods in the namespace shop: a StorageClass, which is in no namespace, and a ReplicaSet")
}

// Of an update, the owners before and after must hear: one has lost an object, another has got one.
func TestAnUpdateAsksForTheOwnersBeforeAndAfter(t *testing.T) {
	const web, api, db = "apps/v1 ReplicaSet web", "apps/v1 ReplicaSet api", "apps/v1 ReplicaSet db"
	const cron, job, prices = "apps/v1 ReplicaSet cron", "apps/v1 ReplicaSet job", "v1 ConfigMap prices"
	for _, c := range []struct {
		name    string
		looks   string
		was, is []string
		want    []string
	}{
		{name: "the owner is the same", was: []string{web}, is: []string{web}, want: []string{"shop/web"}},
		{name: "the first owner", is: []string{web}, want: []string{"shop/web"}},
		{name: "some owners go, some stay and some come", was: []string{web, db, api}, is: []string{cron, web, job}, want: []string{"shop/web", "shop/db", "shop/api", "shop/cron", "shop/job"}},
		{name: "the first one that controls", looks: " that controls", is: []string{web + " controller", api}, want: []string{"shop/web"}},
		{name: "the second of two controls", looks: " that controls", was: []string{api, web + " controller"}, is: []string{api, web + " controller"}, want: []string{"shop/web"}},
		{name: "the last owner is gone", was: []string{web}, want: []string{"shop/web"}},
		{name: "one more owner", was: []string{web}, is: []string{web, api}, want: []string{"shop/web", "shop/api"}},
		{name: "another owner", was: []string{web}, is: []string{api}, want: []string{"shop/web", "shop/api"}},
		{name: "one owner less", was: []string{web, api}, is: []string{api}, want: []string{"shop/web", "shop/api"}},
		{name: "the owners in another order", was: []string{web, api}, is: []string{api, web}, want: []string{"shop/web", "shop/api"}},
		{name: "an owner of another kind instead", was: []string{web}, is: []string{prices}, want: []string{"shop/web"}},
		{name: "another one controls", looks: " that controls", was: []string{web + " controller", api}, is: []string{web, api + " controller"}, want: []string{"shop/web", "shop/api"}},
		{name: "another one that never controls", looks: " that controls", was: []string{web + " controller", api}, is: []string{web + " controller", api}, want: []string{"shop/web"}},
		{name: "none controls any more", looks: " that controls", was: []string{web + " controller"}, is: []string{web}, want: []string{"shop/web"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var queue added
			ownerHandlers()["ReplicaSet"+c.looks].Update(t.Context(), event.UpdateEvent{ObjectOld: owned("1", c.was...), ObjectNew: owned("2", c.is...)}, &queue)
			require.Equal(t, c.want, queue.requests, "the Pod's owners were %q, and are %q", c.was, c.is)
		})
	}
}

// A request is a name, and has no UID. Two of one name are one look too many.
func TestAnUpdateAsksForTheOwnersBeforeAndAfterByName(t *testing.T) {
	was, is := owned("1", "apps/v1 ReplicaSet web"), owned("2", "apps/v1 ReplicaSet web")
	is.OwnerReferences[0].UID = "another one"
	var queue added
	ownerHandlers()["ReplicaSet"].Update(t.Context(), event.UpdateEvent{ObjectOld: was, ObjectNew: is}, &queue)
	require.Equal(t, []string{"shop/web"}, queue.requests, "the ReplicaSet web was deleted and made again, and the new one adopted the Pod")
}

// An owner that is not asked for does not learn that its object is gone, and one that is asked
// for without reason is reconciled for nothing.
func TestTheOwnersThatAreAskedFor(t *testing.T) {
	for _, c := range []struct {
		name   string
		looks  string // for owners of this kind
		owners []string
		want   []string
	}{
		{"one owner", "ReplicaSet", []string{"apps/v1 ReplicaSet web"}, []string{"shop/web"}},
		{"no owner", "ReplicaSet", nil, nil},
		{"an owner of another kind", "ReplicaSet", []string{"apps/v1 StatefulSet web"}, nil},
		{"an owner whose kind only begins like it", "ReplicaSet", []string{"apps/v1 ReplicaSetter web"}, nil},
		{"an owner whose kind is written in another way", "ReplicaSet", []string{"apps/v1 replicaset web"}, nil},
		{"an owner of that kind in another group", "ReplicaSet", []string{"example.com/v1 ReplicaSet web"}, nil},
		{"an owner in a group that only begins like it", "ReplicaSet", []string{"apps.example.com/v1 ReplicaSet web"}, nil},
		{"an owner in a group that only ends like it", "ReplicaSet", []string{"myapps/v1 ReplicaSet web"}, nil},
		{"an owner of that kind in the core group", "ReplicaSet", []string{"v1 ReplicaSet web"}, nil},
		{"an owner that was written down with an older version", "ReplicaSet", []string{"apps/v1beta2 ReplicaSet web"}, []string{"shop/web"}},
		{"an owner in the core group", "ConfigMap", []string{"v1 ConfigMap prices"}, []string{"shop/prices"}},
		{"an owner of a core kind's name in another group", "ConfigMap", []string{"example.com/v1 ConfigMap prices"}, nil},
		{"owners of which one has an apiVersion that is none", "ConfigMap", []string{"a/b/c ConfigMap prices", "v1 ConfigMap taxes"}, []string{"shop/taxes"}},
		{"several owners", "ReplicaSet", []string{"apps/v1 ReplicaSet web", "apps/v1 ReplicaSet api", "apps/v1 ReplicaSet db"}, []string{"shop/web", "shop/api", "shop/db"}},
		{"several owners, and the first has another kind", "ReplicaSet", []string{"v1 ConfigMap prices", "apps/v1 ReplicaSet web"}, []string{"shop/web"}},
		{"several owners, and the last has another kind", "ReplicaSet", []string{"apps/v1 ReplicaSet web", "v1 ConfigMap prices"}, []string{"shop/web"}},
		{"an owner that is named twice", "ReplicaSet", []string{"apps/v1beta2 ReplicaSet web", "apps/v1 ReplicaSet web"}, []string{"shop/web"}},
		{"an owner that does not control", "ReplicaSet", []string{"apps/v1 ReplicaSet web not controller"}, []string{"shop/web"}},
		{"an owner of which nobody knows whether it has a namespace", "ConfigMap, unknown mapper", []string{"v1 ConfigMap prices"}, []string{"shop/prices"}},

		{"the one that controls", "ReplicaSet that controls", []string{"apps/v1 ReplicaSet web controller"}, []string{"shop/web"}},
		{"the one that controls, among others", "ReplicaSet that controls", []string{"apps/v1 ReplicaSet api", "apps/v1 ReplicaSet web controller", "apps/v1 ReplicaSet db not controller"}, []string{"shop/web"}},
		{"the first of two that control, which no API server accepts", "ReplicaSet that controls", []string{"apps/v1 ReplicaSet web controller", "apps/v1 ReplicaSet api controller"}, []string{"shop/web"}},
		{"none that controls", "ReplicaSet that controls", []string{"apps/v1 ReplicaSet web"}, nil},
		{"one that says that it does not control", "ReplicaSet that controls", []string{"apps/v1 ReplicaSet web not controller"}, nil},
		{"one of another kind that controls", "ReplicaSet that controls", []string{"apps/v1 StatefulSet db controller", "apps/v1 ReplicaSet web"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var queue added
			ownerHandlers()[c.looks].Create(t.Context(), event.CreateEvent{Object: owned("1", c.owners...)}, &queue)
			require.Equal(t, c.want, queue.requests, "a Pod in the namespace shop was created, with the owners %q, and the handler looks for a %s", c.owners, c.looks)
		})
	}
}

// A loop over the owners may end before the last of them. Go panics if it is given one more.
//
// Function: ownersOf
func TestTheOwnersThatAreAskedForEndWithTheLoop(t *testing.T) {
	calls := 0
	ownersOf(owned("1", "apps/v1 ReplicaSet web", "apps/v1 ReplicaSet api"), appsv1.SchemeGroupVersion.WithKind("ReplicaSet").GroupKind(), false)(func(metav1.OwnerReference) bool {
		calls++
		return false
	})
	require.Equal(t, 1, calls, "a Pod has two owners, and yield returned false for the first: so often was it called")
}

// An object outside of all namespaces has owners there, too.
func TestTheOwnerOfAnObjectWithoutNamespaceHasNone(t *testing.T) {
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "disk-1", OwnerReferences: owned("1", "storage.k8s.io/v1 StorageClass fast").OwnerReferences}}
	var queue added
	ownerHandlers()["StorageClass"].Create(t.Context(), event.CreateEvent{Object: volume}, &queue)
	require.Equal(t, []string{"fast"}, queue.requests)
}

// A faulty source must not end the process.
func TestAnOwnerHandlerSurvivesEventsWithoutObjects(t *testing.T) {
	pod := owned("1", "apps/v1 ReplicaSet web")
	for _, c := range []struct {
		name   string
		happen func(h EventHandler, queue requestQueue)
		want   []string
	}{
		{"a creation of nothing", func(h EventHandler, q requestQueue) { h.Create(t.Context(), event.CreateEvent{}, q) }, nil},
		{"a deletion of a nil Pod", func(h EventHandler, q requestQueue) {
			h.Delete(t.Context(), event.DeleteEvent{Object: (*corev1.Pod)(nil)}, q)
		}, nil},
		{"an update without the old object", func(h EventHandler, q requestQueue) {
			h.Update(t.Context(), event.UpdateEvent{ObjectNew: client.Object(pod)}, q)
		}, []string{"shop/web"}},
		{"an update without the new object", func(h EventHandler, q requestQueue) {
			h.Update(t.Context(), event.UpdateEvent{ObjectOld: client.Object(pod)}, q)
		}, []string{"shop/web"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var queue added
			c.happen(ownerHandlers()["ReplicaSet"], &queue)
			require.Equal(t, c.want, queue.requests)
		})
	}
}

// requestQueue is the queue that handlers are given.
type requestQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// priorityQueue is a requestQueue that also takes priorities and reasons.
type priorityQueue = priorityqueue.PriorityQueue[reconcile.Request]
