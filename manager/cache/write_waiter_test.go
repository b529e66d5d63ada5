package cache_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
)

// slowly lets each event of the cache's watches come a second late.
func (w *world) slowly() {
	w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "watch", UserAgent: "the-cache"}, DelayEvents: time.Second})
}

// hasUID is for a wait for the end of one that was deleted.
func hasUID(uid types.UID) func(client.Object) bool {
	return func(object client.Object) bool { return object.GetUID() == uid }
}

func (w *world) waiter() cache.WriteWaiter { return w.Cache.(cache.WriteWaiter) }

// A reconciler that reads older than what it wrote does its work twice.
func TestAReadThatWaitsForAWriteSeesItAsSoonAsTheEventComes(t *testing.T) {
	for _, options := range []cache.Options{{}, inNamespaces("default", "shop")} {
		inWorld(t, options, func(t *testing.T, w *world) {
			w.namespaces("shop")
			w.configMaps("shop", "a")
			w.slowly()
			w.begin()
			defer w.end()
			require.Equal(t, []string{"shop/a"}, w.listed())
			var read corev1.ConfigMap
			require.NoError(t, w.Get(t.Context(), key("shop", "a"), &read))
			read.Data = map[string]string{"k": "v"}
			written := w.update(&read)

			began := time.Now()
			require.True(t, w.waiter().Holds(written))
			require.NoError(t, w.waiter().WaitFor(t.Context(), &corev1.ConfigMap{}, key("shop", "a"), written.ResourceVersion))
			require.Equal(t, time.Second, time.Since(began))
			require.NoError(t, w.Get(t.Context(), key("shop", "a"), &read))
			require.Equal(t, written.ResourceVersion, read.ResourceVersion)
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			require.NoError(t, w.waiter().WaitFor(ended, &corev1.ConfigMap{}, key("shop", "a"), written.ResourceVersion), "there is nothing left to wait for")
			require.NoError(t, w.waiter().WaitFor(ended, metadataOf(configMapKind), key("shop", "a"), written.ResourceVersion), "nobody reads metadata yet")
		})
	}
}

func TestAReadThatWaitsForADeletionDoesNotSeeTheObjectAgain(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		old := w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}})
		w.slowly()
		w.begin()
		defer w.end()
		w.listed()
		w.delete("default", "a")
		require.NoError(t, w.Get(t.Context(), key("default", "a"), &corev1.ConfigMap{}), "the cache does not know yet")
		began := time.Now()
		require.NoError(t, w.waiter().WaitForEnd(t.Context(), &corev1.ConfigMap{}, key("default", "a"), hasUID(old.UID)))
		require.Equal(t, time.Second, time.Since(began))
		require.True(t, apierrors.IsNotFound(w.Get(t.Context(), key("default", "a"), &corev1.ConfigMap{})))
		require.NoError(t, w.waiter().WaitForEnd(t.Context(), &corev1.ConfigMap{}, key("default", "a"), hasUID(old.UID)), "it is gone already")

		// Another object of that name is not the one that was deleted.
		first := w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b"}})
		time.Sleep(time.Minute)
		w.delete("default", "b")
		w.configMaps("default", "b")
		require.NoError(t, w.waiter().WaitForEnd(within(t, 10*time.Second), &corev1.ConfigMap{}, key("default", "b"), hasUID(first.UID)))
	})
}

func TestAWaitForAWriteEndsWithItsContext(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		made := w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}})
		w.begin()
		defer w.end()
		w.listed()
		cause := errors.New("no patience")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, cause)
		defer cancel()
		require.ErrorIs(t, w.waiter().WaitFor(ctx, &corev1.ConfigMap{}, key("default", "a"), "999999"), cause)
		require.ErrorIs(t, w.waiter().WaitForEnd(ctx, &corev1.ConfigMap{}, key("default", "a"), hasUID(made.UID)), cause)
		stopped := make(chan error, 1)
		go func() {
			stopped <- w.waiter().WaitForEnd(t.Context(), &corev1.ConfigMap{}, key("default", "a"), hasUID(made.UID))
		}()
		synctest.Wait()
		require.NoError(t, w.RemoveInformer(t.Context(), &corev1.ConfigMap{}))
		require.ErrorContains(t, <-stopped, "has stopped")
	})
}

// A wait for an event that never comes would take as long as the caller's patience, at every write.
func TestWhatTheCacheDoesNotHoldIsNotWaitedFor(t *testing.T) {
	options := inNamespaces("default")
	options.ByObject = map[client.Object]cache.ByObject{&corev1.ConfigMap{}: {Label: labels.SelectorFromSet(labels.Set{"color": "red"})}}
	inWorld(t, options, func(t *testing.T, w *world) {
		w.namespaces("shop")
		in := func(namespace, name, color string) *corev1.ConfigMap {
			return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"color": color}}}
		}
		red := w.create(in("default", "red", "red"))
		w.begin()
		defer w.end()
		require.False(t, w.waiter().Holds(red), "there is no informer yet, and it will list")
		w.listed()
		require.True(t, w.waiter().Holds(red))
		require.True(t, w.waiter().Holds(in("default", "new", "red")))
		require.False(t, w.waiter().Holds(in("default", "blue", "blue")))
		require.False(t, w.waiter().Holds(in("default", "red", "blue")), "it is there, and about to leave")
		require.False(t, w.waiter().Holds(in("shop", "red", "red")), "that namespace is not in the cache")
		require.NoError(t, w.waiter().WaitFor(t.Context(), red, key("shop", "red"), "999999"))
		free := freeOf(configMapKind)
		free.SetNamespace("default")
		free.SetName("red")
		free.SetLabels(red.Labels)
		require.False(t, w.waiter().Holds(free), "nobody reads unstructured objects yet")
	})
}

// A wait without an end is no answer to a reconciler whose service account lacks a rule.
func TestAWaitForAWriteEndsWhereAReadWouldFail(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		made := w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}})
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "configmaps", UserAgent: "the-cache"}, Status: fakeapi.Forbidden()})
		w.begin()
		defer w.end()
		require.Error(t, w.Get(t.Context(), key("default", "a"), &corev1.ConfigMap{}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		require.True(t, w.waiter().Holds(made))
		require.ErrorContains(t, w.waiter().WaitFor(ctx, made, key("default", "a"), made.ResourceVersion), "may not")
		require.ErrorContains(t, w.waiter().WaitForEnd(ctx, made, key("default", "a"), hasUID(made.UID)), "may not")
		require.NoError(t, ctx.Err())
	})
}

// Whoever waits for the event of an object whose kind is deleted meanwhile would wait until the kind is back.
func TestAWaitForAWriteEndsWhenTheKindIsGone(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		w.widget("default", "a", nil)
		w.begin()
		defer w.end()
		read := freeOf(widgetKind)
		require.NoError(t, w.Get(t.Context(), key("default", "a"), read))
		waited := make(chan error, 1)
		go func() { waited <- w.waiter().WaitFor(within(t, time.Hour), read, key("default", "b"), "999999") }()
		synctest.Wait()
		w.server.Unregister(widgets)
		var gone *cache.KindGoneError
		require.ErrorAs(t, <-waited, &gone)
	})
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) { // before it was ever listed
		_, err := w.GetInformer(t.Context(), freeOf(widgetKind))
		require.NoError(t, err)
		w.server.Unregister(widgets)
		w.begin()
		defer w.end() // a cache that waits for the kind can be stopped
		time.Sleep(time.Minute)
		err = w.waiter().WaitFor(within(t, time.Hour), freeOf(widgetKind), key("default", "a"), "1")
		var gone *cache.KindGoneError
		require.ErrorAs(t, err, &gone)
	})
}

// Only the server knows what most fields of an object are, but a selector of names excludes objects for sure.
func TestACacheThatSelectsByNameHoldsWhatHasTheName(t *testing.T) {
	for _, c := range []struct {
		selector string
		want     []string
	}{
		{"", []string{"default/a", "default/b", "shop/a"}},
		{"metadata.name=a", []string{"default/a", "shop/a"}},
		{"metadata.name==a", []string{"default/a", "shop/a"}},
		{"metadata.name!=a", []string{"default/b"}},
		{"metadata.namespace=shop", []string{"shop/a"}},
		{"metadata.namespace!=shop", []string{"default/a", "default/b"}},
		{"metadata.namespace!=shop,metadata.name=a", []string{"default/a"}},
		{"data.size=1", []string{"default/a", "default/b", "shop/a"}},
		{"data.size=1,metadata.name=b", []string{"default/b"}},
	} {
		inWorld(t, cache.Options{DefaultFieldSelector: fields.ParseSelectorOrDie(c.selector)}, func(t *testing.T, w *world) {
			_, err := w.GetInformer(t.Context(), &corev1.ConfigMap{})
			require.NoError(t, err)
			var holds []string
			for _, where := range []client.ObjectKey{key("default", "a"), key("default", "b"), key("shop", "a")} {
				if w.waiter().Holds(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: where.Namespace, Name: where.Name}}) {
					holds = append(holds, where.String())
				}
			}
			require.Equal(t, c.want, holds, c.selector)
		})
	}
}

// Metadata is read from the informer of whole objects if there is one, even if nobody has read it before: that
// informer may be late.
func TestAReadOfMetadataWaitsForTheInformerThatWillAnswerIt(t *testing.T) {
	for _, informed := range []client.Object{&corev1.ConfigMap{}, freeOf(configMapKind), metadataOf(configMapKind)} {
		inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
			w.configMaps("default", "a")
			w.slowly()
			w.begin()
			defer w.end()
			_, err := w.GetInformer(t.Context(), informed)
			require.NoError(t, err)
			written := w.update(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", Labels: map[string]string{"app": "shop"}}})
			metadata := metadataOf(configMapKind)
			metadata.ObjectMeta = written.ObjectMeta
			began := time.Now()
			require.True(t, w.waiter().Holds(metadata), "%T", informed)
			require.NoError(t, w.waiter().WaitFor(t.Context(), metadata, key("default", "a"), written.ResourceVersion))
			require.Equal(t, time.Second, time.Since(began), "%T", informed)
			require.NoError(t, w.Get(t.Context(), key("default", "a"), metadata))
			require.Equal(t, "shop", metadata.Labels["app"])
		})
	}
}

// The server ignores the namespace, and so does a read.
func TestAWaitForAnObjectWithoutNamespaceIgnoresTheNamespace(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		w.slowly()
		w.begin()
		defer w.end()
		require.NoError(t, w.List(t.Context(), &corev1.NamespaceList{}))
		w.namespaces("shop")
		written, err := w.live.CoreV1().Namespaces().Get(t.Context(), "shop", metav1.GetOptions{})
		require.NoError(t, err)
		began := time.Now()
		require.NoError(t, w.waiter().WaitFor(t.Context(), &corev1.Namespace{}, key("ignored", "shop"), written.ResourceVersion))
		require.Equal(t, time.Second, time.Since(began))
	})
}

// Nothing comes that could be waited for.
func TestAWaitForAWriteFailsBeforeTheStartAsAReadDoes(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		require.NoError(t, w.waiter().WaitFor(within(t, time.Hour), &corev1.ConfigMap{}, key("default", "a"), "1"), "nobody reads ConfigMaps")
		_, err := w.GetInformer(t.Context(), &corev1.ConfigMap{})
		require.NoError(t, err)
		var stopped *cache.ErrCacheNotStarted
		require.ErrorAs(t, w.waiter().WaitFor(within(t, time.Hour), &corev1.ConfigMap{}, key("default", "a"), "1"), &stopped)
	})
}
