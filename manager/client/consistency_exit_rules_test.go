package client

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// comesAndLeaves lets somebody else bring an object into the cache, and this client take it out again. The cache has
// heard of neither. It hears of the first when the next read looks, after the wait.
func (w *lateWorld) comesAndLeaves() {
	w.Helper()
	require.NoError(w, w.cache.server.Create(w.Context(), configMap("a")))
	var came corev1.ConfigMap
	require.NoError(w, w.cache.server.Get(w.Context(), shopKey("a"), &came))
	w.cache.ignore["a"] = true
	left := configMap("a")
	left.Labels = map[string]string{"out": "true"}
	require.NoError(w, w.Update(w.Context(), left))
	w.cache.news = func() { w.cache.objects[shopKey("a")] = came }
}

// Between the wait and the read, the cache may hear of an older state. To show it would be to show what this client
// has overwritten.
func TestAReadThatFindsWhatHasLeftTheCacheReadsAgain(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		w.comesAndLeaves()
		read := &corev1.ConfigMap{Data: map[string]string{"kept": "true"}}
		w.waits(func() error { return w.Get(w.Context(), shopKey("a"), read) })
		require.Equal(w, &corev1.ConfigMap{Data: map[string]string{"kept": "true"}}, read, "it is not found, and what was in the object stays")
		require.Zero(w, w.remembered())
	})
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		require.NoError(w, w.Create(w.Context(), configMap("b")))
		w.cache.see(w.Context())
		w.comesAndLeaves()
		var read corev1.ConfigMapList
		w.waits(func() error { return w.List(w.Context(), &read) })
		require.Len(w, read.Items, 1)
		require.Equal(w, "b", read.Items[0].Name)
	})
}

// What is in the cache is not kept back because something else has left it.
func TestAReadShowsWhatHasNotLeftTheCache(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		require.NoError(w, w.Create(w.Context(), configMap("b")))
		w.cache.see(w.Context())
		w.comesAndLeaves()
		w.cache.news = nil
		var list corev1.ConfigMapList
		require.NoError(w, w.List(w.Context(), &list))
		require.Len(w, list.Items, 1)
		require.Equal(w, 1, w.remembered(), "the cache may still be about to show it")

		w.cache.ignore["a"] = false // somebody else brings it back, with a later version
		require.NoError(w, w.cache.server.Update(w.Context(), configMap("a")))
		w.cache.news = func() {
			var back corev1.ConfigMap
			require.NoError(w, w.cache.server.Get(w.Context(), shopKey("a"), &back))
			w.cache.objects[shopKey("a")] = back
		}
		var back corev1.ConfigMap
		require.NoError(w, w.Get(w.Context(), shopKey("a"), &back))
		require.Equal(w, "a", back.Name)
	})
}

// The context of a reconcile has a deadline, and the next reconcile must not get what this one would not wait for.
func TestAWaitForTheEndOfWhatHasLeftTheCacheEndsWithItsContext(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		require.NoError(w, w.Create(w.Context(), configMap("a")))
		w.waits(w.get("a"))
		w.cache.ignore["a"] = true
		out := configMap("a")
		out.Labels = map[string]string{"out": "true"}
		require.NoError(w, w.Update(w.Context(), out))
		for range 2 {
			ctx, end := context.WithTimeout(w.Context(), time.Second)
			require.ErrorIs(w, w.Get(ctx, shopKey("a"), &corev1.ConfigMap{}), context.DeadlineExceeded)
			require.ErrorIs(w, w.List(ctx, &corev1.ConfigMapList{}), context.DeadlineExceeded)
			end()
		}
		w.waits(w.get("a"))
	})
}

func TestAReadWritesToItsObjectOnlyIfItSucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		never := func(*corev1.ConfigMap) error { t.Error("nothing must be read"); return nil }
		require.Equal(t, broken, readAfter(configMap("a"), func() (departures, error) { return nil, broken }, never))

		into := configMap("a")
		require.NoError(t, readAfter(into, func() (departures, error) { return nil, nil }, func(got *corev1.ConfigMap) error {
			require.Same(t, into, got, "a copy for each read would cost too much")
			return nil
		}))
		leaving := departures(nil).with(shopKey("b"), "7")
		into.Data = map[string]string{"kept": "true"}
		err := readAfter(into, func() (departures, error) { return leaving, nil }, func(got *corev1.ConfigMap) error {
			got.Data["kept"] = "false"
			return broken
		})
		require.Equal(t, broken, err)
		require.Equal(t, "true", into.Data["kept"], "nothing was read")
		require.NoError(t, readAfter(into, func() (departures, error) { return leaving, nil }, func(got *corev1.ConfigMap) error {
			got.Data["kept"] = "false"
			return nil
		}))
		require.Equal(t, "false", into.Data["kept"])

		var wrapped Object = &wrappedConfigMap{configMap("a")}
		require.NoError(t, readAfter(wrapped, func() (departures, error) { return leaving, nil }, func(got Object) error {
			got.SetName("read")
			return nil
		}))
		require.Equal(t, "read", wrapped.GetName(), "a type that cannot be copied is read all the same")
	})
}

// wrappedConfigMap copies what is in it, and not itself.
type wrappedConfigMap struct{ *corev1.ConfigMap }

func TestWhatIsOlderThanItsDepartureIsFoundInEachForm(t *testing.T) {
	leaving := departures(nil).with(shopKey("a"), "7").with(shopKey("b"), "9")
	at := func(name, version string) *corev1.ConfigMap {
		object := configMap(name)
		object.ResourceVersion = version
		return object
	}
	for _, c := range []struct {
		read runtime.Object
		old  bool
	}{
		{at("a", "6"), true}, {at("a", "7"), false}, {at("a", "10"), false}, {at("b", "8"), true}, {at("c", "1"), false}, {at("a", ""), false},
		{&corev1.ConfigMapList{Items: []corev1.ConfigMap{*at("a", "6"), *at("c", "1")}}, true},
		{&corev1.ConfigMapList{Items: []corev1.ConfigMap{*at("c", "1"), *at("b", "8")}}, true},
		{&corev1.ConfigMapList{Items: []corev1.ConfigMap{*at("c", "1"), *at("b", "9")}}, false},
		{&corev1.ConfigMapList{}, false}, {&runtime.Unknown{}, false},
	} {
		require.Equal(t, c.old, leaving.areIn(c.read), "%v", c.read)
	}
	require.False(t, departures(nil).areIn(at("a", "1")))
}
