package chapters

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/benchmarks/manager"
	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/mini"
)

// A read from the cache asks nobody, however many objects there are. And one after a write of our own waits until the
// cache shows the write, which takes the watch a moment.
func Benchmark11(b *testing.B) {
	compare(b, "a Get from the cache", "Pods", []int{100, 10_000},
		peer{"mini", func(b *testing.B, n int) {
			all := pods(n)
			c := miniCache(b, miniCluster(b, serve(b, all)))
			for i := 0; b.Loop(); i++ {
				if _, err := mini.Get[*corev1.Pod](b.Context(), c, mini.KeyOf(all[i%n])); err != nil {
					b.Fatal(err)
				}
			}
		}},
		peer{"library", func(b *testing.B, n int) {
			all := pods(n)
			c, _ := manager.OurCache(serve(b, all))
			cachedGet(b, c, all)
		}},
		peer{"controller-runtime", func(b *testing.B, n int) {
			all := pods(n)
			cachedGet(b, manager.TheirCache(serve(b, all)), all)
		}},
	)
	compare(b, "an Update, and a Get that shows it", "Pods", []int{1, 100}, peer{"mini", func(b *testing.B, n int) {
		server := fakeapi.New(fakeapi.Options{})
		b.Cleanup(server.Close)
		cluster := miniCluster(b, server.Config())
		c := miniCache(b, cluster)
		all := pods(n)
		for _, pod := range all {
			pod.Namespace, pod.UID, pod.ResourceVersion = "default", "", ""
			if err := c.Create(b.Context(), pod); err != nil {
				b.Fatal(err)
			}
		}
		for i := 0; b.Loop(); i++ {
			pod := all[i%n]
			pod.Labels["at"] = map[bool]string{true: "odd", false: "even"}[i/n%2 == 1]
			if err := c.Update(b.Context(), pod); err != nil {
				b.Fatal(err)
			}
			shown, err := mini.Get[*corev1.Pod](b.Context(), c, mini.KeyOf(pod))
			if err != nil || shown.ResourceVersion != pod.ResourceVersion {
				b.Fatal("the cache shows an old state: ", err)
			}
		}
	}})
}

// miniCache is a client that reads from a cache, which runs until the benchmark ends.
func miniCache(b *testing.B, cluster *mini.Cluster) *mini.CachedClient {
	ctx, stop := context.WithCancel(b.Context())
	cache, ended := mini.NewCache(cluster), make(chan error)
	go func() { ended <- cache.Run(ctx) }()
	b.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	c := mini.NewCachedClient(cache)
	if _, err := mini.List[*corev1.Pod](ctx, c, mini.Selection{}); err != nil { // its first read waits for the list
		b.Fatal(err)
	}
	return c
}

func cachedGet(b *testing.B, c manager.CachePeer, all []*corev1.Pod) {
	for i := 0; b.Loop(); i++ {
		var pod corev1.Pod
		if err := c.Get(b.Context(), mini.KeyOf(all[i%len(all)]), &pod); err != nil {
			b.Fatal(err)
		}
	}
	if err := c.Stop(); err != nil {
		b.Fatal(err)
	}
}
