package cache_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/source"
)

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
		require.NoError(t, c.Watch(source.Kind(w.Cache, freeOf(widgetKind), &handler.EnqueueRequestForObject{})))
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

// A reconciler that has the option never acts on a state from before its own write.
func TestAClientReadsItsWritesFromACacheOfSeveralNamespaces(t *testing.T) {
	inWorld(t, inNamespaces("default", "shop"), func(t *testing.T, w *world) {
		w.namespaces("shop")
		w.slowly()
		w.begin()
		defer w.end()
		c, err := client.New(w.server.Config(), client.Options{Cache: &client.CacheOptions{Reader: w.Cache, EnableReadYourWritesConsistency: new(true)}})
		require.NoError(t, err)
		require.Empty(t, w.listed())
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a"}}
		for range 3 {
			require.NoError(t, c.Create(t.Context(), object))
			var read corev1.ConfigMap
			require.NoError(t, c.Get(t.Context(), key("shop", "a"), &read))
			read.Data = map[string]string{"k": "v"}
			require.NoError(t, c.Update(t.Context(), &read))
			var list corev1.ConfigMapList
			require.NoError(t, c.List(t.Context(), &list))
			require.Equal(t, "v", list.Items[0].Data["k"])
			began := time.Now()
			require.NoError(t, c.Delete(t.Context(), &read))
			require.True(t, apierrors.IsNotFound(c.Get(t.Context(), key("shop", "a"), &read)))
			require.Equal(t, time.Second, time.Since(began), "the event ends the wait")
			object = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a"}}
		}
	})
}
