package cache

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/manager/log"
)

// InformerOf makes an Informer from one of package informer. The name is for messages, such as
// "pods". resync is the period of handlers that don't set one: the cache's SyncPeriod, or 0 for
// never.
//
// Unlike client-go's, the Informer has a method WaitForSync(context.Context) error, whose error
// says why the first list doesn't arrive. A registration has a method Done() <-chan struct{}, which
// is closed when the handler is no longer called and its last call has returned. Use a type
// assertion to get at them.
func InformerOf[T informer.Object](
	i *informer.Informer[T], name string, resync time.Duration,
) Informer {
	return informerWithLog(i, name, resync, log.RuntimeLog.WithName("cache"))
}

func informerWithLog[T informer.Object](
	i *informer.Informer[T], name string, resync time.Duration, log logr.Logger,
) clientgoInformer[T] {
	return clientgoInformer[T]{i, name, resync, log}
}

// clientgoInformer is a value instead of a pointer, so that two of the same informer are equal.
type clientgoInformer[T informer.Object] struct {
	informer *informer.Informer[T]
	name     string
	resync   time.Duration
	log      logr.Logger
}

// String says which informer it is, for messages.
func (s clientgoInformer[T]) String() string { return fmt.Sprintf("%s (%p)", s.name, s.informer) }

// AddEventHandler implements Informer.
func (s clientgoInformer[T]) AddEventHandler(
	handler informer.ResourceEventHandler,
) (informer.ResourceEventHandlerRegistration, error) {
	return s.AddHandler(handler, informer.HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod implements Informer. As in client-go, 0 means never, even if the
// cache has a SyncPeriod.
func (s clientgoInformer[T]) AddEventHandlerWithResyncPeriod(
	handler informer.ResourceEventHandler,
	resyncPeriod time.Duration,
) (informer.ResourceEventHandlerRegistration, error) {
	return s.AddHandler(handler, informer.HandlerOptions{Resync: cmp.Or(resyncPeriod, never)})
}

// never is a Resync that the cache's SyncPeriod doesn't replace.
const never time.Duration = -1

// AddEventHandlerWithOptions implements Informer.
func (s clientgoInformer[T]) AddEventHandlerWithOptions(
	handler informer.ResourceEventHandler,
	options informer.ResourceEventHandlerOptions,
) (informer.ResourceEventHandlerRegistration, error) {
	return s.AddHandler(handler, ourOptions(options))
}

// ourOptions translates client-go's options. There, a period that isn't set means the informer's,
// and 0 means never.
func ourOptions(options informer.ResourceEventHandlerOptions) (ours informer.HandlerOptions) {
	if options.ResyncPeriod != nil {
		ours.Resync = cmp.Or(*options.ResyncPeriod, never)
	}
	return ours
}

// AddHandler is how a source adds its handler. A Resync of 0 means the cache's SyncPeriod; a
// negative one means never.
func (s clientgoInformer[T]) AddHandler(
	handler informer.ResourceEventHandler,
	options informer.HandlerOptions,
) (informer.ResourceEventHandlerRegistration, error) {
	if handler == nil {
		return nil, fmt.Errorf("adding a handler to the informer of %s: it is nil", s.name)
	}
	options.Resync = max(cmp.Or(options.Resync, s.resync), 0)
	added, err := s.informer.AddHandler(untypedHandler[T]{handler}, options)
	if err != nil {
		return nil, fmt.Errorf("the informer of %s: %w", s.name, err)
	}
	return &registration{added, s.informer, s.name}, nil
}

// RemoveEventHandler implements Informer. A running call goes on; the registration's Done says when
// it has returned.
func (s clientgoInformer[T]) RemoveEventHandler(
	handle informer.ResourceEventHandlerRegistration,
) error {
	r, ok := handle.(*registration)
	if !ok || r.of != any(s.informer) {
		return fmt.Errorf("removing a handler from the informer of %s: it does not know the "+
			"registration, a %T", s.name, handle)
	}
	r.Remove()
	return nil
}

// AddIndexers implements Informer. It adds all or none; a name that is taken is an error. You can
// add indexers at any time.
//
// If a function returns an error for an object, the object has no values in that index, and the
// error is logged. In client-go it ends the process.
func (s clientgoInformer[T]) AddIndexers(indexers informer.Indexers) error {
	functions := make(map[string]informer.IndexFunc[T], len(indexers))
	for name, values := range indexers {
		if values == nil {
			return fmt.Errorf("adding index %q to the informer of %s: its function is nil", name,
				s.name)
		}
		functions[name] = func(found []string, object T) []string {
			more, err := values(object)
			if err != nil {
				s.log.Error(err, "An object is missing in an index", "informer", s.name, "index",
					name, "object", informer.KeyOf(object).String())
				return found
			}
			return append(found, more...)
		}
	}
	if err := s.informer.Store().AddIndices(functions); err != nil {
		return fmt.Errorf("the informer of %s: %w", s.name, err)
	}
	return nil
}

// HasSynced implements Informer.
func (s clientgoInformer[T]) HasSynced() bool { return isClosed(s.informer.Synced()) }

// HasSyncedChecker implements Informer.
func (s clientgoInformer[T]) HasSyncedChecker() informer.DoneChecker {
	return doneChecker{"the informer of " + s.name, s.informer.Synced()}
}

// IsStopped implements Informer.
func (s clientgoInformer[T]) IsStopped() bool { return isClosed(s.informer.Stopped()) }

// WaitForSync waits until the first list is in the store. The error says why it isn't.
func (s clientgoInformer[T]) WaitForSync(ctx context.Context) error {
	return s.informer.WaitForSync(ctx)
}

// registration is a handler's registration that knows its informer.
type registration struct {
	*informer.Registration
	of   any // the *informer.Informer
	name string
}

// HasSyncedChecker implements informer.ResourceEventHandlerRegistration.
func (r *registration) HasSyncedChecker() informer.DoneChecker {
	return doneChecker{"a handler of the informer of " + r.name, r.Synced()}
}

type doneChecker struct {
	name string
	done <-chan struct{}
}

func (d doneChecker) Name() string          { return d.name }
func (d doneChecker) Done() <-chan struct{} { return d.done }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// untypedHandler calls a handler that has client-go's methods.
type untypedHandler[T informer.Object] struct {
	handler informer.ResourceEventHandler
}

// OnAdd implements informer.Handler.
func (h untypedHandler[T]) OnAdd(object T, initial bool) { h.handler.OnAdd(object, initial) }

// OnUpdate implements informer.Handler.
func (h untypedHandler[T]) OnUpdate(old, object T) { h.handler.OnUpdate(old, object) }

// OnDelete implements informer.Handler.
func (h untypedHandler[T]) OnDelete(object T, finalStateUnknown bool) {
	if finalStateUnknown {
		h.handler.OnDelete(informer.DeletedFinalStateUnknown{Key: upstreamKey(object), Obj: object})
		return
	}
	h.handler.OnDelete(object)
}

// upstreamKey is an object's key as client-go writes it.
func upstreamKey[T informer.Object](object T) string {
	if namespace := object.GetNamespace(); namespace != "" {
		return namespace + "/" + object.GetName()
	}
	return object.GetName()
}
