package cache_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
)

// Whoever changes what it has read must not change what others read, whatever its form.
func TestReadsInEachFormAreCopiesUnlessTheyAreToldOtherwise(t *testing.T) {
	for _, form := range []struct {
		object func() client.Object
		list   func() client.ObjectList
	}{
		{func() client.Object { return &corev1.ConfigMap{} }, func() client.ObjectList { return &corev1.ConfigMapList{} }},
		{func() client.Object { return freeOf(configMapKind) }, func() client.ObjectList { return freeListOf(configMapKind) }},
		{func() client.Object { return metadataOf(configMapKind) }, func() client.ObjectList { return metadataListOf(configMapKind) }},
	} {
		inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
			w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Secret", Name: "s", UID: "1", Controller: new(false)}}}})
			w.begin()
			defer w.end()
			controls := func(object runtime.Object) bool {
				free, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
				require.NoError(t, err)
				return free["metadata"].(map[string]any)["ownerReferences"].([]any)[0].(map[string]any)["controller"].(bool)
			}
			// change writes behind the pointer, or into the map, that a shallow copy shares.
			change := func(object runtime.Object, to bool) {
				switch object := object.(type) {
				case runtime.Unstructured:
					object.UnstructuredContent()["metadata"].(map[string]any)["ownerReferences"].([]any)[0].(map[string]any)["controller"] = to
				default:
					found, err := meta.Accessor(object)
					require.NoError(t, err)
					*found.GetOwnerReferences()[0].Controller = to
				}
			}
			get := func(opts ...client.GetOption) client.Object {
				object := form.object()
				require.NoError(t, w.Get(t.Context(), key("default", "a"), object, opts...))
				require.Equal(t, "ConfigMap", object.GetObjectKind().GroupVersionKind().Kind)
				return object
			}
			list := func(opts ...client.ListOption) (item runtime.Object) {
				all := form.list()
				require.NoError(t, w.List(t.Context(), all, opts...))
				require.NoError(t, meta.EachListItem(all, func(found runtime.Object) error { item = found; return nil }))
				require.Equal(t, "ConfigMap", item.GetObjectKind().GroupVersionKind().Kind)
				return item
			}
			change(get(), true)
			change(list(), true)
			change(get(client.UnsafeDisableDeepCopyOption(false)), true)
			change(list(client.UnsafeDisableDeepCopyOption(false)), true)
			what := fmt.Sprintf("%T", form.object())
			require.False(t, controls(get()), what)
			require.False(t, controls(list(client.UnsafeDisableDeepCopy)), what)
			change(list(client.UnsafeDisableDeepCopy), true)
			require.True(t, controls(get()), what)
			change(get(client.UnsafeDisableDeepCopy), false)
			require.False(t, controls(list()), what)
		})
	}
}

// The caller of a list cannot tell whose items may be changed.
func TestAListIsACopyIfOneOfItsNamespacesIsCopied(t *testing.T) {
	options := cache.Options{DefaultNamespaces: map[string]cache.Config{"default": {UnsafeDisableDeepCopy: new(true)}, "shop": {}}}
	inWorld(t, options, func(t *testing.T, w *world) {
		w.namespaces("shop")
		for _, namespace := range []string{"default", "shop"} {
			w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}, Data: map[string]string{"k": "v"}})
		}
		w.begin()
		defer w.end()
		change := func(opts ...client.ListOption) {
			list := corev1.ConfigMapList{ListMeta: metav1.ListMeta{Continue: "of another list"}}
			require.NoError(t, w.List(t.Context(), &list, opts...))
			require.Empty(t, list.Continue, "nothing is left to read")
			for _, item := range list.Items {
				item.Data["k"] = "changed"
			}
		}
		reads := func() (values []string) {
			for _, namespace := range []string{"default", "shop"} {
				var object corev1.ConfigMap
				require.NoError(t, w.Get(t.Context(), key(namespace, "a"), &object, client.UnsafeDisableDeepCopyOption(false)))
				values = append(values, object.Data["k"])
			}
			return values
		}
		change()
		change(client.InNamespace("shop"))
		require.Equal(t, []string{"v", "v"}, reads())
		change(client.InNamespace("default"))
		require.Equal(t, []string{"changed", "v"}, reads())
	})
}

// A program may change its mind before its cache runs.
func TestAnInformerThatIsRemovedBeforeTheStartEnds(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		from, err := w.GetInformer(t.Context(), &corev1.ConfigMap{})
		require.NoError(t, err)
		handler, err := from.AddEventHandler(newHearing())
		require.NoError(t, err)
		require.NoError(t, w.RemoveInformer(t.Context(), &corev1.ConfigMap{}))
		require.True(t, from.IsStopped())
		<-handler.(interface{ Done() <-chan struct{} }).Done()
		w.begin()
		defer w.end()
		time.Sleep(time.Minute)
		require.Zero(t, w.watches("configmaps"))
		require.True(t, w.WaitForCacheSync(t.Context()))
	})
}

// Every replica reads from its cache, to be ready when it becomes the leader.
func TestACacheDoesNotWaitForTheLeadership(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		require.False(t, w.Cache.(interface{ NeedLeaderElection() bool }).NeedLeaderElection())
	})
}

// All kinds at once would be a burst of work every ten hours.
func TestTheResyncsOfKindsAreApart(t *testing.T) {
	const period = 1000 * time.Second
	inWorld(t, cache.Options{SyncPeriod: new(period)}, func(t *testing.T, w *world) {
		w.configMaps("default", "a")
		w.widget("default", "a", nil)
		w.begin()
		defer w.end()
		began := time.Now()
		var mu sync.Mutex // guards first and last
		var first, last time.Duration
		for _, object := range []client.Object{&corev1.ConfigMap{}, freeOf(configMapKind), freeOf(widgetKind), &corev1.Namespace{}} {
			from, err := w.GetInformer(t.Context(), object)
			require.NoError(t, err)
			_, err = from.AddEventHandler(informer.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) {
				mu.Lock()
				defer mu.Unlock()
				last = time.Since(began)
				if first == 0 {
					first = last
				}
			}})
			require.NoError(t, err)
		}
		time.Sleep(period * 3 / 2)
		synctest.Wait()
		require.GreaterOrEqual(t, first, period*9/10)
		require.LessOrEqual(t, last, period*11/10)
		require.NotEqual(t, first, last)
	})
}

// The pauses grow, so that a kind that comes soon is found soon, and one that never comes costs little.
func TestAKindIsWaitedForWithPausesThatGrow(t *testing.T) {
	for _, version := range []string{"v1", ""} {
		var asked []time.Duration
		began := time.Now()
		mapper := askedMapper{meta.NewDefaultRESTMapper([]schema.GroupVersion{widgetKind.GroupVersion()}), func() { asked = append(asked, time.Since(began)) }}
		inWorld(t, cache.Options{Mapper: mapper}, func(t *testing.T, w *world) {
			waiter := w.Cache.(cache.KindWaiter)
			began = time.Now()
			kind := schema.GroupVersionKind{Group: widgetKind.Group, Version: version, Kind: widgetKind.Kind}
			require.Error(t, waiter.WaitForKind(within(t, 15*time.Second), kind))
			ms := time.Millisecond
			require.Equal(t, []time.Duration{0, 250 * ms, 750 * ms, 1750 * ms, 3750 * ms, 7750 * ms, 12750 * ms}, asked)
			mapper.RESTMapper.(*meta.DefaultRESTMapper).Add(widgetKind, meta.RESTScopeNamespace)
			require.NoError(t, waiter.WaitForKind(within(t, time.Second), kind))
			kind.Version = "v2"
			require.Error(t, waiter.WaitForKind(within(t, time.Second), kind), "another version is not installed")
		})
	}
}

// A proxy or a server that is starting answers 404 for a list. If discovery does not answer, that is no proof.
func TestAKindIsNotGoneWhenDiscoveryDoesNotAnswer(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		w.widget("default", "a", nil)
		w.begin()
		defer w.end()
		var gone *cache.KindGoneError
		list := func() error { return w.List(t.Context(), freeListOf(widgetKind)) }
		require.NoError(t, list())
		answers := w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "get", UserAgent: "the-cache"}, Status: fakeapi.Unavailable()})
		w.server.Unregister(widgets)
		time.Sleep(time.Hour)
		require.NoError(t, list())
		answers()
		time.Sleep(time.Hour)
		require.ErrorAs(t, list(), &gone)
	})
}
