package client

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// reaching is a cache that says how far it has come.
type reaching struct{ *lateCache }

// Reached implements Progress.
func (c reaching) Reached(Object, ObjectKey) (string, int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprint(c.version), c.rewinds
}

// loseAHistory restores a backup, after the cache has seen a write that isn't in it.
func (w *lateWorld) loseAHistory() {
	w.reader.waiter = reaching{w.cache}
	backup := w.server.Backup()
	w.server.Advance(1000)
	w.mustCreate(configMap("lost"))
	w.cache.see(w.Context())
	w.server.Restore(backup)
}

// A ReplicaSet's controller created 12,500 Pods in half a minute: after a restore from a backup, the
// versions of new objects are older than the one that the cache has reached, so each create counted
// as seen.
func TestAReadFailsWhileTheCacheShowsAHistoryThatWasUndone(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		w.loseAHistory()

		w.mustCreate(configMap("made"))
		err := w.Get(w.Context(), shopKey("made"), configMap("made"))
		require.ErrorIs(t, err, errAhead)
		require.False(t, apierrors.IsNotFound(err), "it would be made again")
		require.ErrorIs(t, w.List(w.Context(), &corev1.ConfigMapList{}), errAhead)

		w.cache.see(w.Context())
		require.NoError(t, w.Get(w.Context(), shopKey("made"), configMap("made")))
		require.NoError(t, w.List(w.Context(), &corev1.ConfigMapList{}))
		require.Equal(t, unconfirmed{}, w.reader.writesOf(configMap("")).to(shopKey("made")),
			"versions are given out a second time, so the old one must be forgotten")
		err = w.Get(w.Context(), shopKey("lost"), configMap("lost"))
		require.True(t, apierrors.IsNotFound(err), "%v", err)
	})
}

// The list that takes the cache back may be older than an object that was created in the new history. That one isn't undone, so
// the read waits for it.
func TestAReadWaitsForWhatWasCreatedInTheNewHistory(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		w.loseAHistory()
		made := configMap("made")
		w.mustCreate(made)

		w.cache.mu.Lock()
		w.cache.version, w.cache.rewinds = number(made.ResourceVersion)-1, 1
		w.cache.mu.Unlock()
		w.waits(func() error { return w.Get(w.Context(), shopKey("made"), configMap("made")) })
		require.NoError(t, w.Get(w.Context(), shopKey("made"), configMap("made")))
	})
}

// Two backups were restored, one after the other. What the first history had deleted is no reason to wait in the third.
func TestACreateForgetsWhatAnEarlierHistoryHadDeleted(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		w.reader.waiter = reaching{w.cache}
		writes := w.reader.writesOf(configMap(""))
		writes.deleted(shopKey("made"), 0, "undone")
		w.server.Advance(1000)
		w.cache.see(w.Context())
		w.cache.mu.Lock()
		w.cache.version, w.cache.rewinds = w.cache.version+1000, 1
		w.cache.mu.Unlock()
		w.mustCreate(configMap("made"))
		require.ErrorIs(t, w.Get(w.Context(), shopKey("made"), configMap("made")), errAhead)
		require.Empty(t, writes.to(shopKey("made")).deleted)
	})
}

// Otherwise a controller would stand still whenever somebody else writes, too.
func TestACacheThatIsOnlyLateIsWaitedFor(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		w.reader.waiter = reaching{w.cache}
		w.mustCreate(configMap("made"))
		w.waits(func() error { return w.Get(w.Context(), shopKey("made"), configMap("made")) })
	})
}
