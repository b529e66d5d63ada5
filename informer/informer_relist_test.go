package informer

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/internal/inorder"
)

// listening runs an informer whose queue is filled by hand, and a handler.
func listening(t *testing.T, handler Handler[*corev1.Pod], test func(i *Informer[*corev1.Pod])) {
	synctest.Test(t, func(t *testing.T) {
		i := NewInformer[*corev1.Pod](nil, InformerOptions[*corev1.Pod]{})
		_, err := i.AddHandler(handler, HandlerOptions{})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		var running, listeners sync.WaitGroup
		running.Go(func() { i.loop(ctx, &listeners) })
		test(i)
		cancel()
		running.Wait()
		listeners.Wait()
	})
}

// A cluster was restored from a backup, or converts objects in another way since its
// upgrade: a list shows another content under a version that is known. It must reach the
// store and the handlers; what has not changed must reach no handler.
func TestAListWithAnotherContentUnderTheSameVersionReachesEverybody(t *testing.T) {
	for name, version := range inorder.Map(map[string]string{"with versions": "5", "without versions": ""}) {
		t.Run(name, func(t *testing.T) {
			pods := func(node string) []*corev1.Pod {
				changed, same := podOn("changed", node), podOn("same", "node-1")
				changed.ResourceVersion, same.ResourceVersion = version, version
				return []*corev1.Pod{changed, same}
			}
			var calls []string
			listening(t, HandlerFuncs[*corev1.Pod]{
				Update: func(old, pod *corev1.Pod) {
					calls = append(calls, fmt.Sprintf("%s from %s to %s", pod.Name, old.Spec.NodeName, pod.Spec.NodeName))
				},
			}, func(i *Informer[*corev1.Pod]) {
				i.queue.Replace(pods("node-1"), version)
				synctest.Wait()
				require.NoError(t, i.WaitForSync(t.Context()))
				i.queue.Replace(pods("node-2"), version)
				synctest.Wait()
				stored, _ := i.Store().Get(keyIn("shop", "changed"))
				require.Equal(t, "node-2", stored.Spec.NodeName)
				require.Equal(t, []string{"changed from node-1 to node-2"}, calls)
			})
		})
	}
}

// A pod is replaced by one of the same name. Whoever looks it up must find one of them:
// a controller that finds none creates a third.
func TestAnObjectThatIsReplacedIsNeverMissingFromTheStore(t *testing.T) {
	var h heard
	listening(t, h.handler(), func(i *Informer[*corev1.Pod]) {
		i.queue.Replace([]*corev1.Pod{a1, podOn("other", "")}, "1")
		synctest.Wait()
		at := i.store.slotOf(KeyOf(a1))
		i.queue.Replace([]*corev1.Pod{b4, podOn("other", "")}, "4")
		synctest.Wait()
		require.Equal(t, heard{"delete a1 true", "add b4 false"}, h[len(h)-2:])
		require.Equal(t, at, i.store.slotOf(KeyOf(b4)), "the second did not replace the first in its slot: for a moment there was none")
		require.Equal(t, 2, i.store.Len())
	})
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
	byName, err := reader.AddIndex("name", func(values []string, pod *corev1.Pod) []string { return append(values, pod.Name) })
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
	err := reader.AddIndices(map[string]IndexFunc[*corev1.Pod]{"a new one": nodeOf, "node": nodeOf, "z": nodeOf})
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
	require.NoError(t, reader.AddIndices(map[string]IndexFunc[*corev1.Pod]{"a new one": nodeOf, NamespaceIndex: IndexNamespace[*corev1.Pod]}))
	store.Put(podOn("b", "node-2"))
	for name, value := range inorder.Map(map[string]string{"a new one": "node-2", NamespaceIndex: "shop", "node": "node-1"}) {
		index, ok := reader.Index(name)
		require.True(t, ok)
		require.Equal(t, map[string]int{"a new one": 1, NamespaceIndex: 2, "node": 1}[name], index.Count(value), name)
	}
}
