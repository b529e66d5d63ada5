package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/informer"
)

// view is the simplest Sink: a map. It also counts its calls, to check the
// reflector's promises.
type view struct {
	mu      sync.Mutex // guards all below
	objects map[string]*corev1.ConfigMap
	version string
	changed chan struct{} // closed by the reflector at each change; received by until

	replaced, applied, progressed, backwards int
}

func newView() *view { return &view{changed: make(chan struct{})} }

func (v *view) Replace(items []*corev1.ConfigMap, resourceVersion string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.replaced++
	v.objects = map[string]*corev1.ConfigMap{}
	for _, item := range items {
		v.objects[item.Name] = item
	}
	v.moveLocked(resourceVersion)
}

func (v *view) Apply(event informer.Event[*corev1.ConfigMap]) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.applied++
	if event.Type == watch.Deleted {
		delete(v.objects, event.Object.Name)
	} else {
		v.objects[event.Object.Name] = event.Object
	}
	v.moveLocked(event.ResourceVersion)
}

func (v *view) Progress(resourceVersion string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.progressed++
	v.moveLocked(resourceVersion)
}

func (v *view) moveLocked(resourceVersion string) {
	if order, err := resourceversion.CompareResourceVersion(resourceVersion, v.version); err == nil && order < 0 {
		v.backwards++
	}
	v.version = resourceVersion
	close(v.changed)
	v.changed = make(chan struct{})
}

func (v *view) names() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.namesLocked()
}

func (v *view) namesLocked() []string { return slices.Sorted(maps.Keys(v.objects)) }

// until waits until the view holds these objects and no others.
func (v *view) until(ctx context.Context, names ...string) error {
	err := v.wait(ctx, func() bool { return slices.Equal(v.namesLocked(), names) })
	if err != nil {
		return fmt.Errorf("waiting for the view to become %v, it is %v: %w", names, v.names(), err)
	}
	return nil
}

// moved waits until the view is no longer as of that version.
func (v *view) moved(ctx context.Context, from string) error {
	if err := v.wait(ctx, func() bool { return v.version != from }); err != nil {
		return fmt.Errorf("waiting for the view to go on from resourceVersion %s: %w", from, err)
	}
	return nil
}

func (v *view) wait(ctx context.Context, metLocked func() bool) error {
	for {
		v.mu.Lock()
		met, changed := metLocked(), v.changed
		v.mu.Unlock()
		if met {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (v *view) row(title string) []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	row := []string{title}
	for _, n := range []int{v.replaced, v.applied, v.progressed, v.backwards} {
		row = append(row, strconv.Itoa(n))
	}
	return row
}

// account fails the demo if the reflector broke its promise.
func (v *view) account() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.backwards > 0 {
		return fmt.Errorf("the view went back in time, %d times", v.backwards)
	}
	return nil
}
