package informer

import (
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/internal/tests/inorder"
)

// labelValues is an index with any number of values, repeated ones too.
func labelValues(values []string, pod *corev1.Pod) []string {
	return append(values, strings.Fields(pod.Labels["values"])...)
}

// Whatever is done to it, in whatever order, the store answers as a map does that is searched
// from end to end for every question.
func TestTheStoreAnswersAsASimpleMapDoes(t *testing.T) {
	functions := map[string]IndexFunc[*corev1.Pod]{"node": nodeOf, "labels": labelValues}
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 2))
		newPod := func() *corev1.Pod {
			pod := podOn(fmt.Sprint("pod-", random.IntN(20)), fmt.Sprint("node-", random.IntN(4)))
			values := ""
			for range random.IntN(4) {
				values += fmt.Sprintf("v%d ", random.IntN(3))
			}
			pod.Labels = map[string]string{"values": values}
			return pod
		}
		store, model := NewStore[*corev1.Pod](StoreOptions{}), map[Key]*corev1.Pod{}
		for range 200 {
			pod, name := newPod(), []string{"node", "labels"}[random.IntN(2)]
			was, existed := model[KeyOf(pod)]
			switch random.IntN(20) {
			case 0:
				pods := []*corev1.Pod{pod, newPod(), newPod(), newPod()}
				store.Replace(pods)
				clear(model)
				for _, pod := range pods {
					model[KeyOf(pod)] = pod
				}
			case 1:
				store.RemoveIndices(name)
			case 2, 3, 4:
				_, there := store.Index(name)
				_, err := store.AddIndex(name, functions[name])
				require.Equal(t, there, err != nil)
			case 5, 6, 7, 8, 9:
				old, deleted := store.Delete(KeyOf(pod))
				require.True(t, old == was && deleted == existed)
				delete(model, KeyOf(pod))
			default:
				if existed && random.IntN(4) == 0 {
					pod = was // as it is
				}
				old, replaced := store.Put(pod)
				require.True(t, old == was && replaced == existed)
				model[KeyOf(pod)] = pod
			}
			requireStore(t, model, store, functions)
		}
	}
}

func requireStore(
	t *testing.T, model map[Key]*corev1.Pod, store *Store[*corev1.Pod],
	functions map[string]IndexFunc[*corev1.Pod],
) {
	require.Equal(t, len(model), store.Len())
	require.True(t, maps.Equal(model, byKey(t, store.All())))
	for name, function := range inorder.Map(functions) {
		index, ok := store.Index(name)
		if !ok {
			continue
		}
		want := map[string]map[Key]*corev1.Pod{} // by value
		for key, pod := range model {
			for _, value := range function(nil, pod) {
				if want[value] == nil {
					want[value] = map[Key]*corev1.Pod{}
				}
				want[value][key] = pod
			}
		}
		require.Equal(t, slices.Sorted(maps.Keys(want)), index.Values())
		for value, pods := range want {
			require.Equal(t, len(pods), index.Count(value))
			require.True(t, maps.Equal(pods, byKey(t, index.Lookup(value))), "%s of %q", name, value)
		}
	}
}

func byKey(t *testing.T, pods iter.Seq[*corev1.Pod]) map[Key]*corev1.Pod {
	found := map[Key]*corev1.Pod{}
	for pod := range pods {
		require.NotContains(t, found, KeyOf(pod), "twice")
		found[KeyOf(pod)] = pod
	}
	return found
}
