package informer

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/internal/tests/inorder"
)

// These tests try to break sentences under "Guarantees" and "Caveats".

// "Reads wait for a single write, never for a Replace or an AddIndex."
func TestNoReadWaitsForAnIndexThatIsBeingAdded(t *testing.T) {
	i := handFed(InformerOptions[*corev1.Pod]{})
	i.Replace(generation(1, 30), "2000")
	_, err := i.Store().AddIndex("node", nodeOf)
	require.NoError(t, err)
	want, looks := countsOf(i), 0
	_, err = i.Store().AddIndex("look", func(values []string, _ *corev1.Pod) []string {
		looks++
		assert.Equal(t, want, countsOf(i))
		_, there := i.Store().Index("look")
		assert.False(t, there, "an index that lacks objects can be found")
		return values
	})
	require.NoError(t, err)
	require.Equal(t, 30, looks)
}

// An index function with a bug crashes the program, unless somebody recovers. Then nothing has
// changed, and nobody is locked out.
func TestAPanicInAnIndexFunctionDuringARelistLeavesTheOldWorld(t *testing.T) {
	i := handFed(InformerOptions[*corev1.Pod]{})
	i.Replace(generation(1, 30), "2000")
	_, err := i.Store().AddIndex("bug", func(values []string, pod *corev1.Pod) []string {
		if pod.Name == "web-2-7" {
			panic("a bug")
		}
		return values
	})
	require.NoError(t, err)
	require.Panics(t, func() { i.Replace(generation(2, 30), "4000") })
	require.Equal(t, 30, i.Store().Len())
	_, there := i.Store().Get(keyIn("shop", "web-1-7"))
	require.True(t, there)
	h := &legalHistory{t: t, known: map[Key]*corev1.Pod{}}
	_, err = i.AddHandler(h, HandlerOptions{})
	require.NoError(t, err)
	i.Store().RemoveIndices("bug")
	i.Replace(generation(2, 30), "4000")
	require.Equal(t, 30, i.Store().Len())
}

// A lister of a namespace relies on an index, and everyone who can read the store can remove indices.
func TestNobodyCanTakeTheNamespacesFromALister(t *testing.T) {
	i := handFed(InformerOptions[*corev1.Pod]{})
	i.Replace(generation(1, 3), "2000")
	i.Store().RemoveIndices(NamespaceIndex)
	require.Len(t, keysOf(i.Lister(podResource.GroupResource()).InNamespace("shop").List(nil)), 3)
}

// A server that was restored from a backup counts on from an older version. A wait for a write
// compares versions, so until the informer has noticed it can't know better; from then on it does.
func TestAWaitIsRightAgainOnceTheInformerHasTheRestoredBackup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := handFed(InformerOptions[*corev1.Pod]{})
		i.Replace([]*corev1.Pod{podAt("a", "900")}, "900")
		require.NoError(t, i.WaitFor(over(t), KeyOf(a1), "60"), "the store is older, and looks newer")
		i.Replace([]*corev1.Pod{podAt("a", "40")}, "50")
		require.ErrorIs(t, i.WaitFor(over(t), KeyOf(a1), "60"), context.Canceled)
		ended := false
		go func() {
			assert.NoError(t, i.WaitFor(t.Context(), KeyOf(a1), "60"))
			ended = true
		}()
		synctest.Wait()
		require.False(t, ended)
		i.Apply(eventOf(watch.Modified, podAt("a", "60")))
		synctest.Wait()
		require.True(t, ended)
	})
}

// "If the handler ends before that, Synced stays open."
func TestAHandlerThatGoesInTheMiddleOfTheFirstListIsNeverSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := handFed(InformerOptions[*corev1.Pod]{})
		i.startHandlers()
		defer i.stopHandlers()
		i.Replace(generation(1, 3), "2000")
		calls := 0
		var r *Registration
		begin := make(chan struct{})
		r, err := i.AddHandler(HandlerFuncs[*corev1.Pod]{Add: func(*corev1.Pod, bool) {
			<-begin
			calls++
			r.Remove()
		}}, HandlerOptions{})
		require.NoError(t, err)
		close(begin)
		<-r.Done()
		synctest.Wait()
		require.Equal(t, 1, calls, "it removed itself in the first call")
		require.False(t, r.HasSynced(), "it was told one of three objects")
	})
}

// A handler may add another one, in the middle of a relist of which it's being told.
func TestAHandlerThatIsAddedByAHandlerHearsOfEachObjectOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := handFed(InformerOptions[*corev1.Pod]{})
		i.startHandlers()
		defer i.stopHandlers()
		var late []*legalHistory
		_, err := i.AddHandler(HandlerFuncs[*corev1.Pod]{Add: func(pod *corev1.Pod, _ bool) {
			h := &legalHistory{t: t, known: map[Key]*corev1.Pod{}}
			late = append(late, h)
			if _, err := i.AddHandler(h, HandlerOptions{}); err != nil {
				t.Error(err)
			}
		}}, HandlerOptions{})
		require.NoError(t, err)
		for n := range 10 {
			i.Replace(generation(n, 5), fmt.Sprint((n+2)*1000))
		}
		synctest.Wait()
		require.Len(t, late, 50)
		for _, h := range late {
			require.Len(t, h.known, 5)
		}
	})
}

// "OnUpdate, each with the state that was told before": even if a resync comes between two relists.
func TestResyncsAndRelistsTogetherAreALegalHistory(t *testing.T) {
	for name, coalesce := range inorder.Map(map[string]bool{"each": false, "coalesced": true}) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				i := handFed(InformerOptions[*corev1.Pod]{})
				h := &slowHistory{legalHistory: legalHistory{t: t, known: map[Key]*corev1.Pod{}}}
				_, err := i.AddHandler(h, HandlerOptions{Resync: time.Second, Coalesce: coalesce})
				require.NoError(t, err)
				i.startHandlers()
				defer i.stopHandlers()
				for n := range 20 {
					pods := generation(n/4, 10)
					pods[n%10].ResourceVersion = fmt.Sprint(500_000 + n)
					i.Replace(pods, fmt.Sprint(600_000+n))
					time.Sleep(700 * time.Millisecond)
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				h.mu.Lock()
				defer h.mu.Unlock()
				require.Len(t, h.known, 10)
			})
		})
	}
}

// slowHistory takes a while for each update.
type slowHistory struct {
	mu sync.Mutex // guards legalHistory: resyncs go on while the test looks
	legalHistory
}

func (h *slowHistory) OnAdd(pod *corev1.Pod, initial bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.legalHistory.OnAdd(pod, initial)
}

func (h *slowHistory) OnUpdate(old, pod *corev1.Pod) {
	time.Sleep(30 * time.Millisecond)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.legalHistory.OnUpdate(old, pod)
}

func (h *slowHistory) OnDelete(pod *corev1.Pod, final bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.legalHistory.OnDelete(pod, final)
}

// "Of a collection without resourceVersions everything works except WaitFor": each poll is a list,
// and one change.
func TestAPollIsOneChange(t *testing.T) {
	i := handFed(InformerOptions[*corev1.Pod]{})
	unversioned := func(n int) []*corev1.Pod {
		pods := generation(n, 20)
		for _, pod := range pods {
			pod.ResourceVersion = ""
		}
		return pods
	}
	i.Replace(unversioned(1), "")
	_, err := i.Store().AddIndex("look", func(values []string, _ *corev1.Pod) []string {
		assert.Equal(t, 20, i.Store().Len())
		return values
	})
	require.NoError(t, err)
	kept := i.Store()
	before, _ := kept.Get(keyIn("shop", "web-1-0"))
	i.Replace(unversioned(1), "")
	after, _ := kept.Get(keyIn("shop", "web-1-0"))
	require.Same(t, before, after, "nothing has changed")
	i.Replace(unversioned(2), "")
	require.True(t, i.hasSynced())
}

// "When Run returns, no handler is being called", even if a relist is in the handlers' queues.
func TestNoHandlerIsCalledAfterRunEvenIfARelistWaitsForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := handFed(InformerOptions[*corev1.Pod]{})
		var mu sync.Mutex
		calls := 0
		_, err := i.AddHandler(HandlerFuncs[*corev1.Pod]{Add: func(*corev1.Pod, bool) {
			time.Sleep(time.Second)
			mu.Lock()
			defer mu.Unlock()
			calls++
		}}, HandlerOptions{})
		require.NoError(t, err)
		i.startHandlers()
		i.Replace(generation(1, 100), "2000")
		time.Sleep(1500 * time.Millisecond)
		i.stopHandlers()
		mu.Lock()
		told := calls
		mu.Unlock()
		time.Sleep(time.Hour)
		require.Equal(t, told, calls)
		require.Equal(t, 2, told, "it was called on for what was in its queue")
	})
}

// lockedOut is a MetricsProvider that notes whether the informer was locked when it was told to
// forget a handler: it may ask the informer something.
type lockedOut struct {
	mu       sync.Mutex // guards all
	isLocked func() bool
	forgets  int
}

func (l *lockedOut) Gauge(string, string, string, func() float64) func() {
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.forgets++
		if l.isLocked() {
			panic("forget was called with the informer's lock held")
		}
	}
}

// "forget is called once, when the handler was removed or its informer has stopped": without a lock,
// because it's the user's code.
func TestAHandlersMetricIsForgottenOnceAndWithoutTheLock(t *testing.T) {
	metrics := &lockedOut{}
	inInformer(t, InformerOptions[*corev1.ConfigMap]{Metrics: metrics}, func(t *testing.T, w world,
		i *Informer[*corev1.ConfigMap], start, stop func()) {
		var others atomic.Bool // other goroutines may have the lock
		metrics.isLocked = func() bool {
			if others.Load() {
				return false
			}
			free := i.mu.TryLock()
			if free {
				i.mu.Unlock()
			}
			return !free
		}
		add := func() (*Registration, error) {
			return i.AddHandler(HandlerFuncs[*corev1.ConfigMap]{}, HandlerOptions{})
		}
		early, err := add()
		require.NoError(t, err)
		early.Remove()
		early.Remove()
		<-early.Done()
		require.Equal(t, 1, metrics.forgets)
		_, err = add()
		require.NoError(t, err)
		others.Store(true)
		start()
		stop()
		others.Store(false)
		require.Equal(t, 2, metrics.forgets)
		_, err = add()
		require.ErrorIs(t, err, errInformerStopped)
		require.Equal(t, 3, metrics.forgets)
	})
}
