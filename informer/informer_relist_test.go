package informer

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/tests/inorder"
)

// generation is count Pods that exist at one moment, and at no other: names, UIDs, versions and
// nodes are all of this generation.
func generation(n, count int) []*corev1.Pod {
	pods := make([]*corev1.Pod, count)
	for i := range pods {
		pod := podOn(fmt.Sprintf("web-%d-%d", n, i), fmt.Sprint("node-", n))
		pod.UID = types.UID(pod.Name)
		pod.ResourceVersion = fmt.Sprint(n*1000 + i)
		pods[i] = pod
	}
	return pods
}

// countsOf asks an informer in each way in which one can ask it how many Pods there are: all in
// all, and on the nodes of generations 1 and 2.
func countsOf(i informerSink[*corev1.Pod]) map[string]int {
	lister := i.Lister(podResource.GroupResource())
	byNode, _ := i.Store().Index("node")
	everywhere := labels.SelectorFromSet(nil)
	return map[string]int{
		"Len":                i.Store().Len(),
		"All":                len(slices.Collect(i.Store().All())),
		"Lister":             len(slices.Collect(lister.List(everywhere))),
		"lister of the shop": len(slices.Collect(lister.InNamespace("shop").List(everywhere))),
		"on the old node":    len(slices.Collect(byNode.Lookup("node-1"))),
		"on the new node":    len(slices.Collect(byNode.Lookup("node-2"))),
		"nodes":              len(byNode.Values()),
	}
}

// The server has 2,000 Pods at each moment. Whoever counts others, or finds a Pod by its old value
// and another by its new one, sees a cluster that never existed. An index function looks, because
// it's called in the middle of a relist.
func TestDuringARelistEveryReadShowsTheOldWorld(t *testing.T) {
	const count = 2000
	i := handFed(InformerOptions[*corev1.Pod]{})
	looks := 0
	_, err := i.Store().AddIndex("node", nodeOf)
	require.NoError(t, err)
	i.Replace(generation(1, count), "2000")
	old := map[string]int{"Len": count, "All": count, "Lister": count, "lister of the shop": count,
		"on the old node": count, "on the new node": 0, "nodes": 1}
	require.Equal(t, old, countsOf(i))
	_, err = i.Store().AddIndex("look", func(values []string, pod *corev1.Pod) []string {
		if pod.Spec.NodeName == "node-2" {
			if looks++; looks%500 == 1 {
				assert.Equal(t, old, countsOf(i), "the relist has come to %s", pod.Name)
			}
		}
		return values
	})
	require.NoError(t, err)
	i.Replace(generation(2, count), "4000")
	require.Positive(t, looks)
	require.Equal(t, map[string]int{"Len": count, "All": count, "Lister": count,
		"lister of the shop": count, "on the old node": 0, "on the new node": count, "nodes": 1},
		countsOf(i))
}

// The same, for readers that run beside the informer and have no idea of what it's doing.
func TestReadersBesideARelistNeverCountMoreOrFewerThanThereAre(t *testing.T) {
	const count, relists = 2000, 15
	i := handFed(InformerOptions[*corev1.Pod]{})
	i.Replace(generation(0, count), "1")
	lister := i.Lister(podResource.GroupResource()).InNamespace("shop")
	byNamespace, _ := i.Store().Index(NamespaceIndex)
	ways := map[string]func() int{
		"Len":    i.Store().Len,
		"All":    func() int { return len(slices.Collect(i.Store().All())) },
		"lister": func() int { return len(slices.Collect(lister.List(nil))) },
		"Count":  func() int { return byNamespace.Count("shop") },
	}
	done := make(chan struct{})
	var readers sync.WaitGroup
	for name, read := range ways {
		readers.Go(func() {
			for {
				if got := read(); got != count {
					t.Errorf("%s shows %d objects; the server had %d at each moment", name, got, count)
					return
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for n := range relists {
		i.Replace(generation(n+1, count), fmt.Sprint((n+2)*1000))
	}
	close(done)
	readers.Wait()
}

// A handler that's told of a new object, and can't find it, takes it for deleted. One that's told of
// a deletion, and still finds the object, thinks that there's nothing to do.
func TestAHandlerFindsInTheStoreWhatARelistToldItOrSomethingNewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := handFed(InformerOptions[*corev1.Pod]{})
		version := func(pod *corev1.Pod) (n int) {
			_, err := fmt.Sscan(pod.ResourceVersion, &n)
			require.NoError(t, err)
			return n
		}
		_, err := i.AddHandler(HandlerFuncs[*corev1.Pod]{
			Add: func(pod *corev1.Pod, _ bool) {
				if _, ok := i.Store().Get(KeyOf(pod)); ok {
					return
				}
				if newest := newestIn(i); newest < version(pod)+100 {
					t.Errorf("told of %s at %d; the store lacks it, and is at %d", pod.Name,
						version(pod), newest)
				}
			},
			Delete: func(pod *corev1.Pod, _ bool) {
				if found, ok := i.Store().Get(KeyOf(pod)); ok && found.UID == pod.UID {
					t.Errorf("told that %s is gone, and the store has it", pod.Name)
				}
			},
		}, HandlerOptions{})
		require.NoError(t, err)
		i.startHandlers()
		defer i.stopHandlers()
		for n := range 20 {
			i.Replace(generation(n+1, 100), fmt.Sprint((n+2)*1000))
		}
		synctest.Wait()
	})
}

// newestIn is the highest version in the store.
func newestIn(i informerSink[*corev1.Pod]) (newest int) {
	for pod := range i.Store().All() {
		var n int
		_, _ = fmt.Sscan(pod.ResourceVersion, &n)
		newest = max(newest, n)
	}
	return newest
}

// legalHistory checks that what a handler is told is a legal history.
type legalHistory struct {
	t     *testing.T
	known map[Key]*corev1.Pod
}

func (h *legalHistory) OnAdd(pod *corev1.Pod, _ bool) {
	if was := h.known[KeyOf(pod)]; was != nil {
		h.t.Errorf("told twice of %s: %s, and again as %s", KeyOf(pod), was.UID, pod.UID)
	}
	h.known[KeyOf(pod)] = pod
}

func (h *legalHistory) OnUpdate(old, pod *corev1.Pod) {
	if h.known[KeyOf(pod)] != old {
		h.t.Errorf("an update of %s from a state that the handler wasn't told", KeyOf(pod))
	}
	h.known[KeyOf(pod)] = pod
}

func (h *legalHistory) OnDelete(pod *corev1.Pod, _ bool) {
	if h.known[KeyOf(pod)] == nil {
		h.t.Errorf("told of the end of %s, and not of its beginning", KeyOf(pod))
	}
	delete(h.known, KeyOf(pod))
}

// A controller may be added at any moment, and so may its handler: also in the middle of a relist.
func TestAHandlerThatIsAddedDuringARelistHearsOfEachObjectOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := handFed(InformerOptions[*corev1.Pod]{})
		i.startHandlers()
		defer i.stopHandlers()
		var adding sync.WaitGroup
		var mu sync.Mutex // guards handlers
		var handlers []*legalHistory
		begin := func() {
			h := &legalHistory{t: t, known: map[Key]*corev1.Pod{}}
			if _, err := i.AddHandler(h, HandlerOptions{}); err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			handlers = append(handlers, h)
		}
		calls := 0
		_, err := i.Store().AddIndex("add", func(values []string, _ *corev1.Pod) []string {
			if calls++; calls%400 == 200 {
				adding.Go(begin)
			}
			return values
		})
		require.NoError(t, err)
		for n := range 20 {
			pods := generation(n/2, 300) // every other list repeats the last one, with changes
			for j, pod := range pods {
				if j%3 == 0 {
					pod.ResourceVersion = fmt.Sprint(100_000 + n)
				}
			}
			adding.Go(begin)
			i.Replace(pods, fmt.Sprint(200_000+n))
		}
		adding.Wait()
		synctest.Wait()
		require.Greater(t, len(handlers), 20)
		for _, h := range handlers {
			require.Len(t, h.known, 300)
			for key, pod := range h.known {
				stored, _ := i.Store().Get(key)
				require.Same(t, stored, pod, "a change of %s got lost between the store and the queue", key)
			}
		}
	})
}

// A ReplicaSet has three Pods, and nobody watches while a user replaces them with three others. A
// controller that counts six of three deletes the user's.
func TestPodsThatWereReplacedWhileTheWatchWasDownAreNeverCountedWithTheirSuccessors(t *testing.T) {
	for name, reflector := range inorder.Map(map[string]ReflectorOptions{
		"list": {NoStream: true}, "stream": {},
	}) {
		t.Run(name, func(t *testing.T) { replaceBehindTheWatch(t, reflector) })
	}
}

func replaceBehindTheWatch(t *testing.T, reflector ReflectorOptions) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		w := newWorld(t, server.Config(), metav1.NamespaceDefault)
		i := NewInformer(ListerWatcher[*corev1.ConfigMap](w.listWatch(t, ListWatchOptions{})),
			InformerOptions[*corev1.ConfigMap]{Reflector: reflector})
		counts := map[int]int{} // by count
		byApp, err := i.Store().AddIndex("app", func(values []string, c *corev1.ConfigMap) []string {
			return append(values, c.Labels["app"])
		})
		require.NoError(t, err)
		mine := map[string]string{"test": "yes", "app": "mine"}
		for n := range 3 {
			w.create(t, fmt.Sprint("old-", n), mine)
		}
		for n := range 50 {
			w.create(t, fmt.Sprint("other-", n), nil)
		}
		// Ends the first watch after a minute.
		server.Inject(fakeapi.Fault{Match: configMapWatches, Times: 1, CutAfter: time.Minute})
		var running sync.WaitGroup
		defer running.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		running.Go(func() { _ = i.Run(ctx) })
		require.NoError(t, i.WaitForSync(ctx))
		_, err = i.Store().AddIndex("look", func(values []string, _ *corev1.ConfigMap) []string {
			counts[byApp.Count("mine")]++
			return values
		})
		require.NoError(t, err)
		down := server.Inject(fakeapi.Fault{Match: configMapWatches, Status: fakeapi.InternalError()})
		time.Sleep(2 * time.Minute)
		for n := range 3 {
			w.delete(t, fmt.Sprint("old-", n))
			w.create(t, fmt.Sprint("new-", n), mine)
		}
		server.CompactAll()
		down()
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		found := []string{}
		for c := range byApp.Lookup("mine") {
			found = append(found, c.Name)
		}
		require.ElementsMatch(t, []string{"new-0", "new-1", "new-2"}, found)
		require.Len(t, counts, 1, "Pods by how often they were counted: %v", counts)
		require.Positive(t, counts[3])
	})
}

// A list may name an object twice: a proxy that joins two answers, a server with a bug. It's one
// object, and the last word about it counts.
func TestAnObjectThatAListNamesTwiceIsToldOnce(t *testing.T) {
	var h heard
	hearing(t, h.handler(), func(i informerSink[*corev1.Pod]) {
		i.Replace([]*corev1.Pod{a1, podNamed("other", "o", "1"), a2}, "3")
		synctest.Wait()
		require.Equal(t, heard{"add a2 true", "add o1 true"}, h)
		require.Equal(t, 2, i.store.Len())
		h = nil
		i.Replace([]*corev1.Pod{podAt("a", "2"), podNamed("other", "o", "1"), b4}, "5")
		synctest.Wait()
		require.Equal(t, heard{"delete a2 true", "add b4 false"}, h)
	})
}

// Two runs of one program must do the same, so what a list no longer has is told in the order of
// its keys, after what the list has.
func TestWhatAListNoLongerHasIsToldInTheOrderOfItsKeys(t *testing.T) {
	var h heard
	hearing(t, h.handler(), func(i informerSink[*corev1.Pod]) {
		var pods []*corev1.Pod
		var want heard
		for n := range 20 {
			pods = append(pods, podNamed(fmt.Sprintf("pod-%02d", n), fmt.Sprint("p", n, "-"), "1"))
			want = append(want, fmt.Sprintf("delete p%d-1 true", n))
		}
		i.Replace(pods, "3")
		synctest.Wait()
		h = nil
		i.Replace([]*corev1.Pod{a1}, "5")
		synctest.Wait()
		require.Equal(t, append(heard{"add a1 false"}, want...), h)
	})
}

// What a list only repeats stays the very object that it was: who kept it, keeps no second one
// alive, and the memory of the list goes.
func TestWhatAListRepeatsStaysTheObjectThatItWas(t *testing.T) {
	i := handFed(InformerOptions[*corev1.Pod]{})
	i.Replace([]*corev1.Pod{a1, podNamed("other", "o", "1")}, "1")
	i.Replace([]*corev1.Pod{podAt("a", "1"), podNamed("other", "o", "2")}, "2")
	stored, _ := i.Store().Get(KeyOf(a1))
	require.Same(t, a1, stored)
	other, _ := i.Store().Get(keyIn("shop", "other"))
	require.Equal(t, "2", other.ResourceVersion)
}

// An index that comes in the middle of a relist waits for it, and has the new world then.
func TestAnIndexThatIsAddedDuringARelistHasTheNewWorld(t *testing.T) {
	i := handFed(InformerOptions[*corev1.Pod]{})
	i.Replace(generation(1, 50), "2000")
	added := make(chan *Index[*corev1.Pod])
	var once sync.Once
	_, err := i.Store().AddIndex("look", func(values []string, pod *corev1.Pod) []string {
		if pod.Spec.NodeName == "node-2" {
			once.Do(func() {
				go func() {
					byNode, err := i.Store().AddIndex("node", nodeOf)
					if err != nil {
						t.Error(err)
					}
					added <- byNode
				}()
			})
		}
		return values
	})
	require.NoError(t, err)
	i.Replace(generation(2, 50), "4000")
	byNode := <-added
	require.Equal(t, []string{"node-2"}, byNode.Values())
	require.Equal(t, 50, byNode.Count("node-2"))
}

// A readiness probe, and a program that begins to count, look at this: a part of the first list is
// worse than none.
func TestAnInformerIsSyncedWhenTheWholeFirstListIsInTheStore(t *testing.T) {
	const count = 2000
	inInformer(t, InformerOptions[*corev1.ConfigMap]{}, func(t *testing.T, w world,
		i *Informer[*corev1.ConfigMap], start, _ func()) {
		for n := range count {
			w.create(t, fmt.Sprint("c-", n), nil)
		}
		looks := 0
		_, err := i.Store().AddIndex("look", func(values []string, _ *corev1.ConfigMap) []string {
			if looks++; looks%100 == 99 {
				health := i.Health()
				assert.False(t, health.Synced, "synced with %d of %d objects", i.Store().Len(), count)
				assert.Error(t, health.Ready(time.Now(), time.Hour))
				assert.Empty(t, health.ResourceVersion, "the store isn't at this version yet")
				assert.False(t, i.hasSynced())
				assert.Zero(t, i.Store().Len(), "a part of the first list")
			}
			return values
		})
		require.NoError(t, err)
		start()
		require.NoError(t, i.WaitForSync(t.Context()))
		require.True(t, i.Health().Synced, "who was told that it's synced asks for the health next")
		require.NoError(t, i.Health().Ready(time.Now(), 0))
		require.Equal(t, count, i.Store().Len())
		require.Greater(t, looks, 99)
	})
}

// The same for a reflector with a sink of your own.
func TestAReflectorIsSyncedWhenItsSinkHasTheFirstView(t *testing.T) {
	inMemory(t, fakeapi.Options{}, func(t *testing.T, _ *fakeapi.Server, w world) {
		w.create(t, "apple", nil)
		sink := &asksForHealth{view: newView()}
		r := NewReflector(w.listWatch(t, ListWatchOptions{}), Sink[*corev1.ConfigMap](sink),
			ReflectorOptions{})
		sink.health = r.Health
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		defer running.Wait()
		defer cancel()
		running.Go(func() { _ = r.Run(ctx) })
		synctest.Wait()
		w.create(t, "banana", nil)
		synctest.Wait()
		require.Len(t, sink.seen, 2)
		require.False(t, sink.seen[0].Synced)
		require.Empty(t, sink.seen[0].ResourceVersion)
		require.True(t, sink.seen[1].Synced)
		order, err := compareVersions(sink.seen[1].ResourceVersion, r.Health().ResourceVersion)
		require.NoError(t, err)
		require.Negative(t, order, "the sink doesn't have the banana yet")
	})
}

// asksForHealth is a sink that asks for the health before it takes anything in.
type asksForHealth struct {
	*view
	health func() Health
	seen   []Health
}

func (a *asksForHealth) Replace(items []*corev1.ConfigMap, version string) {
	a.seen = append(a.seen, a.health())
	a.view.Replace(items, version)
}

func (a *asksForHealth) Apply(event Event[*corev1.ConfigMap]) {
	a.seen = append(a.seen, a.health())
	a.view.Apply(event)
}
