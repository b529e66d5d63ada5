package garbagecollector

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/simulation"
	"github.com/loopwright/loopwright/internal/simulation/ours"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/client"
)

// patchy is a discovery that hides a group, or does not answer for it.
type patchy struct {
	discovery.DiscoveryInterfaceWithContext
	hides, fails, failsAll atomic.Bool
}

const shop = "shop.example.com"

func (p *patchy) ServerGroupsWithContext(ctx context.Context) (*metav1.APIGroupList, error) {
	if p.failsAll.Load() {
		return nil, errors.New("no answer")
	}
	list, err := p.DiscoveryInterfaceWithContext.ServerGroupsWithContext(ctx)
	if err == nil && p.hides.Load() {
		list.Groups = slices.DeleteFunc(list.Groups, func(group metav1.APIGroup) bool {
			return group.Name == shop
		})
	}
	return list, err
}

func (p *patchy) ServerResourcesForGroupVersionWithContext(
	ctx context.Context, version string,
) (*metav1.APIResourceList, error) {
	if p.fails.Load() && version == shop+"/v1" {
		return nil, errors.New("no answer")
	}
	return p.DiscoveryInterfaceWithContext.ServerResourcesForGroupVersionWithContext(ctx, version)
}

// inPatchyWorld runs a test in a world with a patchy discovery.
func inPatchyWorld(t *testing.T, test func(t *testing.T, w *world, asks *patchy)) {
	synctest.Test(t, func(t *testing.T) {
		asks := &patchy{}
		w := &world{simulation.New(t, ours.Process(func(
			mgr manager.Manager, o controllers.Options,
		) error {
			var err error
			asks.DiscoveryInterfaceWithContext, err =
				discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
			require.NoError(t, err)
			return Settings{}.add(mgr, o, asks)
		}))}
		test(t, w, asks)
	})
}

// widget creates an object of a kind that is not built in. Its owner is absent if it has none here.
func (w *world) widget(name string, refs ...metav1.OwnerReference) *metav1.PartialObjectMetadata {
	w.T.Helper()
	if refs == nil {
		refs = []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "ConfigMap", Name: "gone", UID: "gone"},
		}
	}
	made := object(schema.GroupVersionKind{Group: shop, Version: "v1", Kind: "Widget"},
		"default", name, nil)
	made.SetOwnerReferences(refs)
	w.Create(made)
	meta := metadataOf(made.GroupVersionKind())
	meta.Namespace, meta.Name = "default", name
	return meta
}

func (w *world) isThere(object client.Object) bool {
	err := w.Live.Get(w.T.Context(), client.ObjectKeyFromObject(object), object)
	require.NoError(w.T, client.IgnoreNotFound(err))
	return err == nil
}

var widgetResource = schema.GroupVersionResource{Group: shop, Version: "v1", Resource: "widgets"}

var widgets = fakeapi.Kind{Group: shop, Version: "v1", Kind: "Widget"}

// What a new kind's objects leave behind would stay forever.
func TestAKindThatIsNewIsWatchedWithinThePeriod(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.run()
		w.Server.Register(widgets)
		made := w.widget("w")
		time.Sleep(discoveryPeriod + time.Minute)
		require.False(t, w.isThere(made))
	})
}

// An owner would wait forever for dependents of a kind that is gone; and when the kind is back,
// nobody would collect its objects.
func TestAKindThatIsGoneIsForgottenAndOneThatIsBackIsWatched(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.Server.Register(widgets)
		w.run()
		for range 2 {
			root := w.configMap("root")
			w.widget("w", owner(root))
			made := object(schema.GroupVersionKind{Group: shop, Version: "v1", Kind: "Widget"},
				"default", "stuck", nil)
			made.SetOwnerReferences([]metav1.OwnerReference{owner(root)})
			made.SetFinalizers([]string{"example.com/slow"})
			w.Create(made)
			w.Settle()
			w.delete(root, foreground)
			require.True(t, w.isThere(root))

			w.Server.Unregister(widgetResource)
			time.Sleep(2 * discoveryPeriod)
			require.False(t, w.isThere(root), "the kind is gone, and the owner waits for it")

			w.Server.Register(widgets)
			late := w.widget("late")
			time.Sleep(2 * discoveryPeriod)
			require.False(t, w.isThere(late), "nobody watches the kind")
		}
		// The kind's monitor was ended, and not only told that there are no objects.
		w.Server.Unregister(widgetResource)
		time.Sleep(2 * discoveryPeriod)
		w.Server.ForgetRequests()
		time.Sleep(discoveryPeriod)
		require.Zero(t, w.asked("list", "widgets")+w.asked("watch", "widgets"))
	})
}

// The end of a kind doesn't prove that its objects were deleted: they may live on under another
// version. If it did, their dependents would be deleted.
func TestTheEndOfAKindDeletesNoDependentOfAnObjectWhoseDeletionWasNotShown(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.Server.Register(widgets)
		w.Server.Inject(fakeapi.Fault{
			Match:    fakeapi.Match{UserAgent: simulation.Agent, Verb: "watch", Resource: "widgets"},
			CutAfter: 2 * time.Minute,
		})
		w.run()
		root := object(schema.GroupVersionKind{Group: shop, Version: "v1", Kind: "Widget"},
			"default", "root", nil)
		w.Create(root)
		w.configMap("dependent", metav1.OwnerReference{
			APIVersion: shop + "/v1", Kind: "Widget", Name: "root", UID: root.GetUID(),
		})
		w.Settle()
		lift := w.blind("widgets")
		time.Sleep(3 * time.Minute)
		w.Server.Unregister(widgetResource)
		lift()
		time.Sleep(time.Hour)
		require.Equal(t, []string{"configmap/dependent"}, w.left())

		t.Log("when the kind is back, the API server can say that the owner is gone")
		w.Server.Register(widgets)
		time.Sleep(time.Hour)
		require.Empty(t, w.left())
	})
}

// A kind's objects are all there, and only discovery doesn't mention them: an owner in the
// foreground would go before its dependents.
func TestAKindThatDiscoveryHidesStaysWatched(t *testing.T) {
	inPatchyWorld(t, func(t *testing.T, w *world, asks *patchy) {
		w.Server.Register(widgets)
		w.run()
		root := w.configMap("root")
		w.widget("w", owner(root))
		w.Settle()
		asks.hides.Store(true)
		time.Sleep(time.Hour)
		late := w.widget("late")
		w.Settle()
		require.False(t, w.isThere(late), "nobody watches the kind")
		w.delete(root, foreground)
		require.True(t, w.isThere(root), "a finalizer went while a group was unknown")
		asks.hides.Store(false)
		w.Settle()
		require.False(t, w.isThere(root))
	})
}

// An aggregated API server that is down would let owners go that wait for its objects.
func TestAGroupThatDiscoveryDoesNotAnswerForStaysWatched(t *testing.T) {
	inPatchyWorld(t, func(t *testing.T, w *world, asks *patchy) {
		w.Server.Register(widgets)
		w.run()
		asks.fails.Store(true)
		time.Sleep(2 * discoveryPeriod)
		made := w.widget("w")
		w.Settle()
		require.False(t, w.isThere(made))
		w.Server.Register(fakeapi.Kind{Group: "other.example.com", Version: "v1", Kind: "Gadget"})
		time.Sleep(2 * discoveryPeriod)
		gadget := object(schema.GroupVersionKind{
			Group: "other.example.com", Version: "v1", Kind: "Gadget",
		}, "default", "g", nil)
		gadget.SetOwnerReferences([]metav1.OwnerReference{
			{APIVersion: "v1", Kind: "ConfigMap", Name: "gone", UID: "gone"},
		})
		w.Create(gadget)
		w.Settle()
		require.False(t, w.isThere(gadget), "the other groups are followed")
	})
}

// A server that is not ready when the program starts would end it, or leave it without work.
func TestTheStartWaitsForDiscovery(t *testing.T) {
	inPatchyWorld(t, func(t *testing.T, w *world, asks *patchy) {
		asks.failsAll.Store(true)
		w.Start()
		made := w.configMap("garbage", metav1.OwnerReference{
			APIVersion: "v1", Kind: "ConfigMap", Name: "gone", UID: "gone",
		})
		time.Sleep(time.Minute)
		require.True(t, w.isThere(made))
		asks.failsAll.Store(false)
		time.Sleep(10 * time.Second)
		require.False(t, w.isThere(made))
	})
}

// One resource that cannot be listed would keep all garbage.
func TestAResourceThatCannotBeListedDelaysTheStartForHalfAMinute(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for _, verb := range []string{"list", "watch"} {
			w.Server.Inject(fakeapi.Fault{
				Match:  fakeapi.Match{UserAgent: simulation.Agent, Verb: verb, Resource: "secrets"},
				Status: fakeapi.Forbidden(),
			})
		}
		w.Start()
		made := w.configMap("garbage", metav1.OwnerReference{
			APIVersion: "v1", Kind: "ConfigMap", Name: "gone", UID: "gone",
		})
		time.Sleep(syncPatience - time.Second)
		require.True(t, w.isThere(made))
		time.Sleep(5 * time.Second)
		require.False(t, w.isThere(made))
	})
}

// Events own nothing and end by themselves; a subresource is no resource; and what cannot be
// deleted is no garbage. Nobody wants two watches of one resource.
func TestWhichResourcesAreWatchedAndInWhichVersion(t *testing.T) {
	all := metav1.Verbs{"create", "delete", "get", "list", "patch", "update", "watch"}
	lists := []*metav1.APIResourceList{
		{GroupVersion: "v1", APIResources: []metav1.APIResource{
			{Name: "pods", Kind: "Pod", Verbs: all}, {Name: "pods/log", Kind: "Pod", Verbs: all},
			{Name: "events", Kind: "Event", Verbs: all},
			{Name: "bindings", Kind: "Binding", Verbs: metav1.Verbs{"create"}},
			{Name: "statuses", Kind: "Status", Verbs: metav1.Verbs{"list", "watch"}},
			{Name: "metrics", Kind: "Metric", Verbs: metav1.Verbs{"list", "delete"}},
			{Name: "secrets", Kind: "Secret", Verbs: metav1.Verbs{"watch", "delete"}},
		}},
		{GroupVersion: "events.k8s.io/v1", APIResources: []metav1.APIResource{
			{Name: "events", Kind: "Event", Verbs: all},
		}},
		{GroupVersion: "a/b/c", APIResources: []metav1.APIResource{{Name: "x", Verbs: all}}},
	}
	for _, version := range []string{"v1beta1", "v2", "v1"} {
		lists = append(lists, &metav1.APIResourceList{
			GroupVersion: "shop/" + version,
			APIResources: []metav1.APIResource{{Name: "boxes", Kind: "Box", Verbs: all}},
		})
	}
	lists = append(lists, &metav1.APIResourceList{
		GroupVersion: "shop/v0", APIResources: []metav1.APIResource{
			{Name: "events", Kind: "Event", Verbs: all},
		},
	})
	groups := []*metav1.APIGroup{
		{Name: "shop", PreferredVersion: metav1.GroupVersionForDiscovery{Version: "v2"}},
	}
	boxes := schema.GroupResource{Group: "shop", Resource: "boxes"}
	for kept, want := range map[string]string{
		"": "v2", "v1": "v1", "v1beta1": "v1beta1", "v0": "v2",
	} {
		require.Equal(t, map[schema.GroupResource]schema.GroupVersionKind{
			{Resource: "pods"}: {Version: "v1", Kind: "Pod"},
			boxes:              {Group: "shop", Version: want, Kind: "Box"},
			{Group: "shop", Resource: "events"}: {
				Group: "shop", Version: "v0", Kind: "Event",
			},
		}, watchable(groups, lists, func(kind schema.GroupVersionKind) bool {
			return kind == schema.GroupVersionKind{Group: "shop", Version: kept, Kind: "Box"}
		}), kept)
	}
}

// A user whose cluster is large wants to know what an object takes.
func TestOnlyWhatTheGraphNeedsIsKept(t *testing.T) {
	now := metav1.Now()
	whole := metav1.ObjectMeta{
		Namespace: "a", Name: "b", UID: "c", ResourceVersion: "1", Generation: 3,
		Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"a": "b"},
		DeletionTimestamp: &now, Finalizers: []string{"x"}, CreationTimestamp: now,
		OwnerReferences: []metav1.OwnerReference{{Name: "o"}},
		ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "m"}},
	}
	kept, err := keepWhatMatters(&metav1.PartialObjectMetadata{ObjectMeta: whole})
	require.NoError(t, err)
	require.Equal(t, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: "a", Name: "b", UID: "c", ResourceVersion: "1", DeletionTimestamp: &now,
		Finalizers: []string{"x"}, OwnerReferences: whole.OwnerReferences,
	}}, kept)
	_, err = keepWhatMatters(&corev1.Pod{})
	require.Error(t, err, fmt.Sprintf("%T", kept))
}
