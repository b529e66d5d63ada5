package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/chapters/19-endpoints/coda/picture"
	"github.com/loopwright/loopwright/informer"
)

// world is what the demo sees of its namespace: five reflectors write to it, as chapter 3 built them. It has none of
// the controllers' caches, so that what it shows is what anybody would see.
type world struct {
	// tell is called with the facts after each change, one call at a time. It is set before watch is called.
	tell func(picture.Facts)

	mu      sync.Mutex // guards what follows
	picture *picture.Picture
	pods    ledger
	written int           // of the Endpoints, since the step began
	news    chan struct{} // closed by the next change, which makes another one
}

func newWorld(name string) *world {
	return &world{picture: picture.New(name), news: make(chan struct{}), tell: func(picture.Facts) {}}
}

// watch keeps the world up to date until ctx ends.
func (w *world) watch(ctx context.Context, config *rest.Config, namespace string) error {
	config = rest.CopyConfig(config)
	config.WarningHandlerWithContext = rest.NoWarnings{} // Endpoints are deprecated, as every answer would say
	var running sync.WaitGroup
	defer running.Wait()
	show := func(o informer.Object) { w.picture.Saw(o) }
	hide := func(o informer.Object) { w.picture.Gone(o) }
	return errors.Join(
		follow(ctx, &running, config, namespace, appsv1.SchemeGroupVersion.WithResource("deployments"),
			&sink[*appsv1.Deployment]{world: w, saw: func(o *appsv1.Deployment) { show(o) }, gone: func(o *appsv1.Deployment) { hide(o) }}),
		follow(ctx, &running, config, namespace, appsv1.SchemeGroupVersion.WithResource("replicasets"),
			&sink[*appsv1.ReplicaSet]{world: w, saw: func(o *appsv1.ReplicaSet) { show(o) }, gone: func(o *appsv1.ReplicaSet) { hide(o) }}),
		follow(ctx, &running, config, namespace, corev1.SchemeGroupVersion.WithResource("endpoints"),
			&sink[*corev1.Endpoints]{world: w, saw: func(o *corev1.Endpoints) { show(o); w.written++ }, gone: func(o *corev1.Endpoints) { hide(o) }}),
		follow(ctx, &running, config, namespace, eventsv1.SchemeGroupVersion.WithResource("events"),
			&sink[*eventsv1.Event]{world: w, saw: func(o *eventsv1.Event) { show(o) }, gone: func(*eventsv1.Event) {}}),
		follow(ctx, &running, config, namespace, corev1.SchemeGroupVersion.WithResource("pods"),
			&sink[*corev1.Pod]{world: w, saw: w.pods.saw, gone: w.pods.gone}),
	)
}

// follow runs a reflector.
func follow[T informer.Object](ctx context.Context, running *sync.WaitGroup, config *rest.Config, namespace string, resource schema.GroupVersionResource, to *sink[T]) error {
	from, err := informer.NewListWatch[T](config, resource, informer.ListWatchOptions{Namespace: namespace})
	if err != nil {
		return err
	}
	running.Go(func() { _ = informer.NewReflector(from, to, informer.ReflectorOptions{}).Run(ctx) }) // it ends with ctx
	return nil
}

// sink takes what a reflector delivers. saw and gone are called with the world's lock.
type sink[T informer.Object] struct {
	world     *world
	saw, gone func(T)
	known     map[types.UID]T // what Replace compares with; used by the reflector alone
}

// Replace implements informer.Sink.
func (s *sink[T]) Replace(items []T, _ string) {
	s.world.change(func() {
		before := s.known
		s.known = map[types.UID]T{}
		for _, o := range items {
			s.known[o.GetUID()] = o
			s.saw(o)
			delete(before, o.GetUID())
		}
		for _, o := range before {
			s.gone(o)
		}
	})
}

// Apply implements informer.Sink.
func (s *sink[T]) Apply(event informer.Event[T]) {
	s.world.change(func() {
		if event.Type == watch.Deleted {
			delete(s.known, event.Object.GetUID())
			s.gone(event.Object)
			return
		}
		s.known[event.Object.GetUID()] = event.Object
		s.saw(event.Object)
	})
}

// Progress implements informer.Sink.
func (s *sink[T]) Progress(string) {}

// change does something under the lock, and tells those who wait.
func (w *world) change(what func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	what()
	facts := w.picture.Facts()
	w.pods.ask(facts)
	w.tell(facts)
	close(w.news)
	w.news = make(chan struct{})
}

// begin starts the counting of a step.
func (w *world) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pods.begin()
	w.written = 0
}

// counts are what was counted since then.
func (w *world) counts() (pods ledger, written int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pods, w.written
}

// lines are those of the picture.
func (w *world) lines(width int, color bool) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.picture.Lines(width, color)
}

// patience is how long nothing may change. A single node may need minutes for 100 Pods, but gets on with it.
const patience = 3 * time.Minute

var errNothingChanges = fmt.Errorf("nothing has changed for %s", patience)

// until waits until the facts and the number of Pods are as they should be, and returns the facts. It gives up if they
// do not change any more.
func (w *world) until(ctx context.Context, what string, is func(f picture.Facts, pods int) bool) (picture.Facts, error) {
	before, enough := "", time.NewTimer(patience)
	defer enough.Stop()
	for {
		w.mu.Lock()
		facts, pods, news := w.picture.Facts(), len(w.pods.pods), w.news
		w.mu.Unlock()
		if is(facts, pods) {
			return facts, nil
		}
		now := fmt.Sprintf("%d Pods, and %s", pods, facts)
		if now != before {
			before = now
			enough.Reset(patience)
		}
		select {
		case <-news:
		case <-enough.C:
			return facts, fmt.Errorf("waiting for %s, with %s: %w", what, now, errNothingChanges)
		case <-ctx.Done():
			return facts, fmt.Errorf("waiting for %s, with %s: %w", what, now, context.Cause(ctx))
		}
	}
}
