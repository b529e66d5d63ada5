package informer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/loopwright/loopwright/trace"
)

// Informer keeps a store up to date with a collection, and calls any number of handlers when
// something changes: one watch serves all of them.
//
// Guarantees: the store is never older than what a handler has seen. A list is one change, even in
// the middle of the informer's life: a reader finds the store's old contents or the whole list, and
// doesn't wait for it. A handler that is added late first gets all existing objects and then all
// later changes, without a gap and without repetition. A handler hears of every state that the
// watch brings. A slow handler blocks no one; meanwhile its backlog grows, see
// HandlerOptions.Coalesce. When Run returns, no goroutine of the informer is left, and no handler
// is being called.
//
// Caveats: only the informer writes to its store; others get a StoreReader. Handler and Store say
// what is shared. During a relist everything exists twice: the known objects and those of the list,
// and the maps and indices of both. If you add or remove a handler at that time, the call waits
// until the new indices are built. A handler that blocks forever keeps Run from returning. It may
// wait for the informer itself: such a wait ends when the informer stops, before Run waits for the
// handlers. If a collection has no resourceVersions, everything works except WaitFor.
//
// client-go's is called SharedIndexInformer, because there was once another one that couldn't be
// shared.
type Informer[T Object] struct {
	options     InformerOptions[T]
	instruments instruments
	store       *Store[T]
	reflector   *Reflector[T]
	shards      *shardReader[T]           // nil if everything is kept
	kept        atomic.Pointer[keptShard] // the shard that the store has; nil before the first list
	detector    mutationDetector[T]       // used by the reflector's goroutine only
	reached     storeVersion
	// closed by the reflector's goroutine when the first list is in the store
	synced   chan struct{}
	stopping chan struct{} // closed by Run when the store no longer changes, and refuses handlers

	// mu guards the fields below. It's held from before a change enters the store until the change
	// is in the queue of each handler. So a handler that is added meanwhile finds the change either
	// in the store or in its queue, and never in both.
	mu        sync.Mutex
	listeners []*listener[T]
	running   bool // Run was called
	ended     bool // Run accepts no more handlers
	handling  sync.WaitGroup
}

// InformerOptions has the options of an Informer. You can leave every field empty.
type InformerOptions[T Object] struct {
	// Transform makes objects smaller before they're stored.
	Transform Transform[T]
	// OnTransformError is called, on the reflector's goroutine, when Transform fails. The object is
	// stored all the same, as Transform left it. By default the error is logged.
	OnTransformError func(*TransformError)
	// OnPanic is called when a handler has panicked, on the handler's goroutine, before
	// the process crashes. By default the panic is logged, with the handler's name and
	// the object.
	OnPanic func(HandlerPanic)
	// RecoverPanics lets the process survive panics of handlers.
	//
	// The price: the change during which the handler panicked is lost. The handler may have done a
	// part of its work, and isn't called for that change again; the next change of the object may
	// come in a year. A controller that loses a change leaves something undone while the process
	// looks healthy. A process that crashes starts over with a complete list. So leave this off,
	// unless the handlers belong to others, a lost change does no harm, or the handler has a Resync
	// period that is short enough. A handler that ends its goroutine by runtime.Goexit is reported
	// and removed.
	RecoverPanics bool
	// DetectMutations turns on a test mode in which the informer keeps a copy of every object, and
	// reports those that somebody has changed: when they're replaced or deleted, and when Run ends.
	DetectMutations func(was, is T)
	// Shard makes the informer keep a part of the collection, which may change; see Keep.
	Shard ShardOptions
	// Reflector has the options for reading.
	Reflector ReflectorOptions
	// Recorder records what happens in reflector, store and listeners; nil is off.
	Recorder *trace.Recorder
	// Metrics makes the metrics of the handlers; nil measures nothing.
	Metrics MetricsProvider
}

// NewInformer returns an informer that reads from a collection. It reads nothing until Run.
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
	if options.OnTransformError == nil {
		options.OnTransformError = func(err *TransformError) {
			slog.Error("an object is stored as it came", "error", err)
		}
	}
	i := &Informer[T]{
		options: options, store: store,
		instruments: instruments{
			options.Recorder, kind, options.OnPanic, options.RecoverPanics, options.Metrics,
		},
		detector: mutationDetector[T]{report: options.DetectMutations},
		synced:   make(chan struct{}), stopping: make(chan struct{}),
	}
	if options.Shard.First != nil {
		i.shards = newShardReader(from, options.Shard)
		from = i.shards
	}
	i.reflector = NewReflector(from, Sink[T](informerSink[T]{i}), options.Reflector)
	i.reflector.renewed = informerSink[T]{i}.renewed
	return i
}

// Store returns the store that the informer keeps up to date. You can add indices to it at any
// time.
func (i *Informer[T]) Store() StoreReader[T] { return i.store.Reader() }

// Health says how the reading is going.
func (i *Informer[T]) Health() Health {
	health := i.reflector.Health()
	health.Synced = i.hasSynced() // who was told by that channel must not be told otherwise here
	return health
}

var (
	errInformerRan     = errors.New("the informer was run before: make another one")
	errInformerStopped = errors.New("the informer has stopped")
)

// AddHandler adds a handler, before or while the informer runs. It doesn't wait for the handler:
// the Registration says when the handler has seen the existing objects.
func (i *Informer[T]) AddHandler(
	handler Handler[T], options HandlerOptions,
) (*Registration, error) {
	l := newListener(handler, options, i.instruments)
	l.resync = func() { i.resync(l) }
	if !i.takeIn(l) {
		l.end() // without the lock: it calls the provider of metrics
		return nil, fmt.Errorf("adding handler %q: %w", options.Name, errInformerStopped)
	}
	remove := func() { i.remove(l) }
	return &Registration{synced: l.synced, done: l.done, remove: remove, measure: l.measure}, nil
}

// takeIn adds a listener, and gives it the existing objects. It returns false if the informer has
// stopped.
func (i *Informer[T]) takeIn(l *listener[T]) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.ended {
		return false
	}
	var there []delta[T]
	for object := range i.store.All() {
		there = append(there, delta[T]{kind: deltaAdded, object: object, initial: true})
	}
	l.push(there, i.hasSynced())
	i.listeners = append(i.listeners, l)
	if i.running {
		i.startLocked(l)
	}
	return true
}

func (i *Informer[T]) startLocked(l *listener[T]) {
	i.handling.Go(func() {
		defer i.remove(l) // even if the handler ends the goroutine
		l.run()
	})
}

// remove stops a listener, and drops it.
func (i *Informer[T]) remove(l *listener[T]) {
	if i.takeOut(l) {
		l.end()
	}
}

// takeOut stops a listener. It returns true if the caller has to end it, because it never ran.
func (i *Informer[T]) takeOut(l *listener[T]) (neverRan bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	at := slices.Index(i.listeners, l)
	if at < 0 {
		return false
	}
	i.listeners = slices.Delete(i.listeners, at, at+1)
	l.stop()
	return !i.running
}

// resync gives a listener all objects once more.
func (i *Informer[T]) resync(l *listener[T]) {
	i.mu.Lock()
	defer i.mu.Unlock()
	var there []delta[T]
	for object := range i.store.All() {
		there = append(there, delta[T]{kind: deltaSync, object: object, old: object})
	}
	l.push(there, false)
	if i.options.Recorder.On() {
		i.options.Recorder.Record(trace.Event{
			Kind: trace.Resync, Layer: "informer", Object: i.instruments.kind,
			Reason: l.options.Name, Count: len(there),
		})
	}
}

// Run keeps the store up to date until the context ends, and then returns nil, whatever ended it.
// It returns an error only if the reflector gives up, see ReflectorOptions.GiveUp. It waits for
// running calls of handlers. Call it only once.
func (i *Informer[T]) Run(ctx context.Context) error {
	if !i.startHandlers() {
		return errInformerRan
	}
	err := i.reflector.Run(ctx)
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, cause) {
		err = nil
	}
	i.stopHandlers()
	i.detector.checkAll()
	return err
}

// startHandlers returns false if Run was called before.
func (i *Informer[T]) startHandlers() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.running {
		return false
	}
	i.running = true
	for _, l := range i.listeners {
		i.startLocked(l)
	}
	return true
}

func (i *Informer[T]) stopHandlers() {
	i.mu.Lock()
	i.ended = true
	for _, l := range i.listeners {
		l.stop()
	}
	i.mu.Unlock()
	close(i.stopping) // before the handlers are waited for, because one of them may wait for this
	i.handling.Wait()
}

// Synced is closed when the first list is in the store. Handlers may not have seen it yet; see
// Registration.
func (i *Informer[T]) Synced() <-chan struct{} { return i.synced }

func (i *Informer[T]) hasSynced() bool {
	select {
	case <-i.synced:
		return true
	default:
		return false
	}
}

// Stopped is closed when the informer has stopped for good: the store no longer changes, and new
// handlers are refused.
func (i *Informer[T]) Stopped() <-chan struct{} { return i.stopping }

// WaitForSync waits until the first list is in the store. The error says why it isn't.
func (i *Informer[T]) WaitForSync(ctx context.Context) error {
	if i.hasSynced() { // even if ctx has ended, too
		return nil
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

// notSynced adds the reflector's problem to the reason why a wait ended.
func (i *Informer[T]) notSynced(end error) error {
	health := i.reflector.Health()
	if health.LastError == nil {
		return fmt.Errorf("not synced, the reflector is %s: %w", health.State, end)
	}
	return fmt.Errorf("not synced, the reflector is %s after %w: %w", health.State, health.LastError,
		end)
}
