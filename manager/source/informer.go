package source

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/internal/anyvalue"
	"github.com/loopwright/loopwright/manager/predicate"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// Informer is a TypedInformer of any object, for requests that are the names of objects.
type Informer = TypedInformer[client.Object, reconcile.Request]

// TypedInformer follows the objects of an informer of yours. Pass it to Watch as a pointer.
//
// It's a SyncingSource. controller-runtime's isn't, so the workers there start before the objects
// are listed. When the informer stops, the source stays silent; [Kind] gets a new one from its
// cache.
type TypedInformer[object any, request comparable] struct {
	Informer   cache.Informer
	Handler    handler.TypedEventHandler[object, request]
	Predicates []predicate.TypedPredicate[object]

	runs runs
}

var errInformerStopped = errors.New("the informer has stopped")

// Start implements Source.
func (s *TypedInformer[object, request]) Start(
	ctx context.Context, queue workqueue.TypedRateLimitingInterface[request],
) error {
	switch {
	case anyvalue.IsNil(s.Informer):
		return errors.New("the source has no Informer")
	case anyvalue.IsNil(s.Handler):
		return errors.New("the source has no Handler")
	case slices.Contains(s.Predicates, nil):
		return errNilPredicate
	}
	pipeline := newPipeline(queue, s.Handler, s.Predicates)
	listening, err := listen(ctx, s.Informer, pipeline)
	if err != nil {
		return err
	}
	r := s.runs.begin(ctx)
	go func() {
		defer s.runs.end(r)
		if err := listening.wait(ctx, r); ctx.Err() == nil {
			pipeline.log().Error(err, "A source has ended", "source", s.String())
			r.settle(err)
			<-ctx.Done()
		}
	}()
	return nil
}

// WaitForSync implements SyncingSource.
func (s *TypedInformer[object, request]) WaitForSync(ctx context.Context) error {
	return s.runs.waitForSync(ctx)
}

// WaitForStop implements controller.StoppingSource.
func (s *TypedInformer[object, request]) WaitForStop() { s.runs.WaitForStop() }

// String is the source's name in messages.
func (s *TypedInformer[object, request]) String() string {
	switch v := reflect.ValueOf(s.Informer); {
	case anyvalue.IsNil(s.Informer):
		return "informer source: none"
	case v.Kind() == reflect.Pointer:
		return fmt.Sprintf("informer source: %p", s.Informer)
	default: // a cache's informers are values
		if named, ok := s.Informer.(fmt.Stringer); ok {
			return "informer source: " + named.String()
		}
		return fmt.Sprintf("informer source: %T", s.Informer)
	}
}

// listening is a handler that was added to an informer.
type listening struct {
	informer     cache.Informer
	registration informer.ResourceEventHandlerRegistration
	log          func(err error)
	// done is closed when the handler is no longer called. It's nil if the informer can't tell.
	done <-chan struct{}
}

func listen[object any, request comparable](
	ctx context.Context, from cache.Informer, pipeline *pipeline[object, request],
) (*listening, error) {
	registration, err := addHandler(from, informerHandler[object, request]{ctx, pipeline},
		informer.HandlerOptions{Name: pipeline.layer, Coalesce: pipeline.merges})
	if err != nil {
		return nil, err
	}
	l := &listening{informer: from, registration: registration}
	l.log = func(err error) { pipeline.log().Error(err, "The handler of a source is not removed") }
	if ending, ok := registration.(interface{ Done() <-chan struct{} }); ok {
		l.done = ending.Done()
	}
	return l, nil
}

// addHandler drops the options if the informer is client-go's, or a user's own.
func addHandler(
	to cache.Informer, handler informer.ResourceEventHandler, options informer.HandlerOptions,
) (informer.ResourceEventHandlerRegistration, error) {
	if ours, ok := to.(interface {
		AddHandler(
			informer.ResourceEventHandler, informer.HandlerOptions,
		) (informer.ResourceEventHandlerRegistration, error)
	}); ok {
		return ours.AddHandler(handler, options)
	}
	return to.AddEventHandlerWithOptions(handler, informer.ResourceEventHandlerOptions{})
}

// wait removes the handler when ctx ends, and returns when it's no longer called. If the informer
// has stopped before that, it returns errInformerStopped.
func (l *listening) wait(ctx context.Context, r *run) error {
	r.waitsFor(l.notReady)
	synced := l.registration.HasSyncedChecker().Done()
	for {
		select {
		case <-synced:
			r.settle(nil)
			synced = nil
		case <-l.done:
			if ctx.Err() == nil {
				return errInformerStopped
			}
			return context.Cause(ctx)
		case <-ctx.Done():
			if err := l.remove(); err != nil {
				l.log(err)
			} else if l.done != nil {
				<-l.done
			}
			return context.Cause(ctx)
		}
	}
}

// controller-runtime's source adds its handler, and calls no other method of the informer. A
// program's stub may have no others, and panic. That must not crash the program.

// remove removes the handler.
func (l *listening) remove() (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("the informer, a %T, panicked: %v", l.informer, value)
		}
	}()
	return l.informer.RemoveEventHandler(l.registration)
}

// notReady says why the handler hasn't had the initial list yet.
func (l *listening) notReady(end error) (err error) {
	defer func() {
		if recover() != nil {
			err = fmt.Errorf("the informer, a %T, does not say whether it has listed: %w",
				l.informer, end)
		}
	}()
	if !l.informer.HasSynced() {
		if informer, ok := l.informer.(interface{ WaitForSync(context.Context) error }); ok {
			ended, cancel := context.WithCancelCause(context.Background())
			cancel(end)
			if err := informer.WaitForSync(ended); err != nil {
				return err
			}
		}
		return fmt.Errorf("the informer has not listed yet: %w", end)
	}
	return fmt.Errorf("the objects are listed, and the handler has not seen all of them yet: %w",
		end)
}
