package informer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/loopwright/loopwright/trace"
)

// Informer keeps a store up to date with a collection, and calls any number of
// handlers when something changes: one watch for all of them.
//
// Guarantees: the store is never older than what a handler has seen. A handler
// that is added late first gets what there is, and then all that follows, without a
// gap and without repetition. A handler is told of every state that the watch brings. A
// slow handler blocks nobody; its backlog grows meanwhile, see HandlerOptions.Coalesce. When
// Run returns, no goroutine of the informer is left, and no handler is being called.
//
// Caveats: only the informer writes to its store; others get a StoreReader. See Handler
// and Store for what is shared. A handler that blocks forever keeps Run from
// returning. It may wait for the informer itself: such a wait ends when the informer
// stops, before Run waits for the handlers. Of a collection without resourceVersions
// everything works except WaitFor.
//
// client-go's is called SharedIndexInformer, because there was once another one that
// could not be shared.
type Informer[T Object] struct {
	options     InformerOptions[T]
	instruments instruments
	store       *Store[T]
	queue       *DeltaQueue[T]
	reflector   *Reflector[T]
	versions    versionTracker
	changed     chan struct{} // sent to by AddHandler and Remove, received by the loop; one, because the loop looks at everything
	synced      chan struct{} // closed by the loop when the first list is in the store
	stopping    chan struct{} // closed by Run when the store changes no more, and nobody can join

	// Used by Run's goroutine only:
	listeners []*listener[T]
	detector  mutationDetector[T]
	isSynced  bool
	resyncing bool // a resync has begun, and the queue has not handed over all of it

	mu      sync.Mutex     // guards what follows
	running bool           // Run was called
	ended   bool           // Run takes in no more handlers
	joining []*listener[T] // handlers that the loop has not taken in yet
}

// InformerOptions may be left empty.
type InformerOptions[T Object] struct {
	// Transform makes objects smaller before they are stored.
	Transform Transform[T]
	// OnTransformError is called for objects that were stored as they came, because
	// Transform failed, on the reflector's goroutine; by default they are logged.
	OnTransformError func(*TransformError)
	// OnPanic is called when a handler has panicked, on the handler's goroutine, before
	// the process crashes. By default the panic is logged, with the handler's name and
	// the object.
	OnPanic func(HandlerPanic)
	// RecoverPanics lets the process survive panics of handlers.
	//
	// The price: the change during which the handler panicked is lost. The handler is
	// not called for it again, and may have done a part of its work; it is called for the
	// next change of the object, which may come in a year. A controller that loses a
	// change leaves something undone while the process looks healthy. A process that
	// crashes starts over with a complete list. So leave this off, unless the handlers
	// belong to others, a lost change does no harm, or the handler has a Resync period
	// that is short enough. A handler that ends its goroutine by runtime.Goexit is
	// reported and removed.
	RecoverPanics bool
	// DetectMutations turns a test mode on, in which the informer keeps a copy of
	// every object, and reports those that somebody has changed: when they are
	// replaced or deleted, and when Run ends.
	DetectMutations func(was, is T)
	// Reflector is how to read.
	Reflector ReflectorOptions
	// Recorder records what happens in queue, store and listeners; nil is off.
	Recorder *trace.Recorder
	// Metrics makes the metrics of the handlers; nil measures nothing.
	Metrics MetricsProvider
}

// NewInformer returns an informer that reads from a collection. Nothing is read
// before Run.
func NewInformer[T Object](from ListerWatcher[T], options InformerOptions[T]) *Informer[T] {
	if options.OnPanic == nil {
		options.OnPanic = logPanic
	}
	if options.Reflector.Recorder == nil {
		options.Reflector.Recorder = options.Recorder
	}
	kind := identify(from).kind
	store := NewStore[T](StoreOptions{Recorder: options.Recorder, Kind: kind})
	if _, err := store.AddIndex(NamespaceIndex, IndexNamespace[T]); err != nil {
		panic(err) // a new store has no index of that name
	}
	queue := NewDeltaQueue(store, DeltaQueueOptions{EveryEvent: true, Recorder: options.Recorder, Kind: kind})
	var sink Sink[T] = queue
	if options.Transform != nil {
		sink = newTransformingSink(queue, options)
	}
	return &Informer[T]{
		options: options, instruments: instruments{options.Recorder, kind, options.OnPanic, options.RecoverPanics, options.Metrics},
		store: store, queue: queue, reflector: NewReflector(from, sink, options.Reflector),
		detector: mutationDetector[T]{report: options.DetectMutations},
		changed:  make(chan struct{}, 1), synced: make(chan struct{}), stopping: make(chan struct{}),
	}
}

// Store is what the informer keeps up to date. Indices may be added to it at any
// time.
func (i *Informer[T]) Store() StoreReader[T] { return i.store.Reader() }

// Health is how the reading is doing.
func (i *Informer[T]) Health() Health { return i.reflector.Health() }

var (
	errInformerRan     = errors.New("the informer was run before: make another one")
	errInformerStopped = errors.New("the informer has stopped")
)

// AddHandler adds a handler, before or while the informer runs. It does not wait:
// the Registration says when the handler has seen what there is.
func (i *Informer[T]) AddHandler(handler Handler[T], options HandlerOptions) (*Registration, error) {
	l := newListener(handler, options, i.instruments)
	if !i.join(l) {
		l.end()
		return nil, fmt.Errorf("adding handler %q: %w", options.Name, errInformerStopped)
	}
	return &Registration{synced: l.synced, done: l.done, remove: func() { i.leave(l) }, measure: l.measure}, nil
}

// join hands a listener to the loop, and returns false if the loop has ended.
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

// Synced is closed when the first list is in the store. Handlers may not have seen it
// yet; see Registration.
func (i *Informer[T]) Synced() <-chan struct{} { return i.synced }

// Stopped is closed when the informer has stopped, for good: the store changes no more, and
// a handler that is added is refused.
func (i *Informer[T]) Stopped() <-chan struct{} { return i.stopping }

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
		return fmt.Errorf("waiting for %s: %w", i.instruments.kind, i.notSynced(errInformerStopped))
	case <-ctx.Done():
		return fmt.Errorf("waiting for %s: %w", i.instruments.kind, i.notSynced(context.Cause(ctx)))
	}
}

// notSynced adds the reflector's trouble to the reason for which a wait ended.
func (i *Informer[T]) notSynced(end error) error {
	health := i.reflector.Health()
	if health.LastError == nil {
		return fmt.Errorf("not synced, the reflector is %s: %w", health.State, end)
	}
	return fmt.Errorf("not synced, the reflector is %s after %w: %w", health.State, health.LastError, end)
}

// WaitFor waits until the store is not older than resourceVersion, as far as the
// object of that key is concerned: it holds that version or a newer one, or the
// object is gone since. It is for a caller that has just written the object and will
// read it from the store. The event itself ends the wait.
//
// Errors: an empty resourceVersion, or one that is not a number, is an error at once. So
// nobody can wait for kinds to which the server gives no versions (metrics.k8s.io).
func (i *Informer[T]) WaitFor(ctx context.Context, key Key, resourceVersion string) error {
	wait, err := i.versions.wait(key, resourceVersion, func() string {
		if object, ok := i.store.Get(key); ok {
			return object.GetResourceVersion()
		}
		return ""
	})
	if err != nil {
		return err
	}
	select {
	case <-wait.caught: // what is there already is there, even if the informer has stopped
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
	i.versions.cancel(key, wait)
	return fmt.Errorf("waiting for %s at resourceVersion %s: %w", key, resourceVersion, err)
}
