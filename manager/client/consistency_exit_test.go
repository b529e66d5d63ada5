package client_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
)

// redWorld has a cache of what is red, which hears of each event a second late, and a client of it that reads its own
// writes.
type redWorld struct {
	*testing.T
	client.Client
	others client.Client // somebody else
}

func inRedWorld(t *testing.T, test func(w *redWorld)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "watch"}, DelayEvents: time.Second})
		objects, err := cache.New(server.Config(), cache.Options{DefaultLabelSelector: labels.SelectorFromSet(labels.Set{"color": "red"})})
		require.NoError(t, err)
		w := &redWorld{T: t}
		w.Client, err = client.New(server.Config(), client.Options{Cache: &client.CacheOptions{Reader: objects, EnableReadYourWritesConsistency: new(true)}})
		require.NoError(t, err)
		w.others, err = client.New(server.Config(), client.Options{})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- objects.Start(ctx) }()
		synctest.Wait()
		require.NoError(t, w.List(ctx, &corev1.ConfigMapList{}))
		time.Sleep(time.Minute)
		test(w)
		stop()
		require.NoError(t, <-ended)
	})
}

func colored(color string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", Labels: map[string]string{"color": color}}}
}

// paint writes another color, and something else, so that each write is a change.
func (w *redWorld) paint(c client.Client, color, data string) {
	w.Helper()
	object := colored(color)
	object.Data = map[string]string{"data": data}
	require.NoError(w, c.Update(w.Context(), object))
}

// staysAway reads for ten seconds, and must not find the object. No read may wait longer than an event takes.
func (w *redWorld) staysAway() {
	w.Helper()
	for began := time.Now(); time.Since(began) < 10*time.Second; time.Sleep(100 * time.Millisecond) {
		asked := time.Now()
		err := w.Get(w.Context(), client.ObjectKeyFromObject(colored("")), &corev1.ConfigMap{})
		require.True(w, apierrors.IsNotFound(err), "after %s: %v", time.Since(began), err)
		var all corev1.ConfigMapList
		require.NoError(w, w.List(w.Context(), &all))
		require.Empty(w, all.Items, "after %s", time.Since(began))
		require.LessOrEqual(w, time.Since(asked), 3*time.Second, "a read waits for something that has no event, until the next bookmark")
	}
}

// Such a write has no event, and the next bookmark is a minute away.
func TestAWriteOfAnObjectThatHasLeftTheCacheIsNotWaitedFor(t *testing.T) {
	inRedWorld(t, func(w *redWorld) {
		require.NoError(w, w.Create(w.Context(), colored("red")))
		require.NoError(w, w.Get(w.Context(), client.ObjectKeyFromObject(colored("")), &corev1.ConfigMap{}))
		w.paint(w, "blue", "1")
		time.Sleep(10 * time.Second)
		w.paint(w, "blue", "2")
		began := time.Now()
		require.True(w, apierrors.IsNotFound(w.Get(w.Context(), client.ObjectKeyFromObject(colored("")), &corev1.ConfigMap{})))
		require.Zero(w, time.Since(began))
	})
}

// The first of these writes takes the object out of the cache. The second has no event.
func TestAnObjectThatLeavesTheCacheCanBeWrittenAgain(t *testing.T) {
	inRedWorld(t, func(w *redWorld) {
		require.NoError(w, w.Create(w.Context(), colored("red")))
		require.NoError(w, w.Get(w.Context(), client.ObjectKeyFromObject(colored("")), &corev1.ConfigMap{}))
		w.paint(w, "blue", "1")
		w.paint(w, "blue", "2")
		began := time.Now()
		require.True(w, apierrors.IsNotFound(w.Get(w.Context(), client.ObjectKeyFromObject(colored("")), &corev1.ConfigMap{})))
		require.Equal(w, time.Second, time.Since(began), "the event that takes it away ends the wait")
		w.staysAway()
		w.paint(w, "red", "3")
		w.paint(w, "blue", "4")
		w.paint(w, "red", "5")
		var read corev1.ConfigMap
		require.NoError(w, w.Get(w.Context(), client.ObjectKeyFromObject(colored("")), &read))
		require.Equal(w, "5", read.Data["data"])
	})
}

// The cache shows what it was told to keep a moment after it was taken out, and a reconciler would work on it.
func TestAnObjectThatHasLeftIsNotReadWhenItsComingIsSeenLate(t *testing.T) {
	inRedWorld(t, func(w *redWorld) {
		require.NoError(w, w.Create(w.Context(), colored("red")))
		w.paint(w, "blue", "1")
		w.staysAway()
	})
	inRedWorld(t, func(w *redWorld) {
		require.NoError(w, w.Create(w.Context(), colored("blue")))
		w.paint(w.others, "red", "1") // of which our cache does not know
		w.paint(w, "blue", "2")
		w.staysAway()
	})
	inRedWorld(t, func(w *redWorld) {
		require.NoError(w, w.Create(w.Context(), colored("red")))
		w.paint(w, "blue", "1")
		require.NoError(w, w.Delete(w.Context(), colored("")))
		w.staysAway()
	})
}
