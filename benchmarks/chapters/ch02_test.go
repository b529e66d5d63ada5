package chapters

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/mini"
)

// An index finds the 50 Pods of one node without looking at the others, so that a store of 100,000 should answer as fast
// as one of 100. And each write pays for it.
func Benchmark02(b *testing.B) {
	const perNode = 50
	sizes := []int{100, 100_000}
	compare(b, "the 50 Pods of one node", "Pods", sizes,
		peer{"mini", func(b *testing.B, n int) {
			store := miniStore(pods(n))
			for b.Loop() {
				found, err := store.ByIndex("node", nodeOf(1))
				if err != nil || len(found) != perNode {
					b.Fatal(len(found), err)
				}
			}
		}},
		peer{"library", func(b *testing.B, n int) {
			_, byNode := libraryStore(b, pods(n))
			for b.Loop() {
				found := 0
				for range byNode.Lookup(nodeOf(1)) {
					found++
				}
				if found != perNode {
					b.Fatal(found)
				}
			}
		}},
		peer{"client-go", func(b *testing.B, n int) {
			indexer := clientGoStore(b, pods(n))
			for b.Loop() {
				found, err := indexer.ByIndex("node", nodeOf(1))
				if err != nil || len(found) != perNode {
					b.Fatal(len(found), err)
				}
			}
		}},
	)
	compare(b, "one Pod changes", "Pods", sizes,
		peer{"mini", func(b *testing.B, n int) {
			all := pods(n)
			store := miniStore(all)
			for i := 0; b.Loop(); i++ {
				store.Update(all[i%n])
			}
		}},
		peer{"library", func(b *testing.B, n int) {
			all := pods(n)
			store, _ := libraryStore(b, all)
			for i := 0; b.Loop(); i++ {
				store.Put(all[i%n])
			}
		}},
		peer{"client-go", func(b *testing.B, n int) {
			all := pods(n)
			indexer := clientGoStore(b, all)
			for i := 0; b.Loop(); i++ {
				_ = indexer.Update(all[i%n]) // its key function can't fail on a Pod
			}
		}},
	)
}

func miniStore(pods []*corev1.Pod) *mini.Store {
	store := mini.NewStore(mini.Indexers{
		"namespace": func(object mini.Object) []string { return []string{object.GetNamespace()} },
		"node":      func(object mini.Object) []string { return []string{object.(*corev1.Pod).Spec.NodeName} },
	})
	for _, pod := range pods {
		store.Update(pod)
	}
	return store
}

func libraryStore(b *testing.B, pods []*corev1.Pod) (*informer.Store[*corev1.Pod], *informer.Index[*corev1.Pod]) {
	store := informer.NewStore[*corev1.Pod](informer.StoreOptions{})
	if _, err := store.AddIndex(informer.NamespaceIndex, informer.IndexNamespace[*corev1.Pod]); err != nil {
		b.Fatal(err)
	}
	byNode, err := store.AddIndex("node", func(values []string, pod *corev1.Pod) []string { return append(values, pod.Spec.NodeName) })
	if err != nil {
		b.Fatal(err)
	}
	store.Replace(pods)
	return store, byNode
}

func clientGoStore(b *testing.B, pods []*corev1.Pod) cache.Indexer {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{
		cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
		"node":               func(object any) ([]string, error) { return []string{object.(*corev1.Pod).Spec.NodeName}, nil },
	})
	for _, pod := range pods {
		if err := indexer.Add(pod); err != nil {
			b.Fatal(err)
		}
	}
	return indexer
}
