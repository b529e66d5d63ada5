package informer

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// ending starts a wait for the end of an object with that UID, and returns what it has come to.
func ending(
	ctx context.Context, i *Informer[*corev1.ConfigMap], key Key,
	uid types.UID) (result func() (ended bool, err error),
) {
	var mu sync.Mutex
	var ended bool
	var problem error
	go func() {
		err := i.WaitForEnd(ctx, key, func(c *corev1.ConfigMap) bool { return c.UID == uid })
		mu.Lock()
		defer mu.Unlock()
		ended, problem = true, err
	}()
	return func() (bool, error) {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		return ended, problem
	}
}

// Who has deleted an object must not read it again, and must not be held up by what happens to
// others.
func TestAWaitForTheEndOfAnObjectEndsWhenTheStoreHoldsItNoMore(t *testing.T) {
	inInformer(t, InformerOptions[*corev1.ConfigMap]{}, func(t *testing.T, w world,
		i *Informer[*corev1.ConfigMap], start, _ func()) {
		a := w.create(t, "a", nil)
		w.create(t, "b", nil)
		start()
		require.NoError(t, i.WaitForSync(t.Context()))
		require.NoError(t, i.WaitForEnd(t.Context(), keyIn(w.namespace, "nobody"),
			func(*corev1.ConfigMap) bool { return true }))

		first, second := ending(t.Context(), i, KeyOf(a), a.UID), ending(t.Context(), i, KeyOf(a), a.UID)
		w.change(t, "a", 1)
		w.change(t, "b", 1)
		w.delete(t, "b")
		for _, result := range []func() (bool, error){first, second} {
			ended, _ := result()
			require.False(t, ended, "a is still there")
		}
		w.delete(t, "a")
		for _, result := range []func() (bool, error){first, second} {
			ended, err := result()
			require.True(t, ended, "a is gone")
			require.NoError(t, err)
		}
	})
}

// An object of the same name is another one, if it has another UID.
func TestAWaitForTheEndOfAnObjectIsNotDeceivedByItsSuccessor(t *testing.T) {
	inInformer(t, InformerOptions[*corev1.ConfigMap]{}, func(t *testing.T, w world,
		i *Informer[*corev1.ConfigMap], start, _ func()) {
		a := w.create(t, "a", nil)
		start()
		require.NoError(t, i.WaitForSync(t.Context()))
		result := ending(t.Context(), i, KeyOf(a), a.UID)
		w.delete(t, "a")
		next := w.create(t, "a", nil)
		require.NotEqual(t, a.UID, next.UID)
		ended, err := result()
		require.True(t, ended)
		require.NoError(t, err)
		require.NoError(t, i.WaitForEnd(t.Context(), KeyOf(a),
			func(c *corev1.ConfigMap) bool { return c.UID == a.UID }))
	})
}

func TestAWaitForTheEndOfAnObjectEndsWithItsContextAndWithTheInformer(t *testing.T) {
	inInformer(t, InformerOptions[*corev1.ConfigMap]{}, func(t *testing.T, w world,
		i *Informer[*corev1.ConfigMap], start, stop func()) {
		a := w.create(t, "a", nil)
		start()
		require.NoError(t, i.WaitForSync(t.Context()))
		here := func(*corev1.ConfigMap) bool { return true }
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("enough"))
		defer cancel()
		require.EqualError(t, i.WaitForEnd(ctx, KeyOf(a), here),
			"waiting for the end of "+metav1.NamespaceDefault+"/a: enough")

		result := ending(t.Context(), i, KeyOf(a), a.UID)
		ended, _ := result()
		require.False(t, ended)
		stop()
		ended, err := result()
		require.True(t, ended)
		require.ErrorIs(t, err, errInformerStopped)
		require.ErrorIs(t, i.WaitForEnd(t.Context(), KeyOf(a), here), errInformerStopped)
	})
}

// Between the look into the store and the wait, the event may come. No other one may come for an
// hour.
func TestAChangeThatComesDuringTheLookEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := handFed(InformerOptions[*corev1.Pod]{})
		i.Replace([]*corev1.Pod{a1}, "1")
		require.NoError(t, i.WaitForEnd(t.Context(), KeyOf(a1), func(*corev1.Pod) bool {
			i.Apply(eventOf(watch.Deleted, a2))
			return true
		}))
	})
}

// What the store holds need not be waited for, even in the moment between the change of the store
// and the note of how far that has come.
func TestAWaitForWhatIsInTheStoreIsOver(t *testing.T) {
	i := handFed(InformerOptions[*corev1.Pod]{})
	i.store.Put(a2)
	require.NoError(t, i.WaitFor(over(t), KeyOf(a2), "2"))
	require.ErrorIs(t, i.WaitFor(over(t), KeyOf(a2), "3"), context.Canceled)
}

// The server was restored from a backup: a deleted object is back, and it'll take days until the server has counted up to
// the version of an undone write. Whoever waits for the one or the other would wait for that long.
func TestAListOfAnEarlierHistoryEndsTheWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		w := newWorld(t, server.Config(), metav1.NamespaceDefault)
		i := NewInformer(ListerWatcher[*corev1.ConfigMap](w.listWatch(t, ListWatchOptions{})), InformerOptions[*corev1.ConfigMap]{})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		defer running.Wait()
		defer cancel()
		a := w.create(t, "a", nil)
		running.Go(func() { _ = i.Run(ctx) })
		require.NoError(t, i.WaitForSync(ctx))
		require.Zero(t, i.Rewinds())
		backup := server.Backup()
		server.Advance(1000)
		w.change(t, "a", 1)
		synctest.Wait()
		server.Restore(backup)

		gone := ending(ctx, i, KeyOf(a), a.UID)
		hour, cancelHour := context.WithTimeout(ctx, time.Hour)
		defer cancelHour()
		require.NoError(t, i.WaitFor(hour, KeyOf(a), "5000"))
		require.Equal(t, 1, i.Rewinds())
		ended, err := gone()
		require.True(t, ended)
		require.NoError(t, err)
		require.False(t, isReached(i.Health().ResourceVersion, "1000"), "the store shows the history of the backup")
	})
}
