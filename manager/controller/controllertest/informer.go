// Package controllertest has stand-ins for a controller's surroundings, for tests of handlers,
// sources and controllers that run without a server.
//
// Neighbours: below it is package cache; a FakeInformer is one of its Informers. Beside it is
// informertest, which makes a cache of fake informers.
package controllertest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/manager/cache"
)

// FakeInformer is an Informer that tells its handlers what a test wants. NewFakeInformer makes one.
//
// A handler hears only what happens after it was added, on the test's goroutine. When Add returns,
// all handlers have returned.
type FakeInformer struct {
	// RunCount is how often Run was called.
	RunCount int

	synced chan struct{} // closed by Synced

	mu       sync.Mutex // guards handlers
	handlers []*fakeRegistration
}

var _ cache.Informer = (*FakeInformer)(nil)

// InformerOptions are the options of NewFakeInformer.
type InformerOptions struct {
	// Synced says that the informer has listed already.
	Synced bool
}

// InformerOption sets some of them.
type InformerOption interface {
	Apply(*InformerOptions)
}

// Synced makes an informer that has listed already.
var Synced = synced{}

type synced struct{}

// Apply implements InformerOption.
func (synced) Apply(options *InformerOptions) { options.Synced = true }

// NewFakeInformer returns an informer without handlers.
func NewFakeInformer(opts ...InformerOption) *FakeInformer {
	var options InformerOptions
	for _, opt := range opts {
		opt.Apply(&options)
	}
	f := &FakeInformer{synced: make(chan struct{})}
	if options.Synced {
		f.Synced()
	}
	return f
}

// Synced says that the first list has arrived. Call it only once.
func (f *FakeInformer) Synced() { close(f.synced) }

// Add tells all handlers about a new object.
func (f *FakeInformer) Add(obj metav1.Object) {
	f.tell(func(h informer.ResourceEventHandler) { h.OnAdd(obj, false) })
}

// Update tells all handlers about a change.
func (f *FakeInformer) Update(oldObj, newObj metav1.Object) {
	f.tell(func(h informer.ResourceEventHandler) { h.OnUpdate(oldObj, newObj) })
}

// Delete tells all handlers that an object was deleted.
func (f *FakeInformer) Delete(obj metav1.Object) {
	f.tell(func(h informer.ResourceEventHandler) { h.OnDelete(obj) })
}

func (f *FakeInformer) tell(call func(informer.ResourceEventHandler)) {
	f.mu.Lock()
	handlers := slices.Clone(f.handlers)
	f.mu.Unlock()
	for _, r := range handlers {
		call(r.handler)
	}
}

// AddEventHandler implements cache.Informer.
func (f *FakeInformer) AddEventHandler(
	handler informer.ResourceEventHandler,
) (informer.ResourceEventHandlerRegistration, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := &fakeRegistration{f, handler}
	f.handlers = append(f.handlers, r)
	return r, nil
}

// AddEventHandlerWithResyncPeriod implements cache.Informer. There are no resyncs.
func (f *FakeInformer) AddEventHandlerWithResyncPeriod(
	handler informer.ResourceEventHandler, _ time.Duration,
) (informer.ResourceEventHandlerRegistration, error) {
	return f.AddEventHandler(handler)
}

// AddEventHandlerWithOptions implements cache.Informer. It ignores the options.
func (f *FakeInformer) AddEventHandlerWithOptions(
	handler informer.ResourceEventHandler, _ informer.ResourceEventHandlerOptions,
) (informer.ResourceEventHandlerRegistration, error) {
	return f.AddEventHandler(handler)
}

// RemoveEventHandler implements cache.Informer. In controller-runtime it does nothing.
func (f *FakeInformer) RemoveEventHandler(handle informer.ResourceEventHandlerRegistration) error {
	r, ok := handle.(*fakeRegistration)
	if !ok || r.of != f {
		return fmt.Errorf("removing a handler of a fake informer: the registration, a %T, is of "+
			"another", handle)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.handlers = slices.DeleteFunc(f.handlers, func(other *fakeRegistration) bool {
		return other == r
	})
	return nil
}

// AddIndexers implements cache.Informer. There's no store, so it does nothing.
func (f *FakeInformer) AddIndexers(informer.Indexers) error { return nil }

// HasSynced implements cache.Informer.
func (f *FakeInformer) HasSynced() bool {
	select {
	case <-f.synced:
		return true
	default:
		return false
	}
}

// HasSyncedChecker implements cache.Informer.
func (f *FakeInformer) HasSyncedChecker() informer.DoneChecker { return f }

// Name implements informer.DoneChecker.
func (f *FakeInformer) Name() string { return "a fake informer" }

// Done implements informer.DoneChecker.
func (f *FakeInformer) Done() <-chan struct{} { return f.synced }

// IsStopped implements cache.Informer. A fake informer never stops.
func (f *FakeInformer) IsStopped() bool { return false }

// Informer returns the informer.
func (f *FakeInformer) Informer() cache.Informer { return f }

// Run counts the call.
func (f *FakeInformer) Run(<-chan struct{}) { f.RunCount++ }

// RunWithContext counts the call.
func (f *FakeInformer) RunWithContext(context.Context) { f.RunCount++ }

// fakeRegistration is a handler's registration. The handler has had the whole first list when the
// informer has synced.
type fakeRegistration struct {
	of      *FakeInformer
	handler informer.ResourceEventHandler
}

func (r *fakeRegistration) HasSynced() bool                        { return r.of.HasSynced() }
func (r *fakeRegistration) HasSyncedChecker() informer.DoneChecker { return r.of }
