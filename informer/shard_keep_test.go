package informer

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// refuse makes the server refuse all reads of ConfigMaps, until the function that it returns is called.
func (w *shardWorld) refuse() (again func()) {
	return w.server.Inject(fakeapi.Fault{
		Match: fakeapi.Match{Verb: "list|watch", Resource: "configmaps"}, Status: fakeapi.Forbidden(),
	})
}

// isNotTakenForAbsent checks a read of an object that exists.
func (w *shardWorld) isNotTakenForAbsent(namespace string) {
	w.Helper()
	_, found, kept := w.informer.Get(Key{Namespace: namespace, Name: "early"})
	require.False(w, kept && !found, "%s/early exists", namespace)
}

// Readers beside the changes look into every gap between two steps.
func TestReadersBesideChangesTakeNothingForAbsent(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	withShard(t, []string{"red", "green"}, func(w *shardWorld, _ shardServer) {
		var stop atomic.Bool
		var wrong atomic.Int64
		var reading sync.WaitGroup
		reading.Go(func() {
			for !stop.Load() {
				if _, found, kept := w.informer.Get(Key{Namespace: "red", Name: "early"}); kept && !found {
					wrong.Add(1)
				}
			}
		})
		reading.Go(func() {
			for !stop.Load() {
				some := 0
				if w.informer.ReadKept("red", func() { some = len(w.keys()) }) && some == 0 {
					wrong.Add(1)
				}
			}
		})
		for range 50 {
			w.keep("green")
			w.keep("red", "green")
		}
		stop.Store(true)
		reading.Wait()
		require.Zero(w, wrong.Load())
	})
}

// ReadKept reads again if the shard has changed meanwhile.
func TestAReadDuringWhichANamespaceLeavesDoesNotCount(t *testing.T) {
	withShard(t, []string{"red"}, func(w *shardWorld, _ shardServer) {
		reads := 0
		require.False(w, w.informer.ReadKept("red", func() {
			reads++
			w.keep("blue")
		}))
		require.Equal(w, 1, reads)
		require.True(w, w.informer.ReadKept("blue", func() {
			if reads++; reads == 2 {
				w.keep("blue", "green")
			}
		}))
		require.Equal(w, 3, reads)
	})
}

// An empty shard's list has the newest version that was seen, and the end of a stream shows one. With an older one, the
// reflector would believe that the server was restored from a backup.
func TestAnEmptyShardIsNotOlderThanTheStreamBeforeIt(t *testing.T) {
	withShard(t, []string{"red"}, func(w *shardWorld, _ shardServer) {
		began := time.Now()
		w.keep()
		require.Zero(w, time.Since(began), "it needs nobody's answer")
		require.Zero(w, w.informer.Rewinds())
		require.NoError(w, w.informer.Health().LastError)
	})
}

// Keep says what it wants, and then wakes the reflector. A list that was made between the two is of the shard before: it may be older
// than what the previous owner has written.
func TestAListBetweenTheTwoHalvesOfKeepIsOfTheShardBefore(t *testing.T) {
	withShard(t, []string{"red"}, func(w *shardWorld, _ shardServer) {
		w.informer.shards.want(shardOf("red", "green"))
		w.informer.reflector.renewed = nil // any other reason for a list
		w.informer.reflector.renew()
		synctest.Wait()
		require.Equal(w, []string{"red/early"}, w.keys())
		short, cancel := context.WithTimeout(w.Context(), time.Minute)
		defer cancel()
		require.ErrorIs(w, w.informer.WaitForShard(short), context.DeadlineExceeded)
		w.informer.reflector.renewed = informerSink[*corev1.ConfigMap]{w.informer}.renewed
		w.informer.reflector.renew()
		require.NoError(w, w.informer.WaitForShard(w.Context()))
		require.ElementsMatch(w, []string{"red/early", "green/early"}, w.keys())
	})
}

// duringReplace calls f on the reflector's goroutine while it puts objects of a namespace into the store.
func (w *shardWorld) duringReplace(namespace string, f func()) {
	var once sync.Once
	_, err := w.informer.store.AddIndex("look", func(found []string, object *corev1.ConfigMap) []string {
		if object.Namespace == namespace {
			once.Do(f)
		}
		return found
	})
	require.NoError(w, err)
}

// The list that's put into the store is of the shard before, and the next one is refused.
func TestAKeepDuringAReplaceClaimsNothing(t *testing.T) {
	withShard(t, []string{"red"}, func(w *shardWorld, _ shardServer) {
		w.duringReplace("green", func() {
			w.refuse()
			w.informer.Keep(shardOf("green", "blue"))
		})
		w.informer.Keep(shardOf("green"))
		synctest.Wait()
		w.informer.Keep(shardOf("green", "blue", "red"))
		require.NoError(w, w.informer.WaitForLeave(w.Context()))
		require.Equal(w, []string{"green/early"}, w.keys())
		for _, namespace := range []string{"red", "green", "blue"} {
			w.isNotTakenForAbsent(namespace)
		}
	})
}

// The reflector's goroutine is busy, and learns of both at once.
func TestWhatLeftBetweenTwoKeepsHasLeft(t *testing.T) {
	withShard(t, []string{"red"}, func(w *shardWorld, _ shardServer) {
		w.duringReplace("green", func() {
			w.refuse()
			w.informer.Keep(shardOf("red", "blue"))
			w.informer.Keep(shardOf("red", "green", "blue"))
		})
		w.informer.Keep(shardOf("red", "green"))
		synctest.Wait()
		require.NoError(w, w.informer.WaitForLeave(w.Context()))
		require.Equal(w, []string{"red/early"}, w.keys(), "another process may have changed what's in green")
		w.isNotTakenForAbsent("green")
	})
}

// keepsAgain calls Keep when it's asked for the first time: the reflector's goroutine asks it what has to go.
type keepsAgain struct {
	namespaces
	once *sync.Once
	f    func()
}

func (k keepsAgain) Has(namespace string) bool {
	k.once.Do(k.f)
	return k.namespaces.Has(namespace)
}

func TestAKeepWhileSomethingLeavesIsNotLost(t *testing.T) {
	withShard(t, []string{"red"}, func(w *shardWorld, _ shardServer) {
		w.refuse()
		w.informer.Keep(keepsAgain{namespaces{"red"}, new(sync.Once), func() { w.informer.Keep(shardOf("blue")) }})
		synctest.Wait()
		short, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		require.NoError(w, w.informer.WaitForLeave(short))
		require.Empty(w, w.keys())
	})
}

func TestNothingLeavesAfterAList(t *testing.T) {
	withShard(t, []string{"red"}, func(w *shardWorld, _ shardServer) {
		w.keep("blue")
		short, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		require.NoError(w, w.informer.WaitForLeave(short))
	})
}

// A kind that may not be listed keeps what all shards since have in common. It doesn't remember all of them.
func TestShardsThatAreNeverListedAreForgotten(t *testing.T) {
	withShard(t, []string{"red", "green"}, func(w *shardWorld, _ shardServer) {
		allowAgain := w.refuse()
		keep := func(namespaces ...string) {
			w.informer.Keep(shardOf(namespaces...))
			require.NoError(w, w.informer.WaitForLeave(w.Context()))
		}
		for range mostUnlisted - 1 {
			keep("red", "blue")
		}
		require.Equal(w, []string{"red/early"}, w.keys())
		for range 3 * mostUnlisted {
			keep("red", "blue")
			require.LessOrEqual(w, len(w.informer.kept.Load().namespaces), mostUnlisted)
		}
		require.Empty(w, w.keys())
		require.False(w, w.informer.Keeps("red"))
		allowAgain()
		require.NoError(w, w.informer.WaitForShard(w.Context()))
		require.ElementsMatch(w, []string{"red/early", "blue/early"}, w.keys())
	})
}

// The server was restored from a backup. A list that's older ends waits for what may be undone, but it's of the shard before.
func TestARestoreDoesNotEndTheWaitForAShard(t *testing.T) {
	withShard(t, []string{"red"}, func(w *shardWorld, _ shardServer) {
		w.informer.shards.want(shardOf("blue")) // the reflector hears of it when Replace has ended
		waited := make(chan error, 2)
		go func() { waited <- w.informer.WaitForShard(w.Context()) }()
		go func() { waited <- w.informer.WaitForLeave(w.Context()) }()
		synctest.Wait()
		informerSink[*corev1.ConfigMap]{w.informer}.Replace(nil, "1")
		synctest.Wait()
		require.Equal(w, 1, w.informer.Rewinds())
		require.Empty(w, waited)
		w.informer.reflector.renew()
		require.NoError(w, <-waited)
		require.NoError(w, <-waited)
		require.Equal(w, []string{"blue/early"}, w.keys())
	})
}

func TestAKeepBeforeRunCounts(t *testing.T) {
	withShard(t, []string{"red"}, func(w *shardWorld, _ shardServer) {
		from, err := NewListWatch[*corev1.ConfigMap](w.server.Config(), configMapResource, ListWatchOptions{})
		require.NoError(w, err)
		another := NewInformer(from, InformerOptions[*corev1.ConfigMap]{Shard: ShardOptions{First: shardOf("red")}})
		another.Keep(shardOf("blue"))
		ctx, stop := context.WithCancel(w.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = another.Run(ctx) })
		short, cancel := context.WithTimeout(w.Context(), time.Minute)
		defer cancel()
		require.NoError(w, another.WaitForShard(short))
		require.True(w, another.Keeps("blue"))
		require.False(w, another.Keeps("red"))
		stop()
		running.Wait()
	})
}
