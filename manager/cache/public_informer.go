package cache

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/manager/client"
)

// publicInformer is the Informer of a gvkInformer that GetInformer returns: one for all namespaces.
type publicInformer struct {
	of        *gvkInformer
	informers []clientgoInformer[client.Object]
	synced    func() <-chan struct{}
	removed   chan struct{} // closed by close

	mu      sync.Mutex // guards what follows, and removed
	added   map[*publicRegistration]struct{}
	indexed []string // the names of AddIndexers
}

var errInformerRemoved = errors.New("the informer was removed from the cache: ask the cache for " +
	"another one")

func newPublicInformer(of *gvkInformer) *publicInformer {
	h := &publicInformer{
		of: of, removed: make(chan struct{}), added: map[*publicRegistration]struct{}{},
	}
	for _, in := range of.namespaces {
		h.informers = append(h.informers, informerWithLog(in.informer, in.String(),
			in.scope.resyncEvery(), in.log))
	}
	h.synced = sync.OnceValue(func() <-chan struct{} {
		var synced, stopped []<-chan struct{}
		for _, in := range of.namespaces {
			synced = append(synced, in.informer.Synced())
			stopped = append(stopped, in.informer.Stopped())
		}
		return whenAll(synced, stopped)
	})
	return h
}

// close removes all handlers, for good, and the indices of AddIndexers: the informer itself may
// keep running for others.
func (h *publicInformer) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.removed)
	for r := range h.added {
		h.removeLocked(r)
	}
	for _, in := range h.of.namespaces {
		in.store.RemoveIndices(h.indexed...)
	}
}

func (h *publicInformer) removeLocked(r *publicRegistration) {
	delete(h.added, r)
	r.removed.Store(true)
	for i, one := range r.registrations {
		_ = h.informers[i].RemoveEventHandler(one) // no error: the informer made it
	}
}

// AddEventHandler implements Informer.
func (h *publicInformer) AddEventHandler(
	handler informer.ResourceEventHandler,
) (informer.ResourceEventHandlerRegistration, error) {
	return h.AddHandler(handler, informer.HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod implements Informer. As in client-go, 0 means never.
func (h *publicInformer) AddEventHandlerWithResyncPeriod(
	handler informer.ResourceEventHandler,
	resyncPeriod time.Duration,
) (informer.ResourceEventHandlerRegistration, error) {
	if resyncPeriod == 0 {
		resyncPeriod = never
	}
	return h.AddHandler(handler, informer.HandlerOptions{Resync: resyncPeriod})
}

// AddEventHandlerWithOptions implements Informer.
func (h *publicInformer) AddEventHandlerWithOptions(
	handler informer.ResourceEventHandler,
	options informer.ResourceEventHandlerOptions,
) (informer.ResourceEventHandlerRegistration, error) {
	return h.AddHandler(handler, ourOptions(options))
}

// AddHandler is how a source adds its handler. A Resync of 0 means the cache's SyncPeriod.
//
// If there are several namespaces, they call the handler one at a time. In controller-runtime, each
// namespace calls it on a goroutine of its own.
func (h *publicInformer) AddHandler(
	handler informer.ResourceEventHandler,
	options informer.HandlerOptions,
) (informer.ResourceEventHandlerRegistration, error) {
	var removed atomic.Bool
	if handler != nil && h.of.isConverted() {
		handler = metadataHandler{handler, h.of}
	}
	if handler != nil && len(h.informers) > 1 {
		handler = oneAtATime{make(chan struct{}, 1), &removed, handler}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if isClosed(h.removed) {
		return nil, fmt.Errorf("adding a handler for %s: %w", h.of.objectKind, errInformerRemoved)
	}
	r := &publicRegistration{of: h, removed: &removed}
	for _, in := range h.informers {
		added, err := in.AddHandler(handler, options)
		if err != nil {
			h.removeLocked(r)
			return nil, err
		}
		r.registrations = append(r.registrations, added.(*registration))
	}
	r.waitOnce()
	h.added[r] = struct{}{}
	return r, nil
}

// RemoveEventHandler implements Informer.
func (h *publicInformer) RemoveEventHandler(
	handle informer.ResourceEventHandlerRegistration,
) error {
	r, ok := handle.(*publicRegistration)
	if !ok || r.of != h {
		return fmt.Errorf("removing a handler of %s: the registration, a %T, is of another "+
			"informer", h.of.objectKind, handle)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.removeLocked(r)
	return nil
}

// AddIndexers implements Informer. These indices are dropped when the informer is removed, even if
// it keeps running for other readers; those of IndexField aren't. If two forms share an informer,
// they share the names, too.
func (h *publicInformer) AddIndexers(indexers informer.Indexers) error {
	if h.of.isConverted() {
		converted := informer.Indexers{}
		for name, values := range indexers {
			if values == nil {
				return fmt.Errorf("adding index %q for %s: its function is nil", name,
					h.of.objectKind)
			}
			converted[name] = func(object any) ([]string, error) {
				return values(h.of.shownToHandler(object))
			}
		}
		indexers = converted
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if isClosed(h.removed) {
		return fmt.Errorf("adding indexers for %s: %w", h.of.objectKind, errInformerRemoved)
	}
	for _, in := range h.informers {
		if err := in.AddIndexers(indexers); err != nil {
			return err
		}
	}
	h.indexed = slices.AppendSeq(h.indexed, maps.Keys(indexers))
	return nil
}

// HasSynced implements Informer.
func (h *publicInformer) HasSynced() bool {
	for _, in := range h.informers {
		if !in.HasSynced() {
			return false
		}
	}
	return true
}

// HasSyncedChecker implements Informer.
func (h *publicInformer) HasSyncedChecker() informer.DoneChecker {
	return doneChecker{"the informer of " + h.of.String(), h.synced()}
}

// IsStopped implements Informer.
func (h *publicInformer) IsStopped() bool {
	if isClosed(h.removed) {
		return true
	}
	for _, in := range h.informers {
		if !in.IsStopped() {
			return false
		}
	}
	return true
}

// WaitForSync waits until the first list of all namespaces is in the store. The error says why it
// isn't.
func (h *publicInformer) WaitForSync(ctx context.Context) error {
	var failures []error
	for _, in := range h.of.namespaces {
		if err := in.waitForSync(ctx); err != nil {
			failures = append(failures, err)
		}
	}
	return errors.Join(failures...)
}

// publicRegistration is a handler's registration: it has one for each namespace.
type publicRegistration struct {
	of            *publicInformer
	registrations []*registration
	removed       *atomic.Bool // then a call that has waited for its turn is dropped

	synced, done func() <-chan struct{}
}

// waitOnce makes all callers share one channel, and one goroutine that waits to close it.
func (r *publicRegistration) waitOnce() {
	var synced, done []<-chan struct{}
	for _, in := range r.registrations {
		synced, done = append(synced, in.Synced()), append(done, in.Done())
	}
	r.synced = sync.OnceValue(func() <-chan struct{} { return whenAll(synced, done) })
	r.done = sync.OnceValue(func() <-chan struct{} { return whenAll(done, nil) })
}

// HasSynced implements informer.ResourceEventHandlerRegistration.
func (r *publicRegistration) HasSynced() bool {
	for _, in := range r.registrations {
		if !in.HasSynced() {
			return false
		}
	}
	return true
}

// HasSyncedChecker implements informer.ResourceEventHandlerRegistration.
func (r *publicRegistration) HasSyncedChecker() informer.DoneChecker {
	return doneChecker{"a handler of the informer of " + r.of.of.String(), r.synced()}
}

// Done is closed when the handler is no longer called, and its last call has returned.
func (r *publicRegistration) Done() <-chan struct{} { return r.done() }

// whenAll is closed when all channels are. It stays open if one of instead is closed first. If
// there's only one channel, whenAll returns it.
func whenAll(channels, instead []<-chan struct{}) <-chan struct{} {
	if len(channels) == 1 {
		return channels[0]
	}
	all := make(chan struct{})
	go func() { // it ends when the informers do, at the latest
		for i, channel := range channels {
			var never <-chan struct{}
			if instead != nil {
				never = instead[i]
			}
			select {
			case <-channel:
				continue
			default:
			}
			select {
			case <-channel:
			case <-never:
				return
			}
		}
		close(all)
	}()
	return all
}

// oneAtATime is a handler that several informers call.
type oneAtATime struct {
	// turn holds a token during a call. It's a channel instead of a mutex, because a call may take
	// long, and a simulated clock advances only while all goroutines wait for channels or for time.
	turn    chan struct{}
	removed *atomic.Bool
	handler informer.ResourceEventHandler
}

// inTurn makes a call, unless the handler was removed, maybe by an earlier call.
func (o oneAtATime) inTurn(call func()) {
	o.turn <- struct{}{}
	defer func() { <-o.turn }()
	if !o.removed.Load() {
		call()
	}
}

func (o oneAtATime) OnAdd(object any, initial bool) {
	o.inTurn(func() { o.handler.OnAdd(object, initial) })
}

func (o oneAtATime) OnUpdate(old, object any) {
	o.inTurn(func() { o.handler.OnUpdate(old, object) })
}

func (o oneAtATime) OnDelete(object any) { o.inTurn(func() { o.handler.OnDelete(object) }) }
