package mini_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/inorder"
	"github.com/loopwright/loopwright/mini"
)

// lag is how late the watch of ConfigMaps is in a world with a late cache.
const lag = 10 * time.Second

// cached returns a client whose cache runs.
func (w *world) cached() *mini.CachedClient {
	cache := mini.NewCache(w.Cluster)
	w.run(cache.Run)
	return mini.NewCachedClient(cache)
}

// late returns a client whose cache has listed ConfigMaps, and hears of each change
// lag later.
func (w *world) late() *mini.CachedClient {
	w.Server.Inject(fakeapi.Fault{
		Match: fakeapi.Match{Verb: "watch", Resource: "configmaps"}, DelayEvents: lag,
	})
	c := w.cached()
	_, err := mini.List[*corev1.ConfigMap](w.ctx, c, mini.Selection{})
	require.NoError(w, err)
	synctest.Wait()
	return c
}

// read reads a ConfigMap, and returns it or nil, and how long that took.
func (w *world) read(c *mini.CachedClient, name string) (*corev1.ConfigMap, time.Duration) {
	w.Helper()
	began := time.Now()
	cm, err := mini.Get[*corev1.ConfigMap](w.ctx, c, request(name))
	if apierrors.IsNotFound(err) {
		return nil, time.Since(began)
	}
	require.NoError(w, err)
	return cm, time.Since(began)
}

// If a read is a request, the API server pays for every reconcile.
func TestReadsComeFromTheCache(t *testing.T) {
	inMemory(t, func(w *world) {
		want := w.otherCreates(aConfigMap("a", "k", "v"))
		c := w.cached()
		got, _ := w.read(c, "a")
		require.Equal(w, want, got)
		_, err := mini.Get[*corev1.ConfigMap](w.ctx, c, request("b"))
		require.True(w, apierrors.IsNotFound(err), "%v", err)
		require.Contains(w, strings.ToLower(err.Error()), `configmap`, "the error says what is missing")
		require.ErrorContains(w, err, "b")
		into := aConfigMap("other", "before", "x")
		into.Immutable = new(true)
		require.NoError(w, c.Get(w.ctx, request("a"), into))
		require.Equal(w, want, into, "Get merges the object with what was in the Go value")
		for range 100 {
			w.read(c, "a")
		}
		synctest.Wait()
		require.Len(w, w.Server.Requests(fakeapi.Match{Resource: "configmaps"}), 3,
			"create, list and watch: reads send no requests")
		w.otherDeletes("a")
		synctest.Wait()
		got, _ = w.read(c, "a")
		require.Nil(w, got)
		require.Contains(w, kinds(w.Cluster.Trace), "watch event", "the flight recorder shows the informers")
	})
}

func TestReadsReturnCopies(t *testing.T) {
	inMemory(t, func(w *world) {
		cm := aConfigMap("a", "k", "v")
		cm.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "X", Name: "x", UID: "x"}}
		w.otherCreates(cm)
		c := w.cached()
		spoil := func(cm *corev1.ConfigMap) { cm.Data["k"], cm.Name = "spoiled", "spoiled" }
		got, _ := w.read(c, "a")
		spoil(got)
		all, err := mini.List[*corev1.ConfigMap](w.ctx, c, mini.Selection{})
		require.NoError(w, err)
		spoil(all[0])
		some, err := mini.List[*corev1.ConfigMap](w.ctx, c, mini.Selection{Namespace: "default"})
		require.NoError(w, err)
		spoil(some[0])
		owned, err := mini.OwnedBy[*corev1.ConfigMap](w.ctx, c, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "x"}})
		require.NoError(w, err)
		spoil(owned[0])
		got, _ = w.read(c, "a")
		require.Equal(w, "v", got.Data["k"], "the object in the cache belongs to all readers")
		require.Equal(w, "a", got.Name)
	})
}

// Function: CachedClient.List
func TestACachedListHasTheObjectsInTheSelection(t *testing.T) {
	inMemory(t, func(w *world) {
		for _, key := range [][3]string{
			{"kube-system", "c", "red"}, {"default", "b", "blue"}, {"default", "a", "red"},
		} {
			cm := aConfigMap(key[1])
			cm.Namespace, cm.Labels = key[0], map[string]string{"color": key[2]}
			w.otherCreates(cm)
		}
		checkSelections(w, w.cached())
	})
}

func TestOwnedByHasTheObjectsOfOneOwner(t *testing.T) {
	inMemory(t, func(w *world) {
		reference := func(uid string) metav1.OwnerReference {
			return metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "x", UID: types.UID(uid)}
		}
		for name, uids := range inorder.Map(map[string][]string{"none": nil, "a": {"1"}, "b": {"2"}, "c": {"2", "1"}}) {
			cm := aConfigMap(name)
			for _, uid := range uids {
				cm.OwnerReferences = append(cm.OwnerReferences, reference(uid))
			}
			w.otherCreates(cm)
		}
		c := w.cached()
		for uid, want := range inorder.Map(map[string][]string{"1": {"a", "c"}, "2": {"b", "c"}, "3": nil}) {
			owned, err := mini.OwnedBy[*corev1.ConfigMap](w.ctx, c, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid)}})
			require.NoError(w, err)
			var names []string
			for _, cm := range owned {
				names = append(names, cm.Name)
			}
			require.Equal(w, want, names, "owner %s", uid)
		}
	})
}

// Function: Cache.Informer
func TestThereIsOneInformerForEachKind(t *testing.T) {
	inMemory(t, func(w *world) {
		cache := mini.NewCache(w.Cluster)
		maps, err := cache.Informer(&corev1.ConfigMap{})
		require.NoError(w, err)
		again, err := cache.Informer(&corev1.ConfigMap{})
		require.NoError(w, err)
		require.Same(w, maps, again)
		pods, err := cache.Informer(&corev1.Pod{})
		require.NoError(w, err)
		require.NotSame(w, maps, pods)
		_, err = cache.Informer(&lamp{})
		require.ErrorContains(w, err, "lamp", "the scheme does not know it")
		synctest.Wait()
		require.Empty(w, w.Server.Requests(fakeapi.Match{}), "nothing runs before Run")

		w.run(cache.Run)
		synctest.Wait()
		require.Len(w, w.Server.Requests(fakeapi.Match{Verb: "list"}), 2)
		_, err = cache.Informer(&corev1.Service{})
		require.NoError(w, err)
		_, err = cache.Informer(&corev1.Service{})
		require.NoError(w, err)
		synctest.Wait()
		require.Len(w, w.Server.Requests(fakeapi.Match{Verb: "list", Resource: "services"}), 1,
			"an informer that's made while the cache runs must run as well")
		require.Empty(w, again.List())
	})
}

// Two controllers want the Pods at the same moment. With two informers, the cluster pays for two watches, and one of them feeds a
// store that nobody reads.
//
// Function: Cache.Informer
func TestTwoThatWantAnInformerAtTheSameMomentGetTheSameOne(t *testing.T) {
	inMemory(t, func(w *world) {
		cache := mini.NewCache(w.Cluster)
		mu := mutexOf(w.T, cache)
		var first, second *mini.SharedInformer
		mu.Lock()
		inTurns(mu,
			func() { first, _ = cache.Informer(&corev1.Pod{}) },
			func() { second, _ = cache.Informer(&corev1.Pod{}) })
		require.NotNil(w, first)
		require.Same(w, first, second)
	})
}

// Function: Cache.Run
func TestTheCacheEndsWithItsContext(t *testing.T) {
	inMemory(t, func(w *world) {
		cache := mini.NewCache(w.Cluster)
		services, err := cache.Informer(&corev1.Service{})
		require.NoError(w, err)
		services.AddHandler(func(mini.Change) { time.Sleep(time.Minute) })
		_, err = w.Other.CoreV1().Services("default").Create(w.ctx, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "a"},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
		}, metav1.CreateOptions{})
		require.NoError(w, err)
		stop := background(w.T, cache.Run)
		synctest.Wait()
		began := time.Now()
		require.NoError(w, stop())
		require.Equal(w, time.Minute, time.Since(began), "Run has returned, but a handler is still running")
		w.Server.ForgetRequests()
		_, err = cache.Informer(&corev1.ConfigMap{})
		require.NoError(w, err)
		synctest.Wait()
		require.Empty(w, w.Server.Requests(fakeapi.Match{}), "the cache has stopped")
	})
}

// An informer that was made while the cache ran may have a handler that's still writing when the program stops.
//
// Function: Cache.Run
func TestTheCacheAlsoWaitsForInformersThatWereMadeWhileItRan(t *testing.T) {
	inMemory(t, func(w *world) {
		cache := mini.NewCache(w.Cluster)
		stop := background(w.T, cache.Run)
		synctest.Wait()
		maps, err := cache.Informer(&corev1.ConfigMap{})
		require.NoError(w, err)
		maps.AddHandler(func(mini.Change) { time.Sleep(time.Minute) })
		w.otherCreates(aConfigMap("a"))
		synctest.Wait()
		began := time.Now()
		require.NoError(w, stop())
		require.Equal(w, time.Minute, time.Since(began), "Run has returned, but a handler is still running")
	})
}

func TestWaitForSyncWaitsForAllLists(t *testing.T) {
	inMemory(t, func(w *world) {
		cache := mini.NewCache(w.Cluster)
		require.NoError(w, cache.WaitForSync(w.ctx), "there is nothing to wait for")
		for i, like := range []mini.Object{&corev1.Pod{}, &corev1.ConfigMap{}, &corev1.Service{}} {
			w.Server.Inject(fakeapi.Fault{
				Match: fakeapi.Match{Verb: "list", Resource: []string{"pods", "configmaps", "services"}[i]},
				Delay: []time.Duration{time.Second, time.Minute, time.Second}[i],
			})
			_, err := cache.Informer(like)
			require.NoError(w, err)
		}
		ctx, cancel := context.WithTimeout(w.ctx, 30*time.Second)
		defer cancel()
		w.run(cache.Run)
		began := time.Now()
		require.ErrorIs(w, cache.WaitForSync(ctx), context.DeadlineExceeded)
		require.NoError(w, cache.WaitForSync(w.ctx))
		require.Equal(w, time.Minute, time.Since(began))
	})
}

// Function: CachedClient.upToDate
func TestAReadWaitsForTheFirstList(t *testing.T) {
	inMemory(t, func(w *world) {
		w.otherCreates(aConfigMap("a"))
		w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "list"}, Delay: time.Minute})
		cm, took := w.read(w.cached(), "a")
		require.NotNil(w, cm, "before the first list, \"not found\" would be a lie")
		require.Equal(w, time.Minute, took)
	})
}

// Function: CachedClient.upToDate
func TestAReadEndsWithItsContext(t *testing.T) {
	inMemory(t, func(w *world) {
		c := mini.NewCachedClient(mini.NewCache(w.Cluster)) // does not run
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(w.ctx)
		time.AfterFunc(time.Second, func() { cancel(why) })
		_, err := mini.Get[*corev1.ConfigMap](ctx, c, request("a"))
		require.ErrorIs(w, err, why)
		require.False(w, apierrors.IsNotFound(err), "who knows?")
		_, err = mini.List[*corev1.ConfigMap](ctx, c, mini.Selection{})
		require.ErrorIs(w, err, why)
		_, err = mini.OwnedBy[*corev1.ConfigMap](ctx, c, &corev1.Pod{})
		require.ErrorIs(w, err, why)
	})
}

func TestAReadOfATypeThatTheSchemeDoesNotKnowIsAnError(t *testing.T) {
	inMemory(t, func(w *world) {
		c := w.cached()
		_, err := mini.Get[*lamp](w.ctx, c, request("a"))
		require.ErrorContains(w, err, "lamp")
		_, err = mini.List[*lamp](w.ctx, c, mini.Selection{})
		require.ErrorContains(w, err, "lamp")
		_, err = mini.OwnedBy[*lamp](w.ctx, c, &corev1.Pod{})
		require.ErrorContains(w, err, "lamp")
	})
}

func TestAReadShowsWhatTheClientHasCreated(t *testing.T) {
	inMemory(t, func(w *world) {
		c := w.late()
		require.NoError(w, c.Create(w.ctx, aConfigMap("a")))
		began := time.Now()
		cm, _ := w.read(c, "a")
		require.NotNil(w, cm, "the read does not show the client's own write: it would create a second one")
		require.Equal(w, lag, time.Since(began), "until the watch has it, but no longer")
		_, took := w.read(c, "a")
		require.Zero(w, took, "the next read has nothing to wait for")
	})
}

func TestEveryKindOfReadShowsTheClientsOwnWrites(t *testing.T) {
	inMemory(t, func(w *world) {
		c := w.late()
		owner := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "x"}}
		for i := range 3 {
			cm := aConfigMap(fmt.Sprint("a", i))
			cm.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "x", UID: "x"}}
			require.NoError(w, c.Create(w.ctx, cm))
			var all []*corev1.ConfigMap
			var err error
			switch i {
			case 0:
				all, err = mini.List[*corev1.ConfigMap](w.ctx, c, mini.Selection{})
			case 1:
				all, err = mini.List[*corev1.ConfigMap](w.ctx, c, mini.Selection{Namespace: "default"})
			case 2:
				all, err = mini.OwnedBy[*corev1.ConfigMap](w.ctx, c, owner)
			}
			require.NoError(w, err)
			require.Len(w, all, i+1)
		}
	})
}

func TestAReadShowsUpdatesPatchesAndStatus(t *testing.T) {
	inMemory(t, func(w *world) {
		w.otherCreates(aConfigMap("a"))
		c := w.late()
		cm, took := w.read(c, "a")
		require.Zero(w, took)
		cm.Data = map[string]string{"k": "v"}
		require.NoError(w, c.Update(w.ctx, cm))
		cm, _ = w.read(c, "a")
		require.Equal(w, map[string]string{"k": "v"}, cm.Data)
		require.NoError(w, c.Patch(w.ctx, aConfigMap("a"), types.MergePatchType, []byte(`{"data":{"l":"w"}}`)))
		cm, _ = w.read(c, "a")
		require.Equal(w, "w", cm.Data["l"])

		w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "watch", Resource: "replicasets"}, DelayEvents: lag})
		rs := replicaSet("web", 1)
		require.NoError(w, c.Create(w.ctx, rs))
		rs.Status.Replicas = 7
		require.NoError(w, c.UpdateStatus(w.ctx, rs))
		got, err := mini.Get[*appsv1.ReplicaSet](w.ctx, c, request("web"))
		require.NoError(w, err)
		require.EqualValues(w, 7, got.Status.Replicas)
	})
}

func TestAReadShowsThatTheClientHasDeleted(t *testing.T) {
	inMemory(t, func(w *world) {
		w.otherCreates(aConfigMap("a"))
		w.otherCreates(aConfigMap("b"))
		c := w.late()
		a, _ := w.read(c, "a")
		require.NoError(w, c.Delete(w.ctx, a, metav1.DeleteOptions{}))
		gone, took := w.read(c, "a")
		require.Nil(w, gone, "the object was deleted, but the read still shows it")
		require.Equal(w, lag, took)
		require.NoError(w, c.Delete(w.ctx, aConfigMap("b"), metav1.DeleteOptions{}))
		gone, took = w.read(c, "b")
		require.Nil(w, gone, "deleted by its name alone")
		require.Equal(w, lag, took)
		short := aConfigMap("short")
		require.NoError(w, c.Create(w.ctx, short))
		require.NoError(w, c.Delete(w.ctx, short, metav1.DeleteOptions{}))
		gone, took = w.read(c, "short")
		require.Nil(w, gone)
		require.GreaterOrEqual(w, took, lag, "the watch will show the object, and then its end")
	})
}

func TestAReadShowsTheBeginningAndTheEndOfADeletion(t *testing.T) {
	inMemory(t, func(w *world) {
		cm := aConfigMap("a")
		cm.Finalizers = []string{"example.com/f"}
		w.otherCreates(cm)
		c := w.late()
		cm, _ = w.read(c, "a")
		require.NoError(w, c.Delete(w.ctx, cm, metav1.DeleteOptions{}))
		cm, took := w.read(c, "a")
		require.NotNil(w, cm.DeletionTimestamp)
		require.Equal(w, lag, took)
		cm.Finalizers = nil
		require.NoError(w, c.Update(w.ctx, cm))
		gone, took := w.read(c, "a")
		require.Nil(w, gone, "the client has removed the last finalizer, so the object no longer exists")
		require.Equal(w, lag, took)
	})
}

func TestAnObjectThatIsDeletedAndCreatedAgainIsTheNewOne(t *testing.T) {
	inMemory(t, func(w *world) {
		w.otherCreates(aConfigMap("a", "is", "old"))
		c := w.late()
		old, _ := w.read(c, "a")
		require.NoError(w, c.Delete(w.ctx, old, metav1.DeleteOptions{}))
		w.otherCreates(aConfigMap("a", "is", "new"))
		for range 2 {
			cm, took := w.read(c, "a")
			require.LessOrEqual(w, took, 2*lag)
			if cm != nil { // between the two it does not exist
				require.Equal(w, "new", cm.Data["is"])
			}
			time.Sleep(2 * lag)
		}
		_, took := w.read(c, "a")
		require.Zero(w, took, "the read waits for the end of an object that was replaced long ago")
		cm, _ := w.read(c, "a")
		require.NoError(w, c.Delete(w.ctx, cm, metav1.DeleteOptions{}))
		again := aConfigMap("a", "is", "mine")
		require.NoError(w, c.Create(w.ctx, again))
		cm, _ = w.read(c, "a")
		require.Equal(w, again, cm)
	})
}

func TestAReadDoesNotWaitForOtherClients(t *testing.T) {
	inMemory(t, func(w *world) {
		c, other := w.late(), w.cached()
		w.otherCreates(aConfigMap("a"))
		require.NoError(w, other.Create(w.ctx, aConfigMap("b")))
		_, took := w.read(c, "a")
		require.Zero(w, took)
	})
}

func TestAReadDoesNotWaitForWritesOfOtherKinds(t *testing.T) {
	inMemory(t, func(w *world) {
		c := w.late()
		require.NoError(w, c.Create(w.ctx, aConfigMap("a")))
		began := time.Now()
		_, err := mini.List[*corev1.Pod](w.ctx, c, mini.Selection{})
		require.NoError(w, err)
		require.NoError(w, c.Create(w.ctx, replicaSet("web", 1)))
		_, err = mini.List[*appsv1.ReplicaSet](w.ctx, c, mini.Selection{})
		require.NoError(w, err)
		require.Less(w, time.Since(began), time.Second)
	})
}

func TestAReadDoesNotWaitForAWriteThatHasFailed(t *testing.T) {
	inMemory(t, func(w *world) {
		w.otherCreates(aConfigMap("a"))
		c := w.late()
		a, _ := w.read(c, "a")
		stale := a.DeepCopy()
		a.Data = map[string]string{"k": "v"}
		w.otherUpdates(a)
		stale.Data = map[string]string{"k": "w"}
		require.True(w, apierrors.IsConflict(c.Update(w.ctx, stale)))
		require.Error(w, c.Create(w.ctx, a))
		require.True(w, apierrors.IsNotFound(c.Delete(w.ctx, aConfigMap("b"), metav1.DeleteOptions{})))
		_, took := w.read(c, "a")
		require.Zero(w, took)
	})
}

func TestAReadThatWaitsForAWriteEndsWithItsContext(t *testing.T) {
	inMemory(t, func(w *world) {
		c := w.late()
		require.NoError(w, c.Create(w.ctx, aConfigMap("a")))
		ctx, cancel := context.WithTimeout(w.ctx, lag/2)
		defer cancel()
		_, err := mini.Get[*corev1.ConfigMap](ctx, c, request("a"))
		require.ErrorIs(w, err, context.DeadlineExceeded)
		cm, took := w.read(c, "a")
		require.NotNil(w, cm)
		require.Equal(w, lag/2, took)
	})
}

func TestManyGoroutinesReadTheirOwnWrites(t *testing.T) {
	inMemory(t, func(w *world) {
		w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "watch"}, DelayEvents: time.Millisecond})
		c := w.cached()
		var all sync.WaitGroup
		for g := range 6 {
			all.Go(func() {
				for i := range 10 {
					name := fmt.Sprint(g, "-", i)
					cm := aConfigMap(name)
					if err := c.Create(w.ctx, cm); err != nil {
						w.Error(err)
						return
					}
					if got, _ := w.read(c, name); got == nil {
						w.Errorf("%s was created, but the read doesn't show it", name)
						return
					}
					if i%2 == 0 {
						continue
					}
					if err := c.Delete(w.ctx, cm, metav1.DeleteOptions{}); err != nil {
						w.Error(err)
						return
					}
					if got, _ := w.read(c, name); got != nil {
						w.Errorf("%s was deleted, but the read still shows it", name)
						return
					}
				}
			})
		}
		all.Wait()
		left, err := mini.List[*corev1.ConfigMap](w.ctx, c, mini.Selection{})
		require.NoError(w, err)
		require.Len(w, left, 30)
	})
}

// Answers overtake each other: that of the older write comes last, and says nothing about the newer one.
//
// Function: CachedClient.wrote
func TestAnAnswerThatWasOvertakenDoesNotTakeAWriteBack(t *testing.T) {
	inMemory(t, func(w *world) {
		w.otherCreates(aConfigMap("one"))
		w.otherCreates(aConfigMap("two"))
		w.Server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "watch", Resource: "configmaps"}, DelayEvents: lag})
		w.Cluster = w.behindProxy(func(r *http.Request, _ *http.Response) {
			if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/one") {
				time.Sleep(5 * time.Second)
			}
		})
		c := w.cached()
		one, _ := w.read(c, "one")
		two, _ := w.read(c, "two")
		synctest.Wait()
		one.Data, two.Data = map[string]string{"k": "new"}, map[string]string{"k": "new"}
		slow := make(chan error)
		go func() { slow <- c.Update(w.ctx, one) }()
		time.Sleep(time.Second)
		require.NoError(w, c.Update(w.ctx, two))
		require.NoError(w, <-slow)
		got, _ := w.read(c, "two")
		require.Equal(w, "new", got.Data["k"], "the read has to wait for the newer write")
	})
}

// After a restore from a backup, the server may need days to reach the version of an
// earlier write, and a read mustn't wait for it that long. Once the kind was listed
// again, reads have to show what the client writes.
//
// Function: CachedClient.showsWrites
func TestAfterARestoreReadsDoNotWaitForVersionsOfTheUndoneHistory(t *testing.T) {
	inMemory(t, func(w *world) {
		c := w.cached()
		backup := w.Server.Backup()
		w.Server.Advance(1000)
		require.NoError(w, c.Create(w.ctx, aConfigMap("lost", "k", "v")))
		got, _ := w.read(c, "lost")
		require.NotNil(w, got)
		// Without this delay, even a read that doesn't wait could find the last write.
		w.Server.Inject(fakeapi.Fault{
			Match: fakeapi.Match{Verb: "watch"}, DelayEvents: time.Second,
		})
		w.Server.Restore(backup)
		time.Sleep(11 * time.Minute) // a watch from the future has ended
		got, took := w.read(c, "lost")
		require.Nil(w, got)
		require.Zero(w, took)
		require.NoError(w, c.Create(w.ctx, aConfigMap("new", "k", "v")))
		got, _ = w.read(c, "new")
		require.NotNil(w, got, "the read shows what the client has written")
	})
}

// The backup is older than a deletion of ours, so the object is back, with its UID. Nobody may ever delete it again, and a read
// that waited for that would never end.
//
// Function: CachedClient.showsWrites
func TestAfterARestoreReadsDoNotWaitForDeletionsThatWereUndone(t *testing.T) {
	inMemory(t, func(w *world) {
		c := w.cached()
		deleted := aConfigMap("deleted", "k", "v")
		require.NoError(w, c.Create(w.ctx, deleted))
		w.read(c, "deleted")
		backup := w.Server.Backup()
		w.Server.Advance(1000)
		require.NoError(w, c.Delete(w.ctx, deleted, metav1.DeleteOptions{}))
		synctest.Wait() // the cache has seen it
		w.Server.Restore(backup)
		time.Sleep(11 * time.Minute) // a watch from the future has ended
		ctx, cancel := context.WithTimeout(w.ctx, time.Hour)
		defer cancel()
		_, err := mini.Get[*corev1.ConfigMap](ctx, c, request("deleted"))
		require.NoError(w, err, "it's back")
	})
}

// The first write after a restore belongs to the new history. If it were taken for one of
// the undone, the read after it wouldn't wait, and the controller would write a second time.
//
// Function: CachedClient.wrote
func TestAfterARestoreTheFirstWriteIsNotTakenForAnUndoneOne(t *testing.T) {
	for _, before := range []string{"with an undone write", "without one"} {
		inMemory(t, func(w *world) {
			c := w.cached()
			backup := w.Server.Backup()
			w.Server.Advance(1000)
			if before == "with an undone write" {
				require.NoError(w, c.Create(w.ctx, aConfigMap("lost", "k", "v")))
			}
			_, _ = w.read(c, "lost") // or the cache has no informer yet
			// Without this delay, even a read that doesn't wait could find the write.
			w.Server.Inject(fakeapi.Fault{
				Match: fakeapi.Match{Verb: "watch"}, DelayEvents: time.Second,
			})
			w.Server.Restore(backup)
			time.Sleep(11 * time.Minute) // a watch from the future has ended
			require.NoError(w, c.Create(w.ctx, aConfigMap("new", "k", "v")))
			got, _ := w.read(c, "new")
			require.NotNil(w, got, "%s: the read shows what the client has written", before)
		})
	}
}
