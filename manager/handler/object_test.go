package handler_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/internal/logtest"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

var nobody *corev1.Pod

// All objects of a cluster arrive at the start. If they came before what has just changed, a user
// would wait for minutes.
func TestTheObjectOfEachEventIsAskedForWithAPriorityAndAReason(t *testing.T) {
	same := pod("web-1", "1") // an informer hands out what is in its store
	partial := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	for _, c := range []struct {
		event happening
		want  string
	}{
		{create(pod("web-1", "1"), false), "shop/web-1 at 0: create of Pod shop/web-1"},
		{create(pod("web-1", "1"), true), "shop/web-1 at -100: first listing of Pod shop/web-1"},
		{update(pod("web-1", "1"), pod("web-1", "2")), "shop/web-1 at 0: update of Pod shop/web-1"},
		{update(pod("web-1", "1"), pod("web-1", "1")), "shop/web-1 at -100: resync of Pod shop/web-1"},
		{update(same, same), "shop/web-1 at -100: resync of Pod shop/web-1"},
		{update(nil, pod("web-1", "1")), "shop/web-1 at 0: update of Pod shop/web-1"},
		{update(pod("web-1", "1"), nobody), "shop/web-1 at 0: update of Pod shop/web-1"},
		{update(pod("old", "1"), pod("new", "2")), "shop/new at 0: update of Pod shop/new"},
		{remove(pod("web-1", "1"), false), "shop/web-1 at 0: delete of Pod shop/web-1"},
		{remove(pod("web-1", "1"), true), "shop/web-1 at 0: unseen delete of Pod shop/web-1"},
		{generic(pod("web-1", "1")), "shop/web-1 at 0: generic event of Pod shop/web-1"},
		{create(partial, false), "/n1 at 0: create of n1"},
	} {
		q := newQueue()
		c.event.tell(&handler.EnqueueRequestForObject{}, q)
		require.Equal(t, []string{c.want}, added(t, q), c.event.name)
	}
}

func TestAnEventWithoutAnObjectIsLoggedAndDropped(t *testing.T) {
	for _, c := range []struct {
		event happening
		want  string
	}{
		{create(nil, false), `event=create`}, {create(nobody, true), `event="first listing"`},
		{update(nil, nobody), `event=update`}, {remove(nil, false), `event=delete`}, {generic(nobody), `event="generic event"`},
	} {
		log, q := logtest.Read(t), newQueue()
		c.event.tell(&handler.EnqueueRequestForObject{}, q)
		require.Empty(t, added(t, q), c.event.name)
		require.Contains(t, log.String(), c.want)
	}
}

// Tests of users have such queues.
func TestAQueueWithoutPrioritiesGetsTheRequestAndTheReasonIfItCan(t *testing.T) {
	explaining := workqueue.NewRateLimiting[reconcile.Request](nil, workqueue.Options[reconcile.Request]{})
	update(pod("web-1", "1"), pod("web-1", "1")).tell(&handler.EnqueueRequestForObject{}, explaining)
	require.Equal(t, 1, explaining.Len())
	work, err := explaining.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, req("shop", "web-1"), work.Item)
	require.Equal(t, "resync of Pod shop/web-1", work.Causes.String())

	bare := struct{ queue }{workqueue.NewTypedRateLimitingQueue[reconcile.Request](nil)}
	create(pod("web-1", "1"), true).tell(&handler.EnqueueRequestForObject{}, bare)
	require.Equal(t, 1, bare.Len())
	item, _ := bare.Get()
	require.Equal(t, req("shop", "web-1"), item)
}

// One Go type may be for one kind, or for many. A reason that names the wrong one leads astray.
func TestReasonsNameTheKindHoweverManyKindsThereAre(t *testing.T) {
	partial := func(kind string) client.Object {
		return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: kind}}
	}
	loose := func(kind string) client.Object {
		return &unstructured.Unstructured{Object: map[string]any{"kind": kind}}
	}
	kinds := []struct {
		obj  client.Object
		kind string
	}{
		{partial("Pod"), "Pod"}, {loose("Cactus"), "Cactus"}, {partial("Rose"), "Rose"}, {loose("Pod"), "Pod"}, {loose("Rose"), "Rose"},
		{&corev1.Pod{}, "Pod"}, {&corev1.Node{}, "Node"}, {&corev1.Service{}, "Service"}, {&corev1.Secret{}, "Secret"},
		{&corev1.ConfigMap{}, "ConfigMap"}, {&corev1.Namespace{}, "Namespace"}, {&corev1.PersistentVolume{}, "PersistentVolume"},
		{&appsv1.Deployment{}, "Deployment"}, {&appsv1.ReplicaSet{}, "ReplicaSet"}, {&appsv1.DaemonSet{}, "DaemonSet"},
		{&extensionsv1beta1.DaemonSet{}, "DaemonSet"}, {&appsv1.StatefulSet{}, "StatefulSet"}, {partial("DaemonSet"), "DaemonSet"},
	}
	for _, c := range kinds {
		c.obj.SetName("a")
		q := newQueue()
		create(c.obj, false).tell(&handler.EnqueueRequestForObject{}, q)
		require.Equal(t, []string{"/a at 0: create of " + c.kind + " a"}, added(t, q), "%T", c.obj)
	}
}
