package informer

import (
	"fmt"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// smallPod has what a store looks at. What else is in an object does not matter
// to it.
func smallPod(i int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: fmt.Sprintf("shop-%d", i%50), Name: fmt.Sprintf("web-6d4f5c7b9-%05d", i),
			ResourceVersion: fmt.Sprint(100_000 + i)},
		Spec: corev1.PodSpec{NodeName: fmt.Sprintf("node-%d", i%200)},
	}
}

func smallPods(count int) []*corev1.Pod {
	pods := make([]*corev1.Pod, count)
	for i := range pods {
		pods[i] = smallPod(i)
	}
	return pods
}

func nodeOf(values []string, pod *corev1.Pod) []string { return append(values, pod.Spec.NodeName) }

// benchmarkStore has two indices: by namespace and by node.
func benchmarkStore(b *testing.B, pods []*corev1.Pod) (*Store[*corev1.Pod], *Index[*corev1.Pod]) {
	store := NewStore[*corev1.Pod](StoreOptions{})
	if _, err := store.AddIndex(NamespaceIndex, IndexNamespace[*corev1.Pod]); err != nil {
		b.Fatal(err)
	}
	byNode, err := store.AddIndex("node", nodeOf)
	if err != nil {
		b.Fatal(err)
	}
	store.Replace(pods)
	return store, byNode
}

// BenchmarkStorePut changes one of 10,000 objects.
func BenchmarkStorePut(b *testing.B) {
	pods := smallPods(10_000)
	store, _ := benchmarkStore(b, pods)
	moved := make([]*corev1.Pod, len(pods))
	for i, pod := range pods {
		moved[i] = pod.DeepCopy()
		moved[i].Spec.NodeName = fmt.Sprintf("node-%d", (i+1)%200)
	}
	b.Run("same values", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			store.Put(pods[i%len(pods)])
		}
	})
	b.Run("another node", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if i/len(pods)%2 == 0 {
				store.Put(moved[i%len(pods)])
			} else {
				store.Put(pods[i%len(pods)])
			}
		}
	})
	b.Run("while a reader iterates", func(b *testing.B) {
		b.ReportAllocs()
		for range store.All() {
			for i := 0; b.Loop(); i++ {
				store.Put(pods[i%len(pods)])
			}
			break
		}
	})
}

func BenchmarkStoreReplace(b *testing.B) {
	pods := smallPods(10_000)
	store, _ := benchmarkStore(b, nil)
	b.ReportAllocs()
	for b.Loop() {
		store.Replace(pods)
	}
}

func BenchmarkStoreRead(b *testing.B) {
	pods := smallPods(10_000)
	store, byNode := benchmarkStore(b, pods)
	b.Run("get", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			store.Get(KeyOf(pods[i%len(pods)]))
		}
	})
	b.Run("50 of 10000 by index", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			found := 0
			for range byNode.Lookup("node-7") {
				found++
			}
			if found != 50 {
				b.Fatal(found)
			}
		}
	})
	b.Run("all 10000", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			found := 0
			for range store.All() {
				found++
			}
			if found != len(pods) {
				b.Fatal(found)
			}
		}
	})
}

// BenchmarkStoreMemory reports what the store itself takes for each of 100,000
// objects with two indices: without the objects, which are there anyway.
func BenchmarkStoreMemory(b *testing.B) {
	pods := smallPods(100_000)
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		store, _ := benchmarkStore(b, pods)
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(store)
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(len(pods)), "bytes/object")
	runtime.KeepAlive(pods)
}
