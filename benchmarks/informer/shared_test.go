package informer_test

import (
	"context"
	"fmt"
	"io"
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

const (
	events    = 100_000
	listeners = 10
)

// feed is a collection that is empty at first, and then has events: the same pods
// for both, made before the clock runs. The last one is the pod named last.
type feed struct {
	pods []*corev1.Pod
	once map[int]bool // the first event of a pod is ADDED
}

func newFeed(keys int) *feed {
	f := &feed{once: map[int]bool{}}
	for i := range events {
		p := pod(i % keys)
		p.ResourceVersion = fmt.Sprint(100 + i)
		f.pods = append(f.pods, p)
		f.once[i] = i < keys
	}
	last := pod(0)
	last.Name, last.ResourceVersion = "last", fmt.Sprint(100+events)
	f.pods = append(f.pods, last)
	f.once[events] = true
	return f
}

func (f *feed) kind(i int) watch.EventType {
	if f.once[i] {
		return watch.Added
	}
	return watch.Modified
}

// ourFeed is the feed as this library reads it.
type ourFeed struct{ *feed }

func (f ourFeed) List(context.Context, metav1.ListOptions) (*informer.List[*corev1.Pod], error) {
	return &informer.List[*corev1.Pod]{ResourceVersion: "1"}, nil
}

func (f ourFeed) Watch(ctx context.Context, _ metav1.ListOptions) (informer.Watch[*corev1.Pod], error) {
	w := &ourWatch{feed: f.feed, closed: make(chan struct{})}
	context.AfterFunc(ctx, func() { _ = w.Close() })
	return w, nil
}

type ourWatch struct {
	*feed
	at     int
	once   sync.Once
	closed chan struct{}
}

func (w *ourWatch) Next() (informer.Event[*corev1.Pod], error) {
	if w.at == len(w.pods) {
		<-w.closed
		return informer.Event[*corev1.Pod]{}, io.EOF
	}
	i := w.at
	w.at++
	return informer.Event[*corev1.Pod]{Type: w.kind(i), Object: w.pods[i], ResourceVersion: w.pods[i].ResourceVersion}, nil
}

func (w *ourWatch) Close() error {
	w.once.Do(func() { close(w.closed) })
	return nil
}

// theirFeed is the feed as client-go reads it.
type theirFeed struct{ *feed }

// IsWatchListSemanticsUnSupported makes client-go list, as ours is made to.
func (theirFeed) IsWatchListSemanticsUnSupported() bool { return true }

func (f theirFeed) List(metav1.ListOptions) (runtime.Object, error) {
	return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
}

func (f theirFeed) Watch(metav1.ListOptions) (watch.Interface, error) {
	w := &theirWatch{results: make(chan watch.Event, 100), stopped: make(chan struct{})}
	go func() {
		defer close(w.results)
		for i, pod := range f.pods {
			select {
			case w.results <- watch.Event{Type: f.kind(i), Object: pod}:
			case <-w.stopped:
				return
			}
		}
		<-w.stopped
	}()
	return w, nil
}

type theirWatch struct {
	results chan watch.Event
	once    sync.Once
	stopped chan struct{}
}

func (w *theirWatch) ResultChan() <-chan watch.Event { return w.results }
func (w *theirWatch) Stop()                          { w.once.Do(func() { close(w.stopped) }) }

// miniFeed is the feed as mini reads it: with client-go's watch.
type miniFeed struct{ *feed }

func (miniFeed) List(context.Context) ([]mini.Object, string, error) { return nil, "1", nil }

func (f miniFeed) Watch(ctx context.Context, _ string) (watch.Interface, error) {
	w, err := theirFeed(f).Watch(metav1.ListOptions{})
	context.AfterFunc(ctx, w.Stop) // mini asks for the end by the context
	return w, err
}

// 100,000 events go through an informer with two indices to 10 listeners: each of
// another object, or all of 1,000 objects. By default every listener is told of all that
// the store has shown, on both sides; with Coalesce, which client-go does not have, listeners
// of ours are told what has changed since they looked.
func BenchmarkInformer(b *testing.B) {
	for _, c := range []struct {
		name     string
		keys     int
		coalesce bool
	}{
		{"10-listeners/100000-keys", events, false},
		{"10-listeners/100000-keys-coalesce", events, true},
		{"10-listeners/1000-keys", 1000, false},
		{"10-listeners/1000-keys-coalesce", 1000, true},
	} {
		name, f := c.name, newFeed(c.keys)
		b.Run(name+"/ours", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				i := informer.NewInformer(informer.ListerWatcher[*corev1.Pod](ourFeed{f}), informer.InformerOptions[*corev1.Pod]{Reflector: informer.ReflectorOptions{NoStream: true}})
				if _, err := i.Store().AddIndex("node", func(values []string, pod *corev1.Pod) []string { return append(values, pod.Spec.NodeName) }); err != nil {
					b.Fatal(err)
				}
				var told sync.WaitGroup
				told.Add(listeners)
				for range listeners {
					_, _ = i.AddHandler(informer.HandlerFuncs[*corev1.Pod]{Add: func(pod *corev1.Pod, _ bool) {
						if pod.Name == "last" {
							told.Done()
						}
					}}, informer.HandlerOptions{Coalesce: c.coalesce})
				}
				ctx, cancel := context.WithCancel(b.Context())
				var running sync.WaitGroup
				running.Go(func() { _ = i.Run(ctx) })
				told.Wait()
				cancel()
				running.Wait()
			}
		})
		if !c.coalesce {
			b.Run(name+"/mini", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					i := mini.NewSharedInformer(miniFeed{f}, miniIndexers())
					var told sync.WaitGroup
					told.Add(listeners)
					for range listeners {
						i.AddHandler(func(change mini.Change) {
							if change.Old == nil && change.New.GetName() == "last" {
								told.Done()
							}
						})
					}
					ctx, cancel := context.WithCancel(b.Context())
					var running sync.WaitGroup
					running.Go(func() { _ = i.Run(ctx) })
					told.Wait()
					cancel()
					running.Wait()
				}
			})
		}
		b.Run(name+"/client-go", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				i := cache.NewSharedIndexInformer(theirFeed{f}, &corev1.Pod{}, 0, cache.Indexers{
					cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
					"node":               func(object any) ([]string, error) { return []string{object.(*corev1.Pod).Spec.NodeName}, nil },
				})
				var told sync.WaitGroup
				told.Add(listeners)
				for range listeners {
					_, _ = i.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(object any) {
						if object.(*corev1.Pod).Name == "last" {
							told.Done()
						}
					}})
				}
				stop := make(chan struct{})
				var running sync.WaitGroup
				running.Go(func() { i.Run(stop) })
				told.Wait()
				close(stop)
				running.Wait()
			}
		})
	}
}
