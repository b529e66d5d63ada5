package cache_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/source"
)

// A reconciler that is told "not found" does its work of deletion, for objects that are all there.
func TestAKindThatIsBackIsReadWhenItHasBeenListed(t *testing.T) {
	for _, streams := range []bool{true, false} {
		inWorld(t, cache.Options{DefaultEnableWatchBookmarks: &streams}, func(t *testing.T, w *world) {
			w.widget("default", "a", nil)
			w.begin()
			defer w.end()
			get := func() error { return w.Get(t.Context(), key("default", "a"), freeOf(widgetKind)) }
			require.NoError(t, get())
			w.server.Unregister(widgets)
			time.Sleep(2 * time.Minute)
			w.server.Register(widgetHere)
			w.widget("default", "a", nil)
			w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "widgets", UserAgent: "the-cache"}, Delay: time.Second})
			var gone *cache.KindGoneError
			for range 1000 {
				time.Sleep(100 * time.Millisecond)
				if err := get(); err != nil {
					require.ErrorAs(t, err, &gone)
				}
			}
			require.NoError(t, get())
		})
	}
}

// A controller whose CRD is reinstalled stands still as long as its cache does not notice.
func TestTheEndOfAKindIsNoticedWithinAMinuteAndItsReturnWithinTenSeconds(t *testing.T) {
	for _, streams := range []bool{true, false} {
		inWorld(t, cache.Options{DefaultEnableWatchBookmarks: &streams}, func(t *testing.T, w *world) {
			w.widget("default", "a", nil)
			w.begin()
			defer w.end()
			get := func() error { return w.Get(t.Context(), key("default", "a"), freeOf(widgetKind)) }
			require.NoError(t, get())
			for range 5 {
				time.Sleep(time.Minute)
				w.server.Unregister(widgets)
				var gone *cache.KindGoneError
				w.within(time.Minute, func() bool { return errors.As(get(), &gone) })
				time.Sleep(time.Hour)
				w.server.Register(widgetHere)
				w.widget("default", "a", nil)
				w.within(10*time.Second, func() bool { return get() == nil })
			}
		})
	}
}

// within asks again and again until it is so.
func (w *world) within(patience time.Duration, isSo func() bool) {
	w.t.Helper()
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		synctest.Wait() // the cache tries again in round seconds, too, and goes first
		if isSo() {
			return
		}
		require.Less(w.t, time.Since(began), patience)
	}
}

// What the server has sent is not in the store yet. A reconciler that is told "not found" cleans up.
func TestAKindThatIsBackIsReadWhenItsObjectsAreInTheStore(t *testing.T) {
	for _, streams := range []bool{true, false} {
		slow := func(object any) (any, error) {
			time.Sleep(time.Second) // on the way to the store
			return object, nil
		}
		inWorld(t, cache.Options{DefaultEnableWatchBookmarks: &streams, DefaultTransform: slow}, func(t *testing.T, w *world) {
			w.widget("default", "a", nil)
			w.begin()
			defer w.end()
			get := func() error { return w.Get(t.Context(), key("default", "a"), freeOf(widgetKind)) }
			require.NoError(t, get(), "the first read waits as well")
			w.server.Unregister(widgets)
			time.Sleep(time.Minute)
			w.server.Register(widgetHere)
			w.widget("default", "a", nil)
			for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(100 * time.Millisecond) {
				var gone *cache.KindGoneError
				if err := get(); err != nil {
					require.ErrorAs(t, err, &gone)
					require.Less(t, time.Since(began), 10*time.Second)
				}
				var list unstructured.UnstructuredList
				list.SetGroupVersionKind(widgetKind.GroupVersion().WithKind("WidgetList"))
				if err := w.List(t.Context(), &list); err == nil {
					require.Len(t, list.Items, 1)
				}
			}
			w.server.Unregister(widgets)
			time.Sleep(time.Minute)
			w.server.Register(widgetHere)
			w.widget("default", "a", nil)
			var gone *cache.KindGoneError
			w.within(time.Minute, func() bool {
				return !errors.As(w.Get(within(t, time.Millisecond), key("default", "a"), freeOf(widgetKind)), &gone)
			})
			err := w.Get(within(t, time.Millisecond), key("default", "a"), freeOf(widgetKind))
			require.ErrorContains(t, err, "the test's patience", "a read waits no longer than its context")
			require.ErrorContains(t, err, "is back, and its objects are not in the cache yet")
		})
	}
}

// A program that has to be restarted because somebody has reinstalled a CRD does not work on its own.
func TestAKindThatIsBackInAnotherPlaceIsReadThere(t *testing.T) {
	elsewhere := widgetHere
	elsewhere.Resource = "gadgets"
	clustered := widgetHere
	clustered.ClusterScoped = true
	for _, c := range []struct {
		what     string
		is       fakeapi.Kind
		resource string
		away     time.Duration
	}{
		{"another plural", elsewhere, "gadgets", time.Minute}, {"another plural, soon", elsewhere, "gadgets", 100 * time.Millisecond},
		{"another scope", clustered, "widgets", time.Minute}, {"another scope, soon", clustered, "widgets", 100 * time.Millisecond},
	} {
		for _, form := range []client.Object{freeOf(widgetKind), metadataOf(widgetKind)} {
			inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
				w.widget("default", "a", nil)
				w.begin()
				defer w.end()
				var list client.ObjectList = freeListOf(widgetKind)
				require.NoError(t, w.List(t.Context(), list)) // so that metadata is read from whole objects
				from, err := w.GetInformer(t.Context(), form)
				require.NoError(t, err)
				hears := newHearing()
				_, err = from.AddEventHandler(hears)
				require.NoError(t, err)
				time.Sleep(time.Minute)

				w.server.Unregister(widgets)
				time.Sleep(c.away)
				w.server.Register(c.is)
				namespace := "default"
				if c.is.ClusterScoped {
					namespace = ""
				}
				_, err = w.free.Resource(widgets.GroupVersion().WithResource(c.resource)).Namespace(namespace).Create(t.Context(), widget(namespace, "b", nil), metav1.CreateOptions{})
				require.NoError(t, err)
				w.within(time.Minute, func() bool {
					return w.Get(t.Context(), key(namespace, "b"), form.DeepCopyObject().(client.Object)) == nil
				})
				require.NoError(t, w.List(t.Context(), list))
				require.Equal(t, []string{namespace + "/b"}, names(t, list), c.what)
				require.True(t, from.IsStopped(), "its user has to ask for another one, as a source does: %s, %T", c.what, form)
				as := fmt.Sprintf("%T default/a", form)
				require.Equal(t, []string{"initial " + as, "delete " + as}, hears.all(), c.what)
				again, err := w.GetInformer(t.Context(), form)
				require.NoError(t, err)
				require.False(t, again.IsStopped())
			})
		}
	}
}

// A mapper of somebody else may not be able to forget. Starting another informer at the old place would help no one.
func TestAKindStaysGoneForAMapperThatDoesNotKnowItsNewPlace(t *testing.T) {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(widgetKind, meta.RESTScopeNamespace)
	inWorld(t, cache.Options{Mapper: mapper}, func(t *testing.T, w *world) {
		w.widget("default", "a", nil)
		w.begin()
		defer w.end()
		get := func() error { return w.Get(t.Context(), key("default", "a"), freeOf(widgetKind)) }
		require.NoError(t, get())
		w.server.Unregister(widgets)
		elsewhere := widgetHere
		elsewhere.Resource = "gadgets"
		w.server.Register(elsewhere)
		time.Sleep(time.Minute)
		from, err := w.GetInformer(t.Context(), freeOf(widgetKind))
		require.NoError(t, err)
		require.False(t, from.IsStopped())
		var gone *cache.KindGoneError
		require.ErrorAs(t, get(), &gone)
		w.server.Unregister(widgets.GroupVersion().WithResource("gadgets"))
		w.server.Register(widgetHere)
		w.widget("default", "a", nil)
		time.Sleep(time.Minute)
		require.NoError(t, get())
	})
}

// A program may start while somebody reinstalls its CRD, and a server that has it again may not answer at once.
func TestAKindThatWasGoneBeforeItWasListedIsReadWhenItIsBack(t *testing.T) {
	for _, streams := range []bool{true, false} {
		inWorld(t, cache.Options{DefaultEnableWatchBookmarks: &streams}, func(t *testing.T, w *world) {
			_, err := w.GetInformer(t.Context(), freeOf(widgetKind))
			require.NoError(t, err)
			w.server.Unregister(widgets)
			w.begin()
			defer w.end()
			for range 2 {
				time.Sleep(time.Minute)
				get := func() error { return w.Get(t.Context(), key("default", "a"), freeOf(widgetKind)) }
				var gone *cache.KindGoneError
				require.ErrorAs(t, get(), &gone)
				w.server.Register(widgetHere)
				w.widget("default", "a", nil)
				w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "widgets", UserAgent: "the-cache"}, Times: 2, Status: fakeapi.Unavailable()})
				w.within(2*time.Minute, func() bool { return get() == nil }) // after two failures, the back-off may take one
				w.server.Unregister(widgets)
			}
		})
	}
}

// A controller outlives its kind: it must not have to be started again when the kind is back.
func TestAControllerGoesOnWhenItsKindIsInstalledDeletedAndInstalledAgain(t *testing.T) {
	inServer(t, func(t *testing.T, server *fakeapi.Server) {
		server.Unregister(widgets)
		w := newWorld(t, server, cache.Options{})
		w.begin()
		defer w.end()
		var mu sync.Mutex // guards seen
		seen := []string{}
		c, err := controller.NewUnmanaged(t.Name(), controller.Options{
			SkipNameValidation: new(true), CacheSyncTimeout: 24 * time.Hour,
			Reconciler: reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
				err := w.Get(ctx, r.NamespacedName, freeOf(widgetKind))
				mu.Lock()
				defer mu.Unlock()
				if apierrors.IsNotFound(err) {
					seen = append(seen, "no "+r.Name)
					return reconcile.Result{}, nil
				}
				if err == nil {
					seen = append(seen, r.Name)
				}
				return reconcile.Result{}, err
			}),
		})
		require.NoError(t, err)
		require.NoError(t, c.Watch(source.Kind[client.Object](w.Cache, freeOf(widgetKind), &handler.EnqueueRequestForObject{})))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Start(ctx) }()
		told := func() []string {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(seen)
		}
		time.Sleep(time.Hour)
		require.Empty(t, told())

		server.Register(widgetHere)
		w.widget("default", "a", nil)
		time.Sleep(time.Minute)
		require.Equal(t, []string{"a"}, told())
		server.Unregister(widgets)
		time.Sleep(time.Hour)
		server.Register(widgetHere)
		w.widget("default", "b", nil)
		time.Sleep(time.Hour)
		w.widget("default", "c", nil)
		time.Sleep(time.Hour)
		require.Subset(t, told(), []string{"a", "b", "c"})
		require.Equal(t, "c", told()[len(told())-1])
		stop()
		require.NoError(t, <-ended)
	})
}
