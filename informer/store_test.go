package informer

import (
	"iter"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/loopwright/loopwright/internal/tests/inorder"
	"github.com/loopwright/loopwright/trace"
)

func podOn(name, node string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec: corev1.PodSpec{NodeName: node}}
}

func keyIn(namespace, name string) Key { return Key{Namespace: namespace, Name: name} }

// newPodStore has an index of pods by node.
func newPodStore(t testing.TB, pods ...*corev1.Pod) (*Store[*corev1.Pod], *Index[*corev1.Pod]) {
	t.Helper()
	store := NewStore[*corev1.Pod](StoreOptions{})
	byNode, err := store.AddIndex("node", nodeOf)
	require.NoError(t, err)
	for _, pod := range pods {
		store.Put(pod)
	}
	return store, byNode
}

func podNames(pods ...*corev1.Pod) []string {
	names := []string{}
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	slices.Sort(names)
	return names
}

// Two objects of the same name in two namespaces are two objects, as are those
// whose namespace and name give the same text when they are put together.
func TestNamespaceAndNameAreBothTheKey(t *testing.T) {
	store, _ := newPodStore(t)
	for _, key := range []Key{keyIn("a", "b"), keyIn("b", "b"), keyIn("", "a"), keyIn("a", "")} {
		store.Put(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}})
	}
	require.Equal(t, 4, store.Len())
}

// A controller that deletes what it lists, in the same loop, must reach the end of
// the list that it began with.
func TestALoopShowsOneMomentWhateverItsBodyWrites(t *testing.T) {
	for name, write := range inorder.Map(map[string]func(store *Store[*corev1.Pod]){
		"delete": func(s *Store[*corev1.Pod]) {
			s.Delete(keyIn("shop", "b"))
			s.Delete(keyIn("shop", "c"))
		},
		"move": func(s *Store[*corev1.Pod]) {
			s.Put(podOn("b", "node-2"))
			s.Put(podOn("c", "node-2"))
		},
		"add":     func(s *Store[*corev1.Pod]) { s.Put(podOn("d", "node-1")) },
		"replace": func(s *Store[*corev1.Pod]) { s.Replace([]*corev1.Pod{podOn("e", "node-1")}) },
		"index": func(s *Store[*corev1.Pod]) {
			_, _ = s.AddIndex("namespace", IndexNamespace[*corev1.Pod])
		},
	}) {
		t.Run(name, func(t *testing.T) {
			pods := []*corev1.Pod{podOn("a", "node-1"), podOn("b", "node-1"), podOn("c", "node-1")}
			store, byNode := newPodStore(t, pods...)
			var all, onNode []*corev1.Pod
			for pod := range store.All() {
				write(store)
				all = append(all, pod)
			}
			require.ElementsMatch(t, pods, all, "the very objects that were there")

			store.Replace(pods)
			for pod := range byNode.Lookup("node-1") {
				write(store)
				onNode = append(onNode, pod)
			}
			require.ElementsMatch(t, pods, onNode)
		})
	}
}

// An Index is good for the life of the store, relists included.
func TestARelistKeepsTheIndices(t *testing.T) {
	store, byNode := newPodStore(t, podOn("a", "node-1"))
	store.Replace([]*corev1.Pod{podOn("b", "node-1"), podOn("c", "node-2"), podOn("c", "node-3")})
	require.Equal(t, 2, store.Len(), "of two objects with one key the last counts")
	require.Equal(t, []string{"node-1", "node-3"}, byNode.Values())
	require.Equal(t, []string{"b"}, podNames(slices.Collect(byNode.Lookup("node-1"))...))
}

// An index function with a bug must not lock everybody out forever.
func TestAPanicInAnIndexFunctionDoesNotLockTheStore(t *testing.T) {
	store, _ := newPodStore(t)
	_, err := store.AddIndex("bug", func(values []string, pod *corev1.Pod) []string {
		return append(values, pod.Spec.Containers[0].Image)
	})
	require.NoError(t, err)
	require.Panics(t, func() { store.Put(podOn("a", "node-1")) })
	require.Panics(t, func() { store.Replace([]*corev1.Pod{podOn("a", "node-1")}) })
	require.Zero(t, store.Len())
	store.Replace(nil)
}

// An index function is asked about the object that goes, too. It may be slow, or panic because
// the object was changed in the cache; readers must neither wait nor be locked out.
func TestReadersDoNotWaitForAnIndexFunctionThatLooksAtTheOldObject(t *testing.T) {
	for name, write := range inorder.Map(map[string]func(*Store[*corev1.Pod]){
		"update": func(store *Store[*corev1.Pod]) { store.Put(podOn("a", "node-2")) },
		"delete": func(store *Store[*corev1.Pod]) { store.Delete(keyIn("shop", "a")) },
	}) {
		t.Run(name, func(t *testing.T) {
			first := podOn("a", "node-1")
			store, byNode := newPodStore(t, first)
			store.Put(podOn("b", "node-1"))
			var broken bool
			_, err := store.AddIndex("bug", func(values []string, pod *corev1.Pod) []string {
				if broken && pod == first {
					panic("the object was changed")
				}
				return values
			})
			require.NoError(t, err)
			broken = true
			require.Panics(t, func() { write(store) })
			require.True(t, store.mu.TryRLock(), "no reader gets in any more")
			store.mu.RUnlock()
			kept, _ := store.Get(keyIn("shop", "a"))
			require.Same(t, first, kept, "nothing has changed")
			require.Equal(t, 2, byNode.Count("node-1"))
			broken = false
			write(store)
			require.Equal(t, 1, byNode.Count("node-1"))
		})
	}
}

// The timeline answers when an object came into the cache, and how many there were then.
func TestTheRecorderIsToldOfEveryChange(t *testing.T) {
	recorder := trace.New(16)
	store := NewStore[*corev1.Pod](StoreOptions{Recorder: recorder, Kind: "Pod"})
	a, b := podOn("a", "node-1"), podOn("b", "node-1")
	a.ResourceVersion, b.ResourceVersion = "5", "6"
	store.Put(a)
	store.Put(b)
	store.Put(a)
	store.Delete(keyIn("shop", "b"))
	store.Delete(keyIn("shop", "nobody")) // changes nothing
	store.Replace([]*corev1.Pod{podOn("c", ""), podOn("d", "")})
	var got []trace.Event
	for _, e := range recorder.Events() {
		require.Equal(t, trace.Index, e.Kind)
		require.Equal(t, "store", e.Layer)
		require.Equal(t, "Pod", e.Object)
		got = append(got, trace.Event{Op: e.Op, Namespace: e.Namespace, Name: e.Name, Version: e.Version,
			Count: e.Count})
	}
	require.Equal(t, []trace.Event{
		{Op: "add", Namespace: "shop", Name: "a", Version: "5", Count: 1},
		{Op: "add", Namespace: "shop", Name: "b", Version: "6", Count: 2},
		{Op: "update", Namespace: "shop", Name: "a", Version: "5", Count: 2},
		{Op: "delete", Namespace: "shop", Name: "b", Count: 1},
		{Op: "replace", Count: 2},
	}, got)
}

// Readers must never see half of a relist, an object twice, or an object under a
// value that it does not have.
func TestReadersAndWritersDoNotDisturbEachOther(t *testing.T) {
	const count, rounds = 300, 60
	relist := func(generation string) []*corev1.Pod {
		pods := smallPods(count)
		for _, pod := range pods {
			pod.ResourceVersion, pod.Spec.NodeName = generation, "node-"+generation
		}
		return pods
	}
	store, byNode := newPodStore(t)
	store.Replace(relist("0"))
	var readers sync.WaitGroup
	stop := make(chan struct{})
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				seen, generation := map[string]bool{}, ""
				for pod := range store.All() {
					if generation == "" {
						generation = pod.ResourceVersion
					}
					if pod.ResourceVersion != generation || seen[pod.Name] {
						t.Errorf("%s of relist %s in a view that began with relist %s; twice: %v", pod.Name,
							pod.ResourceVersion, generation, seen[pod.Name])
						return
					}
					seen[pod.Name] = true
				}
				for _, node := range byNode.Values() {
					for pod := range byNode.Lookup(node) {
						if pod.Spec.NodeName != node {
							t.Errorf("%s is on %s, and was found on %s", pod.Name, pod.Spec.NodeName, node)
							return
						}
					}
				}
			}
		})
	}
	for round := range rounds {
		pods := relist(string(rune('a' + round%26)))
		store.Replace(pods)
		for _, pod := range pods {
			store.Put(pod.DeepCopy())
		}
	}
	close(stop)
	readers.Wait()
	require.Equal(t, count, store.Len())
}

// Without the check, the next write would panic, on the informer's goroutine and with the
// store's lock held.
func TestAnIndexWithoutAFunctionIsRefused(t *testing.T) {
	store, _ := newPodStore(t)
	require.ErrorContains(t, store.AddIndices(map[string]IndexFunc[*corev1.Pod]{
		"a": IndexNamespace[*corev1.Pod], "b": nil,
	}), `adding index "b": its function is nil`)
	_, ok := store.Index("a")
	require.False(t, ok, "all or none")
	store.Put(podOn("a", "node-1"))
}

// Nobody but the informer may change what its handlers are told.
func TestTheStoreThatIsGivenAwayCanOnlyBeRead(t *testing.T) {
	var given any = NewStore[*corev1.Pod](StoreOptions{}).Reader()
	_, puts := given.(interface {
		Put(*corev1.Pod) (*corev1.Pod, bool)
	})
	_, deletes := given.(interface{ Delete(Key) (*corev1.Pod, bool) })
	_, replaces := given.(interface{ Replace([]*corev1.Pod) })
	require.False(t, puts || deletes || replaces)

	store, _ := newPodStore(t, podOn("a", "node-1"), podOn("b", "node-2"))
	reader := store.Reader()
	pod, ok := reader.Get(keyIn("shop", "a"))
	require.True(t, ok && pod.Name == "a")
	require.Equal(t, 2, reader.Len())
	byName, err := reader.AddIndex("name", func(values []string,
		pod *corev1.Pod) []string {
		return append(values, pod.Name)
	})
	require.NoError(t, err)
	require.Equal(t, 1, byName.Count("a"))
	count := 0
	for range reader.All() {
		count++
	}
	require.Equal(t, 2, count)
}

// Half of the indices is worse than none: whoever tries again is told that the first
// half exists.
func TestSeveralIndicesAreAddedAllOrNone(t *testing.T) {
	store, _ := newPodStore(t, podOn("a", "node-1"))
	reader := store.Reader()
	err := reader.AddIndices(map[string]IndexFunc[*corev1.Pod]{"a new one": nodeOf, "node": nodeOf,
		"z": nodeOf})
	require.EqualError(t, err, `adding index "node": the store has an index of that name`)
	for _, name := range []string{"a new one", "z"} {
		_, ok := reader.Index(name)
		require.False(t, ok, "%q was added, though the call failed", name)
	}
	require.Panics(t, func() {
		_ = reader.AddIndices(map[string]IndexFunc[*corev1.Pod]{
			"a new one": nodeOf, "bug": func([]string, *corev1.Pod) []string { panic("bug") },
		})
	})
	_, ok := reader.Index("a new one")
	require.False(t, ok, "an index was added, though another one's function panicked")
	require.NoError(t, reader.AddIndices(map[string]IndexFunc[*corev1.Pod]{"a new one": nodeOf,
		NamespaceIndex: IndexNamespace[*corev1.Pod]}))
	store.Put(podOn("b", "node-2"))
	for name, value := range inorder.Map(map[string]string{"a new one": "node-2",
		NamespaceIndex: "shop", "node": "node-1"}) {
		index, ok := reader.Index(name)
		require.True(t, ok)
		require.Equal(t, map[string]int{"a new one": 1, NamespaceIndex: 2, "node": 1}[name],
			index.Count(value), name)
	}
}

// Whoever adds an index for a while would otherwise pay for it as long as the store lives.
func TestAnIndexThatIsRemovedIsNotKeptUpAndTheOthersAre(t *testing.T) {
	store := NewStore[*corev1.Pod](StoreOptions{})
	calls := map[string]int{}
	add := func(name string) {
		_, err := store.AddIndex(name, func(values []string, pod *corev1.Pod) []string {
			calls[name]++
			return append(values, name+" "+pod.Name)
		})
		require.NoError(t, err)
	}
	store.Put(podOn("a", ""))
	add("first")
	add("second")
	first, _ := store.Index("first")
	second, _ := store.Index("second")
	store.Reader().RemoveIndices("first", "nobody's")
	clear(calls)
	store.Put(podOn("b", ""))
	require.Equal(t, map[string]int{"second": 1}, calls)
	_, there := store.Index("first")
	require.False(t, there)
	require.Empty(t, first.Values())
	require.Empty(t, slices.Collect(first.Lookup("first a")))
	require.Equal(t, []string{"second a", "second b"}, second.Values())
	add("first")
	require.Equal(t, []string{"first a", "first b"}, first.Values())
	store.Replace([]*corev1.Pod{podOn("d", "")})
	require.Equal(t, []string{"second d"}, second.Values())
	store.Delete(keyIn("shop", "d"))
	require.Empty(t, second.Values())
}

func shops(t *testing.T) Lister[*corev1.Pod] {
	t.Helper()
	i := NewInformer[*corev1.Pod](nil, InformerOptions[*corev1.Pod]{})
	for _, pod := range []struct{ namespace, name, app string }{
		{"shop", "a", "web"}, {"shop", "b", "db"}, {"shop", "c", ""}, {"bank", "a", "web"}, {"bank", "d",
			"web"},
	} {
		object := podOn(pod.name, "")
		if object.Namespace = pod.namespace; pod.app != "" {
			object.Labels = map[string]string{"app": pod.app}
		}
		i.store.Put(object)
	}
	return i.Lister(podResource.GroupResource())
}

func keysOf(pods iter.Seq[*corev1.Pod]) (keys []string) {
	for pod := range pods {
		keys = append(keys, KeyOf(pod).String())
	}
	return keys
}

// A controller that counts too few pods creates others, and one that counts those of
// another namespace deletes them.
func TestAListerSelectsByLabelsAndNamespace(t *testing.T) {
	lister := shops(t)
	web := labels.SelectorFromSet(labels.Set{"app": "web"})
	all := []string{"shop/a", "shop/b", "shop/c", "bank/a", "bank/d"}
	require.ElementsMatch(t, all, keysOf(lister.List(nil)))
	require.ElementsMatch(t, all, keysOf(lister.List(labels.Everything())))
	require.ElementsMatch(t, []string{"shop/a", "bank/a", "bank/d"}, keysOf(lister.List(web)))
	require.Empty(t, keysOf(lister.List(labels.Nothing())))
	require.ElementsMatch(t, []string{"shop/a", "shop/b", "shop/c"},
		keysOf(lister.InNamespace("shop").List(nil)))
	require.Equal(t, []string{"shop/a"}, keysOf(lister.InNamespace("shop").List(web)))
	require.Empty(t, keysOf(lister.InNamespace("nowhere").List(nil)))
}

// Who looks for one stops at the first. An iterator that goes on panics.
func TestAListMayBeLeftEarly(t *testing.T) {
	found := 0
	for range shops(t).List(labels.SelectorFromSet(labels.Set{"app": "web"})) {
		found++
		break
	}
	require.Equal(t, 1, found)
}

// A reconciler tells an object that is gone from a failure by IsNotFound.
func TestAListerSaysWhatItDoesNotFind(t *testing.T) {
	lister := shops(t)
	pod, err := lister.Get("bank", "d")
	require.NoError(t, err)
	require.Equal(t, "bank/d", KeyOf(pod).String())
	pod, err = lister.InNamespace("shop").Get("b")
	require.NoError(t, err)
	require.Equal(t, "shop/b", KeyOf(pod).String())
	pod, err = lister.InNamespace("shop").Get("d")
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	require.EqualError(t, err, `pods "d" not found`)
	require.Nil(t, pod)
}
