package source

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/reconcile"
)

func TestWhatIsThereComesFirstAndThenWhatChanges(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var told diary
		w.create("web")
		stop := ready(t, Kind[client.Object](w.cache, configMap(""), &told), newQueue())
		defer stop()
		require.Equal(t, []string{"create web, initial: true"}, told.read())
		w.create("db")
		synctest.Wait()
		w.change("db", "big")
		synctest.Wait()
		w.delete("web")
		synctest.Wait()
		require.Equal(t, []string{"create db, initial: false", `update db, "" to "big"`, "delete web, unknown: false"}, told.read())
	})
}

// A worker that begins before that takes objects that it has not heard of for objects that do not
// exist.
func TestTheRequestsOfTheInitialListAreInTheQueueWhenTheSourceIsReady(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for _, name := range []string{"a", "b", "c"} {
			w.create(name)
		}
		queue := newQueue()
		began := time.Now()
		stop := ready(t, Kind[client.Object](w.cache, configMap(""), &diary{takes: time.Second}), queue)
		defer stop()
		require.Equal(t, 3*time.Second, time.Since(began))
		require.Equal(t, []string{"a", "b", "c"}, queue.waiting())
	})
}

// Objects that the watch lost sight of are gone, too, and their owners have to be told.
func TestADeletionThatTheWatchHasMissedIsReported(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var told diary
		w.create("web")
		stop := ready(t, Kind[client.Object](w.cache, configMap(""), &told), newQueue())
		defer stop()
		told.read()
		lift := w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "watch", UserAgent: "the-cache"}, CutAfter: 1, Status: fakeapi.Expired()})
		lift2 := w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "list", UserAgent: "the-cache"}, Status: fakeapi.Unavailable()})
		time.Sleep(2 * time.Hour) // watches end now and then by themselves
		w.delete("web")
		w.server.CompactAll()
		lift()
		lift2()
		time.Sleep(time.Hour)
		require.Equal(t, []string{"delete web, unknown: true"}, told.read())
	})
}

// controller-runtime leaves the handler in the informer: the source of a controller that is gone
// goes on to fill its queue.
func TestTheHandlerIsRemovedAtTheStopAndOthersGoOn(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var mine, theirs diary
		stopMine := ready(t, Kind[client.Object](w.cache, configMap(""), &mine), newQueue())
		stopTheirs := ready(t, Kind[client.Object](w.cache, configMap(""), &theirs), newQueue())
		defer stopTheirs()
		stopMine()
		w.create("web")
		synctest.Wait()
		require.Empty(t, mine.read())
		require.Equal(t, []string{"create web, initial: false"}, theirs.read())
		require.Len(t, w.cache.asks(time.Now()), 2)
	})
}

// The queue is emptied when the sources have stopped. A handler that adds to it after that would
// leave something behind.
func TestTheStopWaitsForACallThatIsUnderWay(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		told, queue := diary{takes: time.Minute}, newQueue()
		stop := starts(t, Kind[client.Object](w.cache, configMap(""), &told), queue)
		w.create("web")
		synctest.Wait()
		began := time.Now()
		stop()
		require.Equal(t, time.Minute, time.Since(began))
		require.Len(t, told.read(), 1)
		require.Empty(t, queue.log.With(""), "it is no trouble, and nobody has to read of it")
	})
}

func TestASourceThatIsStoppedWhileItWaitsEndsAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.cache.refuse(func() error { return errors.New("no") })
		stop := starts(t, Kind[client.Object](w.cache, configMap(""), &diary{}), newQueue())
		time.Sleep(time.Minute)
		began := time.Now()
		stop()
		require.Zero(t, time.Since(began))
	})
}

// A source value may be given to two controllers. The end of one must not wait for the other.
func TestOneSourceIsWatchedByTwoControllers(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.create("web")
		s := Kind[client.Object](w.cache, configMap(""), &diary{})
		first, second := newQueue(), newQueue()
		stopFirst := ready(t, s, first)
		stopSecond := ready(t, s, second)
		require.Equal(t, []string{"web"}, first.waiting())
		require.Equal(t, []string{"web"}, second.waiting())
		stopFirst()
		left := s.(*kindSource[client.Object, reconcile.Request]).runs.now()
		require.Len(t, left, 1)
		require.False(t, isClosed(left[0].over))
		w.create("db")
		synctest.Wait()
		require.Empty(t, first.waiting())
		require.Equal(t, []string{"db"}, second.waiting())
		stopSecond()
		stopAgain := ready(t, s, first)
		require.Equal(t, []string{"db", "web"}, first.waiting())
		stopAgain()
	})
}

// A CRD is deleted and comes back: the informer that the source had is gone for good.
func TestASourceAsksForAnotherInformerWhenItsOwnHasStopped(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var told diary
		w.create("web")
		queue := newQueue()
		stop := ready(t, Kind[client.Object](w.cache, configMap(""), &told), queue)
		defer stop()
		w.cache.remove()
		synctest.Wait()
		require.Len(t, queue.log.With("asking for another one"), 1)
		w.create("db")
		told.read()
		time.Sleep(time.Second)
		require.ElementsMatch(t, []string{"create db, initial: true", "create web, initial: true"}, told.read())
		w.delete("db")
		synctest.Wait()
		require.Equal(t, []string{"delete db, unknown: false"}, told.read())
	})
}

// Informers that end as soon as they begin must not keep a core busy.
func TestInformersThatEndAtOnceAreNotAskedForAllTheTime(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ended := informer.NewInformer[*corev1.ConfigMap](nothing{}, informer.InformerOptions[*corev1.ConfigMap]{})
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, ended.Run(gone))
		c := &constantCache{informer: cache.InformerOf(ended, "configmaps", 0)}
		stop := starts(t, Kind[client.Object](c, configMap(""), &diary{}), newQueue())
		time.Sleep(time.Minute)
		stop()
		require.Less(t, c.asked, 15)
		require.Greater(t, c.asked, 5)
	})
}

// nothing is a collection that nobody reads.
type nothing struct {
	informer.ListerWatcher[*corev1.ConfigMap]
}

type constantCache struct {
	cache.Cache
	informer cache.Informer
	asked    int
}

func (*constantCache) WaitForCacheSync(context.Context) bool { return true }

func (c *constantCache) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	c.asked++
	return c.informer, nil
}

// fragile is an informer whose handlers end as soon as they were added.
type fragile struct{ cache.Informer }

func (f fragile) AddEventHandlerWithOptions(informer.ResourceEventHandler, informer.ResourceEventHandlerOptions) (informer.ResourceEventHandlerRegistration, error) {
	return endedRegistration{}, nil
}

type endedRegistration struct{}

func (endedRegistration) HasSynced() bool                        { return false }
func (endedRegistration) HasSyncedChecker() informer.DoneChecker { return endedRegistration{} }
func (endedRegistration) Name() string                           { return "" }

// Done serves twice: nil would be right for the checker, but a source has to bear this, too.
func (endedRegistration) Done() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

func TestHandlersThatEndAtOnceAreNotAddedAllTheTime(t *testing.T) {
	inWorld(t, func(t *testing.T, _ *world) {
		c := &constantCache{informer: fragile{}}
		stop := starts(t, Kind[client.Object](c, configMap(""), &diary{}), newQueue())
		time.Sleep(time.Minute - 1)
		stop()
		require.Equal(t, int(time.Minute/firstPause), c.asked)
	})
}

// A mistake that is found at the first event ends a process that looked well.
func TestAKindNeedsAnObjectACacheAHandlerAndPredicatesThatAreThere(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var noCache *testCache
		for _, c := range []struct {
			source Source
			want   string
		}{
			{Kind[client.Object](w.cache, nil, &diary{}), "no object"},
			{Kind[client.Object](w.cache, (*corev1.ConfigMap)(nil), &diary{}), "no object"},
			{Kind[client.Object](nil, configMap(""), &diary{}), "no cache"},
			{Kind[client.Object](noCache, configMap(""), &diary{}), "no cache"},
			{Kind[client.Object](w.cache, configMap(""), nil), "no handler"},
			{Kind[client.Object](w.cache, configMap(""), &diary{}, nil), "predicates is nil"},
		} {
			require.ErrorContains(t, c.source.Start(t.Context(), newQueue()), c.want)
		}
	})
}

func TestAKindIsCalledByItsType(t *testing.T) {
	widgets := &unstructured.Unstructured{}
	widgets.SetAPIVersion("example.com/v1")
	widgets.SetKind("Widget")
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	for _, c := range []struct {
		object client.Object
		want   string
	}{
		{&corev1.Pod{}, "kind source: *v1.Pod"},
		{widgets, "kind source: *unstructured.Unstructured[example.com/v1 Widget]"},
		{metadata, "kind source: *v1.PartialObjectMetadata[v1 Pod]"},
		{nil, "kind source: unknown type"},
	} {
		require.Equal(t, c.want, Kind[client.Object](nil, c.object, nil).(interface{ String() string }).String())
	}
}

// waitingCache gives no answer until it is told to stop.
type waitingCache struct{ cache.Cache }

func (waitingCache) GetInformer(ctx context.Context, _ client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// Somebody who stops a program should not find errors in its log that were none.
func TestAStopWhileTheCacheIsAskedIsNoError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue, s := newQueue(), Kind[client.Object](waitingCache{}, configMap(""), &diary{})
		stop := starts(t, s, queue)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.ErrorContains(t, s.WaitForSync(ctx), "the cache has not returned an informer yet: context deadline exceeded")
		stop()
		require.Empty(t, queue.log.With(""))
	})
}

// lateCache has another kind that has not listed, because its conversion webhook fails for instance.
type lateCache struct{ *testCache }

func (lateCache) WaitForLists(ctx context.Context) error {
	<-ctx.Done()
	return fmt.Errorf("Kind=Secret: %w", context.Cause(ctx))
}

// wrappedCache is a cache in a struct of a user's, which passes on what the interface has.
type wrappedCache struct{ *testCache }

func (wrappedCache) WaitForCacheSync(ctx context.Context) bool { <-ctx.Done(); return false }

// A source that is deaf while another kind lists would miss that its own kind's CRD was deleted and made again.
func TestASourceWhoseCacheHasNotListedAnotherKindFollowsItsOwnAllTheSame(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var told diary
		w.create("web")
		s := Kind[client.Object](lateCache{w.cache}, configMap(""), &told)
		stop := starts(t, s, newQueue())
		defer stop()
		waited := make(chan error, 1)
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Hour, errors.New("an hour is over"))
		defer cancel()
		go func() { waited <- s.WaitForSync(ctx) }()
		synctest.Wait()
		told.read()
		w.cache.remove()
		time.Sleep(time.Minute)
		require.Equal(t, []string{"create web, initial: true"}, told.read(), "of another informer")
		require.EqualError(t, <-waited, "Kind=Secret: an hour is over")
	})
}

func TestASourceOfAWrappedCacheSaysThatTheCacheDidNotSync(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var told diary
		s := Kind[client.Object](wrappedCache{w.cache}, configMap(""), &told)
		stop := starts(t, s, newQueue())
		defer stop()
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("a minute is over"))
		defer cancel()
		require.EqualError(t, s.WaitForSync(ctx), "cache did not sync: a minute is over")
	})
}
