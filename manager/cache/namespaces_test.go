package cache_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
)

func inNamespaces(names ...string) cache.Options {
	options := cache.Options{DefaultNamespaces: map[string]cache.Config{}}
	for _, name := range names {
		options.DefaultNamespaces[name] = cache.Config{}
	}
	return options
}

// A program that may read two namespaces must not ask for others, and must see both as one.
func TestSeveralNamespacesAreOneViewOfSeveralInformers(t *testing.T) {
	inWorld(t, inNamespaces("shop", "bank"), func(t *testing.T, w *world) {
		w.namespaces("shop", "bank", "hidden")
		w.configMaps("shop", "a", "b")
		w.configMaps("bank", "a")
		w.configMaps("hidden", "x")
		w.begin()
		defer w.end()
		require.Equal(t, []string{"bank/a", "shop/a", "shop/b"}, w.listed())
		require.Equal(t, []string{"shop/a", "shop/b"}, w.listed(client.InNamespace("shop")))
		require.Equal(t, []string{"bank/a", "shop/a"}, w.listed(client.MatchingFields{"metadata.name": "a"}))
		require.Len(t, w.listed(client.Limit(2)), 2)
		require.Len(t, w.listed(client.Limit(3)), 3)
		require.NoError(t, w.Get(t.Context(), key("bank", "a"), &corev1.ConfigMap{}))
		require.True(t, apierrors.IsNotFound(w.Get(t.Context(), key("bank", "b"), &corev1.ConfigMap{})))
		require.Equal(t, []string{"watch in bank", "watch in shop"}, w.requests("configmaps"))

		// "Not found" would be a lie: the cache does not know.
		err := w.Get(t.Context(), key("hidden", "x"), &corev1.ConfigMap{})
		require.ErrorContains(t, err, `getting hidden/x: namespace "hidden" is not one of those that the cache has of configmaps`)
		err = w.Get(t.Context(), key("", "a"), &corev1.ConfigMap{})
		require.ErrorContains(t, err, `namespace "" is not one of those that the cache has of configmaps`)
		require.False(t, apierrors.IsNotFound(err))
		require.ErrorContains(t, w.List(t.Context(), &corev1.ConfigMapList{}, client.InNamespace("hidden")), `namespace "hidden"`)
	})
}

func TestAKindWithoutNamespacesIsReadAsAWholeWhateverTheNamespaces(t *testing.T) {
	inWorld(t, inNamespaces("shop"), func(t *testing.T, w *world) {
		w.namespaces("shop")
		w.begin()
		defer w.end()
		require.NoError(t, w.Get(t.Context(), key("", "shop"), &corev1.Namespace{}))
		require.NoError(t, w.Get(t.Context(), key("ignored", "shop"), &corev1.Namespace{}), "the server ignores it, too")
		var all, inShop corev1.NamespaceList
		require.NoError(t, w.List(t.Context(), &all))
		require.NoError(t, w.List(t.Context(), &inShop, client.InNamespace("shop")))
		require.Equal(t, names(t, &all), names(t, &inShop))
		require.Contains(t, names(t, &all), "/shop")
		require.Equal(t, []string{"watch"}, w.requests("namespaces"))
	})
}

func TestSomeNamespacesMayHaveSettingsAndTheOthersMayBeThereAsWell(t *testing.T) {
	options := inNamespaces(cache.AllNamespaces)
	options.DefaultNamespaces["shop"] = cache.Config{LabelSelector: labels.SelectorFromSet(labels.Set{"color": "red"})}
	inWorld(t, options, func(t *testing.T, w *world) {
		w.namespaces("shop", "bank")
		w.configMaps("shop", "plain")
		w.configMaps("bank", "plain")
		w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "red", Labels: map[string]string{"color": "red"}}})
		w.begin()
		defer w.end()
		require.Equal(t, []string{"bank/plain", "shop/red"}, w.listed())
		require.Equal(t, []string{"bank/plain"}, w.listed(client.InNamespace("bank")))
		require.Equal(t, []string{"shop/red"}, w.listed(client.InNamespace("shop")))
		require.True(t, apierrors.IsNotFound(w.Get(t.Context(), key("shop", "plain"), &corev1.ConfigMap{})))
		require.NoError(t, w.Get(t.Context(), key("bank", "plain"), &corev1.ConfigMap{}))
		require.Equal(t, []string{"watch field metadata.namespace!=shop", "watch in shop label color=red"}, w.requests("configmaps"))
	})
}

// A handler is written for one call at a time, and does not know how many namespaces there are.
func TestTheHandlerOfSeveralNamespacesIsOneHandler(t *testing.T) {
	inWorld(t, inNamespaces("shop", "bank"), func(t *testing.T, w *world) {
		w.namespaces("shop", "bank")
		w.configMaps("shop", "a")
		w.configMaps("bank", "a")
		w.begin()
		defer w.end()
		from, err := w.GetInformer(t.Context(), &corev1.ConfigMap{})
		require.NoError(t, err)
		require.True(t, from.HasSynced())
		hears := newHearing()
		var calls, most atomic.Int32
		slow := informer.ResourceEventHandlerFuncs{AddFunc: func(any) {
			most.Store(max(most.Load(), calls.Add(1)))
			time.Sleep(time.Second)
			calls.Add(-1)
		}}
		first, err := from.AddEventHandler(hears)
		require.NoError(t, err)
		second, err := from.AddEventHandler(slow)
		require.NoError(t, err)
		synctest.Wait()
		require.True(t, first.HasSynced())
		require.False(t, second.HasSynced())
		<-second.HasSyncedChecker().Done()
		require.True(t, second.HasSynced())
		require.EqualValues(t, 1, most.Load(), "one call at a time")
		require.Equal(t, []string{"initial *v1.ConfigMap bank/a", "initial *v1.ConfigMap shop/a"}, hears.sorted())

		require.NoError(t, from.RemoveEventHandler(first))
		require.NoError(t, from.RemoveEventHandler(first), "twice does no harm")
		<-first.(interface{ Done() <-chan struct{} }).Done()
		w.configMaps("shop", "b")
		time.Sleep(time.Minute)
		require.Len(t, hears.all(), 2)

		other, err := w.GetInformer(t.Context(), &corev1.Namespace{})
		require.NoError(t, err)
		require.Error(t, other.RemoveEventHandler(second), "it is another informer's")
	})
}

func TestAnIndexIsInAllNamespaces(t *testing.T) {
	inWorld(t, inNamespaces("shop", "bank"), func(t *testing.T, w *world) {
		w.namespaces("shop", "bank")
		for _, namespace := range []string{"shop", "bank"} {
			w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}, Data: map[string]string{"size": "1"}})
			w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "b"}, Data: map[string]string{"size": "2"}})
		}
		require.NoError(t, w.IndexField(t.Context(), &corev1.ConfigMap{}, "data.size", dataField("size")))
		w.begin()
		defer w.end()
		require.Equal(t, []string{"bank/a", "shop/a"}, w.listed(client.MatchingFields{"data.size": "1"}))
		require.Equal(t, []string{"bank/a"}, w.listed(client.MatchingFields{"data.size": "1"}, client.InNamespace("bank")))
	})
}

// The text of such a selector is empty, as that of one that matches everything.
func TestACacheThatSelectsNothingHoldsNothing(t *testing.T) {
	for _, options := range []cache.Options{
		{DefaultLabelSelector: labels.Nothing()},
		{DefaultFieldSelector: fields.Nothing()},
		{DefaultNamespaces: map[string]cache.Config{"default": {FieldSelector: fields.Nothing()}}},
		{DefaultNamespaces: map[string]cache.Config{"shop": {FieldSelector: fields.Everything(), LabelSelector: labels.Nothing()}, cache.AllNamespaces: {FieldSelector: fields.Nothing()}}},
	} {
		inWorld(t, options, func(t *testing.T, w *world) {
			w.configMaps("default", "a")
			w.begin()
			defer w.end()
			require.Empty(t, w.listed())
			require.False(t, w.waiter().Holds(w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b"}})))
			synctest.Wait()
			require.Empty(t, w.listed())
		})
	}
}

// A program may ask in a loop whether a handler has ended, and each question must not leave a goroutine.
func TestAHandlerOfSeveralNamespacesHasOneChannelForItsEnd(t *testing.T) {
	inWorld(t, inNamespaces("default", "shop"), func(t *testing.T, w *world) {
		w.begin()
		defer w.end()
		from, err := w.GetInformer(t.Context(), &corev1.ConfigMap{})
		require.NoError(t, err)
		require.Equal(t, from.HasSyncedChecker().Done(), from.HasSyncedChecker().Done())
		handler, err := from.AddEventHandler(newHearing())
		require.NoError(t, err)
		require.Equal(t, handler.HasSyncedChecker().Done(), handler.HasSyncedChecker().Done())
		ends := handler.(interface{ Done() <-chan struct{} })
		require.Equal(t, ends.Done(), ends.Done())
		<-handler.HasSyncedChecker().Done()
		require.NoError(t, from.RemoveEventHandler(handler))
		<-ends.Done()
	})
}

// Whoever removes a handler gives up what it works with. The call that comes after that works with nothing.
func TestAHandlerOfSeveralNamespacesThatIsRemovedDuringACallIsNotCalledAgain(t *testing.T) {
	for _, way := range []string{"by itself", "by another goroutine", "with its informer"} {
		inWorld(t, inNamespaces("shop", "bank"), func(t *testing.T, w *world) {
			w.namespaces("shop", "bank")
			w.configMaps("shop", "a")
			w.configMaps("bank", "a")
			w.begin()
			defer w.end()
			from, err := w.GetInformer(t.Context(), &corev1.ConfigMap{})
			require.NoError(t, err)
			var calls atomic.Int32
			added := make(chan informer.ResourceEventHandlerRegistration, 1)
			remove := func() {
				if way == "with its informer" {
					_ = w.RemoveInformer(t.Context(), &corev1.ConfigMap{})
					return
				}
				_ = from.RemoveEventHandler(<-added)
			}
			handle, err := from.AddEventHandler(informer.ResourceEventHandlerFuncs{AddFunc: func(any) {
				calls.Add(1)
				time.Sleep(time.Second) // the other namespace's call waits meanwhile
				if way == "by itself" {
					remove()
				}
			}})
			require.NoError(t, err)
			added <- handle
			synctest.Wait()
			if way != "by itself" {
				remove()
			}
			time.Sleep(time.Minute)
			w.configMaps("shop", "b")
			w.configMaps("bank", "b")
			time.Sleep(time.Minute)
			require.EqualValues(t, 1, calls.Load(), way)
		})
	}
}

// A program that's told to be ready reads 99 of 2,000 objects, and takes the others for deleted.
func TestACacheIsNotHealthyBeforeTheListsOfAllNamespacesAreInTheStore(t *testing.T) {
	options := inNamespaces("shop", "bank")
	options.DefaultTransform = func(object any) (any, error) {
		if object.(client.Object).GetNamespace() == "shop" {
			time.Sleep(time.Second) // on the way to the store
		}
		return object, nil
	}
	for _, streams := range []bool{true, false} {
		options.DefaultEnableWatchBookmarks = &streams
		inWorld(t, options, func(t *testing.T, w *world) {
			w.namespaces("shop", "bank")
			w.configMaps("shop", "a", "b", "c", "d", "e")
			w.configMaps("bank", "a")
			from, err := w.GetInformer(t.Context(), &corev1.ConfigMap{}, cache.BlockUntilSynced(false))
			require.NoError(t, err)
			w.begin()
			defer w.end()
			for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(100 * time.Millisecond) {
				if cache.CheckHealth(w.Cache, time.Minute) == nil {
					require.True(t, from.HasSynced())
					require.Len(t, w.listed(), 6)
				}
			}
			require.NoError(t, cache.CheckHealth(w.Cache, time.Minute))
		})
	}
}
