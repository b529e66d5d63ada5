package cache_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
)

// After a restore from a backup, the server counts on from an older version, and may need days to reach that of a write
// which was undone. An object that was deleted is back, with its UID, and maybe nobody deletes it again. A read that
// waited for the one or the other would hold a worker forever.
func TestAReadDoesNotWaitForAWriteThatARestoreHasUndone(t *testing.T) {
	for name, write := range map[string]func(context.Context, client.Client, *corev1.ConfigMap) error{
		"an update": func(ctx context.Context, c client.Client, obj *corev1.ConfigMap) error {
			obj.Data = map[string]string{"k": "lost"}
			return c.Update(ctx, obj)
		},
		"a deletion": func(ctx context.Context, c client.Client, obj *corev1.ConfigMap) error {
			return c.Delete(ctx, obj)
		},
	} {
		for when, pause := range map[string]time.Duration{"that the cache had seen": time.Minute, "that it hadn't": 0} {
			t.Run(name+" "+when, func(t *testing.T) {
				inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
					c, err := client.New(w.server.Config(), client.Options{Cache: &client.CacheOptions{
						Reader: w.Cache, EnableReadYourWritesConsistency: new(true),
					}})
					require.NoError(t, err)
					w.begin()
					defer w.end()
					obj := w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}})
					require.NoError(t, c.List(t.Context(), &corev1.ConfigMapList{}))
					backup := w.server.Backup()
					w.server.Advance(1000)
					if pause == 0 {
						w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "watch", UserAgent: "the-cache"}, DelayEvents: time.Minute})
					}
					require.NoError(t, write(t.Context(), c, obj))
					time.Sleep(pause)
					w.server.Restore(backup)

					ctx := within(t, time.Hour)
					if pause > 0 {
						time.Sleep(20 * time.Minute) // the cache has listed again
					}
					require.NoError(t, c.List(ctx, &corev1.ConfigMapList{}))
					time.Sleep(20 * time.Minute)
					var read corev1.ConfigMap
					require.NoError(t, c.Get(ctx, key("default", "a"), &read), "it's back")
					require.Empty(t, read.Data)
				})
			})
		}
	}
}

// A kind was gone and came back, and nobody had read it yet when the server was restored: the first read waits for the list
// of its return, which the new history may take days to reach.
func TestAReadDoesNotWaitForTheReturnOfAKindThatARestoreHasUndone(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		w.widget("default", "a", nil)
		w.begin()
		defer w.end()
		get := func() error { return w.Get(within(t, time.Hour), key("default", "a"), freeOf(widgetKind)) }
		require.NoError(t, get())
		backup := w.server.Backup()
		w.server.Advance(1000)
		w.server.Unregister(widgets)
		time.Sleep(2 * time.Minute)
		var gone *cache.KindGoneError
		require.ErrorAs(t, get(), &gone)
		w.server.Register(widgetHere)
		time.Sleep(time.Minute) // the cache has listed it
		w.server.Restore(backup)
		time.Sleep(20 * time.Minute) // and has listed it again
		require.NoError(t, get())
	})
}
