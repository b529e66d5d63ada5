package chapters

import (
	"context"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes/scheme"
	upstream "sigs.k8s.io/controller-runtime/pkg/manager"
	upstreamserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/metrics/server"
	"github.com/loopwright/loopwright/mini"
)

// A manager starts what a program consists of, waits until all of it works, and stops it again. What's its share, if the
// parts do nothing?
func Benchmark14(b *testing.B) {
	compare(b, "a manager from its start to its end", "parts", []int{1, 100},
		peer{"mini", func(b *testing.B, n int) {
			cluster := miniCluster(b, serve(b, pods(1)))
			manage(b, n, func(part func(context.Context) error) (func(context.Context) error, error) {
				m := mini.NewManager(cluster)
				for range n {
					m.AddController(mini.RunnableFunc(part))
				}
				return m.Run, nil
			})
		}},
		peer{"library", func(b *testing.B, n int) {
			config := serve(b, pods(1))
			manage(b, n, func(part func(context.Context) error) (func(context.Context) error, error) {
				m, err := manager.New(config, manager.Options{Scheme: scheme.Scheme, Metrics: server.Options{BindAddress: "0"}, Logger: logr.Discard()})
				for i := 0; err == nil && i < n; i++ {
					err = m.Add(manager.RunnableFunc(part))
				}
				return m.Start, err
			})
		}},
		peer{"controller-runtime", func(b *testing.B, n int) {
			config := serve(b, pods(1))
			manage(b, n, func(part func(context.Context) error) (func(context.Context) error, error) {
				m, err := upstream.New(config, upstream.Options{Scheme: scheme.Scheme, Metrics: upstreamserver.Options{BindAddress: "0"}, Logger: logr.Discard()})
				for i := 0; err == nil && i < n; i++ {
					err = m.Add(upstream.RunnableFunc(part))
				}
				return m.Start, err
			})
		}},
	)
}

func manage(b *testing.B, parts int, build func(part func(context.Context) error) (start func(context.Context) error, err error)) {
	for b.Loop() {
		var working sync.WaitGroup
		working.Add(parts)
		start, err := build(func(ctx context.Context) error {
			working.Done()
			<-ctx.Done()
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		ctx, stop := context.WithCancel(b.Context())
		var running sync.WaitGroup
		running.Go(func() { err = start(ctx) })
		working.Wait()
		stop()
		running.Wait()
		if err != nil {
			b.Fatal(err)
		}
	}
}
