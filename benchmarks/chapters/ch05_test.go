package chapters

import (
	"context"
	"io"
	"strconv"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/mini"
)

// One change reaches every handler, and each has a goroutine of its own. The next change comes when all have heard.
func Benchmark05(b *testing.B) {
	compare(b, "a change from the watch to all handlers", "handlers", []int{1, 10, 100},
		peer{"mini", func(b *testing.B, n int) {
			source := newSource()
			shared := mini.NewSharedInformer(miniSource{source}, nil)
			for range n {
				shared.AddHandler(func(mini.Change) { source.told.Done() })
			}
			source.measure(b, n, func(ctx context.Context) { _ = shared.Run(ctx) })
		}},
		peer{"library", func(b *testing.B, n int) {
			source := newSource()
			shared := informer.NewInformer(informer.ListerWatcher[*corev1.Pod](librarySource{source}),
				informer.InformerOptions[*corev1.Pod]{Reflector: informer.ReflectorOptions{NoStream: true}})
			for range n {
				if _, err := shared.AddHandler(informer.HandlerFuncs[*corev1.Pod]{
					Add:    func(*corev1.Pod, bool) { source.told.Done() },
					Update: func(_, _ *corev1.Pod) { source.told.Done() },
				}, informer.HandlerOptions{}); err != nil {
					b.Fatal(err)
				}
			}
			source.measure(b, n, func(ctx context.Context) { _ = shared.Run(ctx) })
		}},
		peer{"client-go", func(b *testing.B, n int) {
			source := newSource()
			shared := cache.NewSharedIndexInformer(clientGoSource{source}, &corev1.Pod{}, 0, cache.Indexers{})
			for range n {
				if _, err := shared.AddEventHandler(cache.ResourceEventHandlerFuncs{
					AddFunc:    func(any) { source.told.Done() },
					UpdateFunc: func(_, _ any) { source.told.Done() },
				}); err != nil {
					b.Fatal(err)
				}
			}
			source.measure(b, n, func(ctx context.Context) { shared.RunWithContext(ctx) })
		}},
	)
}

// source has no Pods at first, and then one that changes whenever the benchmark says so.
type source struct {
	changes chan *corev1.Pod // from the benchmark to the watch, which is the only one
	told    sync.WaitGroup   // handlers that have yet to hear of the change
}

func newSource() *source { return &source{changes: make(chan *corev1.Pod)} }

// measure sends one change after the other until the benchmark ends, and then ends the informer.
func (s *source) measure(b *testing.B, handlers int, run func(context.Context)) {
	ctx, stop := context.WithCancel(b.Context())
	var running sync.WaitGroup
	running.Go(func() { run(ctx) })
	pod := pods(1)[0]
	send := func(i int) {
		changed := *pod // with a version of its own, because versions only grow
		changed.ResourceVersion = strconv.Itoa(100_000 + i)
		s.told.Add(handlers)
		s.changes <- &changed
		s.told.Wait()
	}
	send(0) // ADDED; it waits until the watch has begun
	for i := 1; b.Loop(); i++ {
		send(i)
	}
	stop()
	running.Wait()
}

type miniSource struct{ *source }

func (miniSource) List(context.Context) ([]mini.Object, string, error) { return nil, "1", nil }
func (s miniSource) Watch(ctx context.Context, _ string) (watch.Interface, error) {
	return s.watch(ctx), nil
}

type clientGoSource struct{ *source }

func (clientGoSource) IsWatchListSemanticsUnSupported() bool { return true }
func (clientGoSource) List(metav1.ListOptions) (runtime.Object, error) {
	return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
}

func (s clientGoSource) Watch(metav1.ListOptions) (watch.Interface, error) {
	return s.watch(context.Background()), nil // client-go stops it
}

// watch is what mini and client-go take: a channel of events.
func (s *source) watch(ctx context.Context) watch.Interface {
	ctx, stop := context.WithCancel(ctx)
	w := &channel{events: make(chan watch.Event), stop: stop}
	go func() {
		defer close(w.events)
		for kind := watch.Added; ; kind = watch.Modified {
			select {
			case pod := <-s.changes:
				w.events <- watch.Event{Type: kind, Object: pod}
			case <-ctx.Done():
				return
			}
		}
	}()
	return w
}

type channel struct {
	events chan watch.Event
	stop   func()
}

func (c *channel) ResultChan() <-chan watch.Event { return c.events }
func (c *channel) Stop()                          { c.stop() }

type librarySource struct{ *source }

func (librarySource) List(context.Context, metav1.ListOptions) (*informer.List[*corev1.Pod], error) {
	return &informer.List[*corev1.Pod]{ResourceVersion: "1"}, nil
}

func (s librarySource) Watch(ctx context.Context, _ metav1.ListOptions) (informer.Watch[*corev1.Pod], error) {
	ctx, stop := context.WithCancel(ctx)
	return &pulled{source: s.source, kind: watch.Added, ctx: ctx, stop: stop}, nil
}

// pulled is what the library takes: it asks for each event.
type pulled struct {
	*source
	kind watch.EventType
	ctx  context.Context
	stop func()
}

func (p *pulled) Next() (informer.Event[*corev1.Pod], error) {
	select {
	case pod := <-p.changes:
		event := informer.Event[*corev1.Pod]{Type: p.kind, Object: pod, ResourceVersion: pod.ResourceVersion}
		p.kind = watch.Modified
		return event, nil
	case <-p.ctx.Done():
		return informer.Event[*corev1.Pod]{}, io.EOF
	}
}

func (p *pulled) Close() error { p.stop(); return nil }
