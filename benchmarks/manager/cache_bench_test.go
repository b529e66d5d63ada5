package manager

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
)

// BenchmarkCachedGet reads one of 1,000 pods by its name, as a copy.
func BenchmarkCachedGet(b *testing.B) {
	eachCache(b, 1000, func(b *testing.B, c CachePeer) {
		var pod corev1.Pod
		for i := 0; b.Loop(); i++ {
			must(c.Get(b.Context(), podName(i%1000), &pod))
		}
	})
}

// BenchmarkCachedList lists 1,000 pods, as copies.
func BenchmarkCachedList(b *testing.B) {
	eachCache(b, 1000, func(b *testing.B, c CachePeer) {
		for b.Loop() {
			var pods corev1.PodList
			must(c.List(b.Context(), &pods, ""))
		}
	})
}

// BenchmarkCachedListZeroCopy lists 1,000 pods without copying what they point to. The items of a list are
// structs, so they are copied one level deep.
func BenchmarkCachedListZeroCopy(b *testing.B) {
	eachCache(b, 1000, func(b *testing.B, c CachePeer) {
		for b.Loop() {
			var pods corev1.PodList
			must(c.ZeroCopy(b.Context(), &pods))
		}
	})
}

// BenchmarkCacheSync syncs a cache with pods. Heap is what it keeps then, and goroutines is what it
// has, apart from the one that waits in Start.
func BenchmarkCacheSync(b *testing.B) {
	sizes := []int{1_000, 5_000, 20_000, 50_000}
	if testing.Short() {
		sizes = []int{500}
	}
	for _, pods := range sizes {
		b.Run(fmt.Sprintf("objects=%d", pods), func(b *testing.B) { syncWith(b, pods) })
	}
}

func syncWith(b *testing.B, pods int) {
	config := ServePods(SomePods(pods))
	for _, peer := range cachePeers {
		b.Run(peer.name, func(b *testing.B) {
			var heap, routines float64
			for b.Loop() {
				b.StopTimer()
				before, beforeGoroutines := heapAlloc(), goroutines()
				b.StartTimer()
				c := peer.start(config)
				b.StopTimer()
				heap, routines = heapAlloc()-before, float64(goroutines()-beforeGoroutines-1)
				must(c.Stop())
				b.StartTimer()
			}
			b.ReportMetric(heap/1e6, "heap-MB")
			b.ReportMetric(routines, "goroutines")
		})
	}
}

func heapAlloc() float64 {
	runtime.GC()
	runtime.GC() // the first one leaves what has finalizers, and what pools hold
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

type cachePeer struct {
	name  string
	start func(config *rest.Config) CachePeer
}

var cachePeers = []cachePeer{
	{"ours", func(config *rest.Config) CachePeer { peer, _ := OurCache(config); return peer }},
	{"controller-runtime", TheirCache},
}

func eachCache(b *testing.B, count int, measure func(b *testing.B, c CachePeer)) {
	config := ServePods(SomePods(count))
	for _, peer := range cachePeers {
		b.Run(peer.name, func(b *testing.B) {
			c := peer.start(config)
			b.ReportAllocs()
			measure(b, c)
			b.StopTimer()
			must(c.Stop())
		})
	}
}

// The two sides must give the same answers, or their times could not be compared.
func TestBothCachesHaveTheSamePods(t *testing.T) {
	config := ServePods(SomePods(300))
	ctx := context.Background()
	var answers [2][]corev1.PodList
	for side, peer := range cachePeers {
		c := peer.start(config)
		all, one, node, zero := corev1.PodList{}, corev1.PodList{}, corev1.PodList{}, corev1.PodList{}
		require.NoError(t, c.List(ctx, &all, ""))
		require.NoError(t, c.List(ctx, &one, "shop-3"))
		require.NoError(t, c.ByNode(ctx, &node, "node-7"))
		require.NoError(t, c.ZeroCopy(ctx, &zero))
		var pod corev1.Pod
		require.NoError(t, c.Get(ctx, podName(17), &pod))
		answers[side] = []corev1.PodList{all, one, node, zero, {Items: []corev1.Pod{pod}}}
		require.NoError(t, c.Stop())
	}
	for i := range answers[0] {
		ours, theirs := byName(answers[0][i]), byName(answers[1][i])
		require.Len(t, ours, len(theirs))
		require.Equal(t, theirs, ours)
	}
}

// byName are the pods of a list, without their kind, which ours have in zero-copy lists, too.
func byName(list corev1.PodList) map[string]corev1.Pod {
	pods := map[string]corev1.Pod{}
	for _, pod := range list.Items {
		pod.Kind, pod.APIVersion = "", ""
		pods[pod.Namespace+"/"+pod.Name] = pod
	}
	return pods
}
