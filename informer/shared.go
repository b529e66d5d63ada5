package informer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"

	"github.com/loopwright/loopwright/trace"
)

// Informer keeps a store up to date with a collection, and tells any number of
// handlers what changes: one watch for all of them.
//
// Guarantees: the store is never older than what a handler was told. A handler
// that is added late is told of what there is, and then of all that follows,
// without a gap and without repeating anything. A slow handler holds up nobody,
// and its backlog is bounded by the number of keys. When Run returns, no goroutine
// of the informer is left, and no handler is being called.
//
// Caveats: the store is for reading; only the informer writes to it. See Handler
// and Store for what is shared. A handler that blocks for ever keeps Run from
// returning. It may wait for the informer itself: such a wait ends when the informer
// stops, before Run waits for the handlers.
//
// client-go's is called SharedIndexInformer, because there was one that could not
// be shared.
type Informer[T Object] struct {
	options   InformerOptions[T]
	about     about
	store     *Store[T]
	queue     *DeltaQueue[T]
	reflector *Reflector[T]
	catchup   catchup
	changed   chan struct{} // sent to by AddHandler and Remove, received by the loop; one, because the loop looks at all
	synced    chan struct{} // closed by the loop when the first list is in the store
	stopping  chan struct{} // closed by Run when the store changes no more, and nobody can join

	// Used by Run's goroutine only:
	listeners []*listener[T]
	slots     []slot // of the deltas that the listeners are given
	mutations mutations[T]
	isSynced  bool
	resyncing bool // the queue was asked for a resync, and has not handed over all of it

	mu      sync.Mutex     // guards what follows
	running bool           // Run was called
	ended   bool           // Run takes in no more handlers
	joining []*listener[T] // handlers that the loop has not taken in yet
}

// InformerOptions may be left empty.
type InformerOptions[T Object] struct {
	// Transform makes objects smaller before they are stored.
	Transform Transform[T]
	// OnPanic is told of panics of handlers, on their goroutines; by default they
	// are logged.
	OnPanic func(HandlerPanic)
	// DetectMutations turns a test mode on, in which the informer keeps a copy of
	// every object, and reports those that somebody has changed: when they are
	// replaced or deleted, and when Run ends.
	DetectMutations func(was, is T)
	// Reflector is how to read.
	Reflector ReflectorOptions
	// Recorder is told what happens in queue, store and listeners; nil is off.
	Recorder *trace.Recorder
	// Metrics makes the metrics of the handlers; nil measures nothing.
	Metrics MetricsProvider
}

// NewInformer returns an informer that reads from a collection. Nothing is read
// before Run.
func NewInformer[T Object](from ListerWatcher[T], options InformerOptions[T]) *Informer[T] {
	if options.OnPanic == nil {
		options.OnPanic = func(p HandlerPanic) {
			slog.Error("a handler panicked", "handler", p.Handler, "object", p.Key, "panic", p.Value, "stack", string(p.Stack))
		}
	}
	if options.Reflector.Recorder == nil {
		options.Reflector.Recorder = options.Recorder
	}
	kind := reflect.TypeFor[T]().Elem().Name()
	store := NewStore[T](StoreOptions{Recorder: options.Recorder, Kind: kind})
	if _, err := store.AddIndex(NamespaceIndex, IndexNamespace[T]); err != nil {
		panic(err) // a new store has no index of that name
	}
	queue := NewDeltaQueue(store, DeltaQueueOptions{Recorder: options.Recorder, Kind: kind})
	var sink Sink[T] = queue
	if options.Transform != nil {
		sink = transformed[T]{queue, options.Transform}
	}
	return &Informer[T]{
		options: options, about: about{options.Recorder, kind, options.OnPanic, options.Metrics},
		store: store, queue: queue, reflector: NewReflector(from, sink, options.Reflector),
		mutations: mutations[T]{report: options.DetectMutations},
		changed:   make(chan struct{}, 1), synced: make(chan struct{}), stopping: make(chan struct{}),
	}
}

// Store is what the informer keeps up to date. Indices may be added to it at any
// time.
func (i *Informer[T]) Store() *Store[T] { return i.store }

// Health is how the reading is doing.
func (i *Informer[T]) Health() Health { return i.reflector.Health() }

var (
	errInformerRan     = errors.New("the informer was run before: make another one")
	errInformerStopped = errors.New("the informer has stopped")
)

// AddHandler adds a handler, before or while the informer runs. It does not wait:
// the Registration tells when the handler knows what there is.
func (i *Informer[T]) AddHandler(handler Handler[T], options HandlerOptions) (*Registration, error) {
	l := newListener(handler, options, i.about)
	if !i.join(l) {
		l.end()
		return nil, fmt.Errorf("adding handler %q: %w", options.Name, errInformerStopped)
	}
	return &Registration{synced: l.synced, done: l.done, remove: func() { i.leave(l) }, backlog: l.measure}, nil
}

// join hands a listener to the loop, and tells whether there is one to come.
func (i *Informer[T]) join(l *listener[T]) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.ended {
		return false
	}
	i.joining = append(i.joining, l)
	i.wake()
	return true
}

// leave stops a listener. If the loop has not taken it in yet, nobody else ends it.
func (i *Informer[T]) leave(l *listener[T]) {
	l.remove()
	i.mu.Lock()
	at := slices.Index(i.joining, l)
	if at >= 0 {
		i.joining = slices.Delete(i.joining, at, at+1)
	}
	i.mu.Unlock()
	if at >= 0 {
		l.end()
	}
	i.wake()
}

func (i *Informer[T]) wake() {
	select {
	case i.changed <- struct{}{}:
	default:
	}
}

// Synced is closed when the first list is in the store. Handlers may not have been
// told of it yet; see Registration.
func (i *Informer[T]) Synced() <-chan struct{} { return i.synced }

// WaitForSync waits until the first list is in the store. The error says why it is
// not.
func (i *Informer[T]) WaitForSync(ctx context.Context) error {
	select {
	case <-i.synced:
		return nil
	default:
	}
	select {
	case <-i.synced:
		return nil
	case <-i.stopping:
		return fmt.Errorf("waiting for %s: %w", i.about.kind, i.whyNot(errInformerStopped))
	case <-ctx.Done():
		return fmt.Errorf("waiting for %s: %w", i.about.kind, i.whyNot(context.Cause(ctx)))
	}
}

// whyNot adds the reflector's trouble to the reason for which a wait ended.
func (i *Informer[T]) whyNot(end error) error {
	health := i.reflector.Health()
	if health.LastError == nil {
		return fmt.Errorf("not synced, the reflector is %s: %w", health.State, end)
	}
	return fmt.Errorf("not synced, the reflector is %s after %w: %w", health.State, health.LastError, end)
}

// WaitFor waits until the store is not older than resourceVersion, as far as the
// object of that key is concerned: it holds that version or a newer one, or the
// object is gone since. It is for who has just written the object and will read it
// from the store. The event itself ends the wait.
func (i *Informer[T]) WaitFor(ctx context.Context, key Key, resourceVersion string) error {
	wait, err := i.catchup.wait(key, resourceVersion, func() string {
		if object, ok := i.store.Get(key); ok {
			return object.GetResourceVersion()
		}
		return ""
	})
	if err != nil {
		return err
	}
	select {
	case <-wait.caught: // what is there already is there, also if the informer has stopped
		return nil
	default:
	}
	select {
	case <-wait.caught:
		return nil
	case <-i.stopping:
		err = errInformerStopped
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	i.catchup.forget(key, wait)
	return fmt.Errorf("waiting for %s at resourceVersion %s: %w", key, resourceVersion, err)
}
