package chapters

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/mini"
)

// A program that starts, or whose watch broke, has nothing to go by until its reflector has filled the sink. How long is
// that?
func Benchmark03(b *testing.B) {
	compare(b, "from the start of a reflector to a full sink", "Pods", []int{100, 10_000},
		peer{"mini", func(b *testing.B, n int) {
			listWatch, err := miniCluster(b, serve(b, pods(n))).ListWatch(&corev1.Pod{}, "")
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				ctx, stop := context.WithCancel(b.Context())
				sink := &miniSink{full: stop}
				if err := (&mini.Reflector{Source: listWatch, Sink: sink}).Run(ctx); err != nil || sink.got != n {
					b.Fatal(sink.got, err)
				}
			}
		}},
		peer{"library", func(b *testing.B, n int) {
			listWatch := libraryListWatch(b, pods(n))
			for b.Loop() {
				ctx, stop := context.WithCancel(b.Context())
				sink := &librarySink{full: stop}
				reflector := informer.NewReflector(listWatch, informer.Sink[*corev1.Pod](sink), informer.ReflectorOptions{NoStream: true})
				if err := reflector.Run(ctx); err != nil || sink.got != n {
					b.Fatal(sink.got, err)
				}
			}
		}},
		peer{"client-go", func(b *testing.B, n int) {
			client, err := kubernetes.NewForConfig(serve(b, pods(n)))
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				ctx, stop := context.WithCancel(b.Context())
				store := &clientGoSink{Store: cache.NewStore(cache.MetaNamespaceKeyFunc), full: stop}
				cache.NewReflectorWithOptions(listOnly{&cache.ListWatch{
					ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
						return client.CoreV1().Pods("").List(ctx, options)
					},
					WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
						return client.CoreV1().Pods("").Watch(ctx, options)
					},
				}}, &corev1.Pod{}, store, cache.ReflectorOptions{}).RunWithContext(ctx)
				if store.got != n {
					b.Fatal(store.got)
				}
			}
		}},
	)
}

type miniSink struct {
	got  int
	full func()
}

func (s *miniSink) Replace(items []mini.Object, _ string) { s.got = len(items); s.full() }
func (*miniSink) Update(mini.Object)                      {}
func (*miniSink) Delete(mini.Object)                      {}

type librarySink struct {
	got  int
	full func()
}

func (s *librarySink) Replace(items []*corev1.Pod, _ string) { s.got = len(items); s.full() }
func (*librarySink) Apply(informer.Event[*corev1.Pod])       {}
func (*librarySink) Progress(string)                         {}

// clientGoSink leaves out the store below it: the others have none.
type clientGoSink struct {
	cache.Store
	got  int
	full func()
}

func (s *clientGoSink) Replace(items []any, _ string) error { s.got = len(items); s.full(); return nil }

// listOnly makes client-go list, as mini does.
type listOnly struct{ *cache.ListWatch }

func (listOnly) IsWatchListSemanticsUnSupported() bool { return true }
