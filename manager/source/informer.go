package source

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/internal/anyvalue"
	"github.com/loopwright/loopwright/manager/predicate"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// Informer follows the objects of an informer that the caller has. It must be watched as a pointer.
//
// It is a SyncingSource, which controller-runtime's is not: there, the workers begin before its
// objects are listed. When the informer stops, the source has nothing more to say; [Kind] asks its
// cache for another one.
type Informer struct {
	Informer   cache.Informer
	Handler    handler.EventHandler
	Predicates []predicate.Predicate

	runs runs
}

var errInformerStopped = errors.New("the informer has stopped")

// Start implements Source.
func (s *Informer) Start(
	ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request],
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
func (s *Informer) WaitForSync(ctx context.Context) error { return s.runs.waitForSync(ctx) }

// WaitForStop implements controller.StoppingSource.
func (s *Informer) WaitForStop() { s.runs.WaitForStop() }

// String is what the source is called in messages.
func (s *Informer) String() string {
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
	// done is closed when the handler is not called any more. It is nil if the informer cannot
	// tell.
	done <-chan struct{}
}

func listen(ctx context.Context, from cache.Informer, pipeline *pipeline) (*listening, error) {
	options := informer.HandlerOptions{Name: pipeline.layer, Coalesce: pipeline.byKey}
	registration, err := from.AddEventHandlerWithOptions(informerHandler{ctx, pipeline}, options)
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

// wait returns when the handler is not called any more: it removes it when ctx ends. If the
// informer has stopped before, it returns errInformerStopped.
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
			if err := l.informer.RemoveEventHandler(l.registration); err != nil {
				l.log(err)
			} else if l.done != nil {
				<-l.done
			}
			return context.Cause(ctx)
		}
	}
}

// notReady says why the handler does not know the initial list yet.
func (l *listening) notReady(end error) error {
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
