package cache_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/inorder"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
)

// shard has these namespaces. It sends no selector, so the server sends everything; the tests of
// package informer play those that select.
type shard []string

func (s shard) Has(namespace string) bool { return slices.Contains(s, namespace) }
func (s shard) Selector() string          { return "" }
func (s shard) IsEmpty() bool             { return len(s) == 0 }

// inShard runs a test with a started cache that keeps some namespaces of three, in each of which
// there's the ConfigMap "early".
func inShard(t *testing.T, options cache.Options, test func(t *testing.T, w *world, keep func(namespaces ...string))) {
	inWorld(t, options, func(t *testing.T, w *world) {
		w.namespaces("red", "green", "blue")
		for _, namespace := range []string{"red", "green", "blue"} {
			w.configMaps(namespace, "early")
		}
		w.begin()
		defer w.end()
		sharded := w.Cache.(cache.Sharded)
		test(t, w, func(namespaces ...string) {
			sharded.Keep(shard(namespaces))
			require.NoError(t, sharded.WaitForShard(t.Context()))
		})
	})
}

// elsewhere checks that reads of a namespace say that another replica has it. A controller would
// take "not found" for a deletion.
func (w *world) elsewhere(namespace string) {
	w.t.Helper()
	for _, err := range []error{
		w.Get(w.t.Context(), key(namespace, "early"), &corev1.ConfigMap{}),
		w.Get(w.t.Context(), key(namespace, "never"), &corev1.ConfigMap{}),
		w.List(w.t.Context(), &corev1.ConfigMapList{}, client.InNamespace(namespace)),
	} {
		var says *cache.ShardError
		require.ErrorAs(w.t, err, &says)
		require.Equal(w.t, namespace, says.Namespace)
		require.Equal(w.t, "ConfigMap", says.GVK.Kind)
		require.False(w.t, apierrors.IsNotFound(err))
	}
}

func TestAReadOfAnotherReplicasNamespaceSaysSo(t *testing.T) {
	inShard(t, cache.Options{Shard: shard{"red"}}, func(t *testing.T, w *world, keep func(...string)) {
		require.NoError(t, w.Get(t.Context(), key("red", "early"), &corev1.ConfigMap{}))
		require.True(t, apierrors.IsNotFound(w.Get(t.Context(), key("red", "never"), &corev1.ConfigMap{})), "this one is ours, and absent")
		w.elsewhere("blue")
		require.Equal(t, []string{"red/early"}, w.listed(), "a list of all namespaces has ours")
		keep("green", "blue")
		w.elsewhere("red")
		require.ElementsMatch(t, []string{"blue/early", "green/early"}, w.listed())
		keep()
		require.Empty(t, w.listed())
		w.elsewhere("blue")
	})
}

// Nobody would have these objects if each replica kept the part that belongs to the empty name.
func TestKindsWithoutNamespacesAreKeptWhole(t *testing.T) {
	inShard(t, cache.Options{Shard: shard{"red"}}, func(t *testing.T, w *world, keep func(...string)) {
		for range 2 {
			for _, name := range []string{"red", "green", "blue"} {
				require.NoError(t, w.Get(t.Context(), key("", name), &corev1.Namespace{}))
			}
			keep("blue")
		}
		require.Equal(t, 1, w.watches("namespaces"), "another shard is no reason to list them again")
	})
}

// Reconcilers of one namespace may read another one's objects of a kind that's kept whole.
func TestAKindCanBeKeptWhole(t *testing.T) {
	whole := cache.Options{Shard: shard{"red"}, ByObject: map[client.Object]cache.ByObject{&corev1.ConfigMap{}: {KeepWhole: true}}}
	inShard(t, whole, func(t *testing.T, w *world, keep func(...string)) {
		for range 2 {
			require.Equal(t, []string{"blue/early", "green/early", "red/early"}, w.listed())
			require.NoError(t, w.Get(t.Context(), key("blue", "early"), &corev1.ConfigMap{}))
			keep("green")
		}
	})
}

// What the other replica has written while it had the namespace must be there when it's ours again.
func TestANamespaceThatComesBackIsAsNewAsTheServer(t *testing.T) {
	inShard(t, cache.Options{Shard: shard{"red"}}, func(t *testing.T, w *world, keep func(...string)) {
		require.Equal(t, []string{"red/early"}, w.listed())
		keep("blue")
		w.configMaps("red", "late")
		w.delete("red", "early")
		keep("red", "blue")
		require.Equal(t, []string{"blue/early", "red/late"}, w.listed())
		require.True(t, apierrors.IsNotFound(w.Get(t.Context(), key("red", "early"), &corev1.ConfigMap{})))
	})
}

// The namespace has gone again before the list of its objects has ended. That list must not bring
// them, and whoever waits for the new shard must not take the old one's list for it.
func TestAListThatEndsAfterItsNamespaceHasGoneBringsNothing(t *testing.T) {
	inShard(t, cache.Options{Shard: shard{"red"}}, func(t *testing.T, w *world, keep func(...string)) {
		require.Equal(t, []string{"red/early"}, w.listed())
		for _, verb := range []string{"list", "watch"} {
			defer w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: verb, Resource: "configmaps"}, Times: 1, Delay: 5 * time.Second})()
		}
		sharded := w.Cache.(cache.Sharded)
		sharded.Keep(shard{"red", "green"})
		time.Sleep(time.Second)
		keep("blue")
		require.Equal(t, []string{"blue/early"}, w.listed())
		time.Sleep(time.Minute)
		require.Equal(t, []string{"blue/early"}, w.listed())
		w.elsewhere("green")
	})
}

// A replica would begin to work on an empty cache while the server is away.
func TestWaitForShardWaitsForAServerThatsAway(t *testing.T) {
	inShard(t, cache.Options{Shard: shard{"red"}}, func(t *testing.T, w *world, keep func(...string)) {
		require.Equal(t, []string{"red/early"}, w.listed())
		var lift []func()
		for _, verb := range []string{"list", "watch"} {
			lift = append(lift, w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: verb, Resource: "configmaps"}, Status: fakeapi.Unavailable()}))
		}
		sharded := w.Cache.(cache.Sharded)
		sharded.Keep(shard{"blue"})
		short, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := sharded.WaitForShard(short)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "configmaps")
		w.elsewhere("blue")
		for _, now := range lift {
			now()
		}
		require.NoError(t, sharded.WaitForShard(t.Context()))
		require.Equal(t, []string{"blue/early"}, w.listed())
	})
}

// A kind that this program may no longer list would keep all others from being worked on.
func TestWaitForShardDoesNotWaitForKindsThatCannotBeListed(t *testing.T) {
	inShard(t, cache.Options{Shard: shard{"red"}}, func(t *testing.T, w *world, keep func(...string)) {
		require.Equal(t, []string{"red/early"}, w.listed())
		var secrets corev1.SecretList
		require.NoError(t, w.List(t.Context(), &secrets))
		for _, verb := range []string{"list", "watch"} {
			defer w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: verb, Resource: "secrets"}, Status: fakeapi.Forbidden()})()
		}
		keep("blue")
		require.Equal(t, []string{"blue/early"}, w.listed())
	})
}

// It isn't listed any more, and so nobody knows what another replica has done there meanwhile. What was in the cache before is the
// one thing that mustn't be read.
func TestANamespaceThatComesBackAndCannotBeListedIsNotTheOldOne(t *testing.T) {
	for name, lose := range inorder.Map(map[string]func(w *world, keep func(...string)){
		"after a while": func(w *world, keep func(...string)) { keep("blue") },
		"at once":       func(w *world, _ func(...string)) { w.Cache.(cache.Sharded).Keep(shard{"blue"}) },
	}) {
		t.Run(name, func(t *testing.T) {
			inShard(t, cache.Options{Shard: shard{"red", "green"}}, func(t *testing.T, w *world, keep func(...string)) {
				require.Equal(t, []string{"green/early", "red/early"}, w.listed())
				lift := w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "list|watch", Resource: "configmaps"}, Status: fakeapi.Forbidden()})
				keep("red", "green")
				require.Equal(t, []string{"green/early", "red/early"}, w.listed(), "they've been here all the time")
				lose(w, keep)
				w.configMaps("red", "late")
				w.delete("red", "early")
				keep("red")
				w.elsewhere("red")
				require.Empty(t, w.listed())
				keep("red", "green")
				w.elsewhere("red")
				w.elsewhere("green")

				lift()
				time.Sleep(time.Hour)
				require.NoError(t, w.Cache.(cache.Sharded).WaitForShard(t.Context()))
				require.Equal(t, []string{"green/early", "red/late"}, w.listed())
			})
		})
	}
}

// slowShard takes a minute to say what belongs to it.
type slowShard struct{ shard }

func (s slowShard) Has(namespace string) bool {
	time.Sleep(time.Minute)
	return s.shard.Has(namespace)
}

// Work begins when WaitForShard returns, and would find what's about to leave.
func TestWaitForShardWaitsUntilWhatLeftIsGone(t *testing.T) {
	inShard(t, cache.Options{Shard: shard{"red"}}, func(t *testing.T, w *world, keep func(...string)) {
		require.Equal(t, []string{"red/early"}, w.listed())
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "list|watch", Resource: "configmaps"}, Status: fakeapi.Forbidden()})
		keep("red")
		began, sharded := time.Now(), w.Cache.(cache.Sharded)
		sharded.Keep(slowShard{shard{"blue"}})
		require.NoError(t, sharded.WaitForShard(t.Context()))
		require.Equal(t, time.Minute, time.Since(began))
		require.Empty(t, w.listed())
	})
}

// Informers are made when somebody reads a kind for the first time.
func TestAnInformerThatsMadeLaterKeepsTheShardOfThatTime(t *testing.T) {
	inShard(t, cache.Options{Shard: shard{}}, func(t *testing.T, w *world, keep func(...string)) {
		keep("blue")
		require.Equal(t, []string{"blue/early"}, w.listed())
		heard := newHearing()
		in, err := w.GetInformer(t.Context(), &corev1.ConfigMap{})
		require.NoError(t, err)
		_, err = in.AddEventHandler(heard)
		require.NoError(t, err)
		synctest.Wait()
		w.configMaps("red", "late")
		w.delete("green", "early")
		keep("green", "red")
		w.delete("red", "early")
		synctest.Wait()
		require.ElementsMatch(t, []string{
			"initial *v1.ConfigMap blue/early", // it has gone to another replica since, and that's no deletion
			"add *v1.ConfigMap red/early", "add *v1.ConfigMap red/late", "delete *v1.ConfigMap red/early",
		}, heard.all())
	})
}

// asked calls f in the goroutine of a reader, which asks whether a namespace is kept.
type asked struct {
	shard
	f *func(namespace string)
}

func (a asked) Has(namespace string) bool {
	has := a.shard.Has(namespace)
	if *a.f != nil {
		(*a.f)(namespace)
	}
	return has
}

// The namespace leaves between a reader's question and its list.
func TestAListOfANamespaceThatLeavesIsNotEmpty(t *testing.T) {
	var f func(string)
	inShard(t, cache.Options{Shard: asked{shard{"red"}, &f}}, func(t *testing.T, w *world, _ func(...string)) {
		require.Equal(t, []string{"red/early"}, w.listed())
		synctest.Wait()
		left := false
		f = func(string) {
			f, left = nil, true
			w.Cache.(cache.Sharded).Keep(shard{"blue"})
			synctest.Wait()
		}
		var list corev1.ConfigMapList
		var elsewhere *cache.ShardError
		require.ErrorAs(t, w.List(t.Context(), &list, client.InNamespace("red")), &elsewhere, "it has %v", list.Items)
		require.True(t, left)
	})
}

// A kind whose permission was missing from the start would shut the gate for good.
func TestWaitForShardDoesNotWaitForAKindThatWasNeverListed(t *testing.T) {
	inShard(t, cache.Options{Shard: shard{"red"}}, func(t *testing.T, w *world, keep func(...string)) {
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "list|watch", Resource: "secrets"}, Status: fakeapi.Forbidden()})
		require.Error(t, w.List(t.Context(), &corev1.SecretList{}))
		began := time.Now()
		keep("blue")
		require.Less(t, time.Since(began), time.Minute, "by the bubble's clock")
	})
}
