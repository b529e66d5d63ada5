package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/internal/anyvalue"
	"github.com/loopwright/loopwright/manager/predicate"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// InformerGetter is what Kind needs of a cache.
//
// If it also has a method WaitForKind(context.Context, schema.GroupVersionKind) error, which
// returns when a kind may have been installed, the source calls that instead of trying again and
// again. The version may be empty. Its WaitForLists(context.Context) error, or else its
// WaitForCacheSync, is how WaitForSync waits for the cache's other kinds.
type InformerGetter interface {
	GetInformer(ctx context.Context, obj client.Object,
		opts ...cache.InformerGetOption) (cache.Informer, error)
}

// Kind follows the objects of obj's kind: those that are there come first, as creations, and then
// what changes.
//
// WaitForSync returns when the handler has seen those that are there, and the cache's other
// informers have listed, except those that may not: reconcilers read other kinds, too.
//
// A kind that is not installed yet is waited for, and the log says so. If it takes longer than the
// controller's CacheSyncTimeout, the error of WaitForSync names the kind. A type that the scheme
// does not know is an error at once.
//
// When the informer stops while the source goes on, because the kind's CRD was deleted for
// instance, the source asks the cache for another one. So end the source before you call
// RemoveInformer. All objects are then reported as if they were new; what was deleted in between is
// not reported.
//
// When the source ends, its handler is removed, and the informer goes on for others. In
// controller-runtime the handler stays.
func Kind[object client.Object](
	cache InformerGetter, obj object, handler handler.EventHandler,
	predicates ...predicate.Predicate,
) SyncingSource {
	return &kindSource{cache: cache, object: obj, handler: handler, predicates: predicates}
}

type kindSource struct {
	cache      InformerGetter
	object     client.Object
	handler    handler.EventHandler
	predicates []predicate.Predicate
	runs       runs
}

// Start implements Source.
func (s *kindSource) Start(
	ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) error {
	switch {
	case anyvalue.IsNil(s.object):
		return errors.New("the source has no object that says which kind to watch")
	case anyvalue.IsNil(s.cache):
		return errors.New("the source has no cache")
	case anyvalue.IsNil(s.handler):
		return errors.New("the source has no handler")
	case slices.Contains(s.predicates, nil):
		return errNilPredicate
	}
	pipeline := newPipeline(queue, s.handler, s.predicates)
	r := s.runs.begin(ctx)
	r.waitsFor(func(end error) error {
		return fmt.Errorf("the cache has not returned an informer yet: %w", end)
	})
	go func() {
		defer s.runs.end(r)
		for ctx.Err() == nil {
			if err := s.follow(ctx, r, pipeline); err != nil && ctx.Err() == nil {
				pipeline.log().Error(err, "A source cannot be started", "source", s.String())
				r.settle(err)
				<-ctx.Done()
			}
			sleep(ctx, firstPause) // in case informers end as soon as they begin
		}
	}()
	return nil
}

// follow follows one informer to its end. It returns an error if there is no use in trying again.
func (s *kindSource) follow(ctx context.Context, r *run, pipeline *pipeline) error {
	var listening *listening
	try := func() error {
		from, err := s.cache.GetInformer(ctx, s.object, cache.BlockUntilSynced(false))
		if err == nil {
			listening, err = listen(ctx, from, pipeline)
		}
		return err
	}
	if err := s.untilThereIs(ctx, r, pipeline, try); err != nil {
		return err
	}
	if err := listening.wait(ctx, r); ctx.Err() == nil {
		pipeline.log().Info("The informer of a source has ended; asking for another one", "source",
			s.String(), "reason", err.Error())
	}
	return nil
}

// untilThereIs tries until it succeeds. Meanwhile it says what it waits for.
func (s *kindSource) untilThereIs(
	ctx context.Context, r *run, pipeline *pipeline, try func() error,
) error {
	var wait kindWait
	for began := time.Now(); ; {
		err := try()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case isUnregistered(err):
			return explain(err)
		}
		r.waitsFor(func(end error) error { return fmt.Errorf("%w: %w", explain(err), end) })
		pause, say, silence := wait.failed(time.Since(began))
		if say {
			pipeline.log().Error(explain(err), "A source waits for its kind", "source", s.String(),
				"since", time.Since(began))
		}
		asked := time.Now()
		if s.awaitKind(ctx, err, silence) && wait.tries == 1 {
			pause = 0 // a cache that is wrong about it more than once may always be
		}
		sleep(ctx, pause-time.Since(asked))
	}
}

// awaitKind waits until the cache says that the kind may be there, or, so that the source can say
// that it still waits, for the length of the silence. It returns false at once if the cache cannot
// say.
func (s *kindSource) awaitKind(ctx context.Context, err error, silence time.Duration) bool {
	knows, ok := s.cache.(interface {
		WaitForKind(ctx context.Context, kind schema.GroupVersionKind) error
	})
	kind, missing := missingKind(err)
	if !ok || !missing {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	return knows.WaitForKind(ctx, kind) == nil
}

func sleep(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// WaitForSync implements SyncingSource.
func (s *kindSource) WaitForSync(ctx context.Context) error {
	if err := s.runs.waitForSync(ctx); err != nil {
		return err
	}
	return s.othersHaveListed(ctx)
}

// othersHaveListed waits for the other informers of the cache, as controller-runtime's source does.
// Handlers and reconcilers read other kinds. They would wait themselves, perhaps until the manager
// stops, and then get an error.
func (s *kindSource) othersHaveListed(ctx context.Context) error {
	switch c := s.cache.(type) {
	case interface{ WaitForLists(context.Context) error }:
		return c.WaitForLists(ctx)
	case interface{ WaitForCacheSync(context.Context) bool }: // a fake, or a cache in a wrapper
		if !c.WaitForCacheSync(ctx) {
			err := errors.New("cache did not sync")
			if cause := context.Cause(ctx); cause != nil {
				return fmt.Errorf("%w: %w", err, cause)
			}
			return err
		}
	}
	return nil
}

// WaitForStop implements controller.StoppingSource.
func (s *kindSource) WaitForStop() { s.runs.WaitForStop() }

// String is what the source is called in messages.
func (s *kindSource) String() string {
	if anyvalue.IsNil(s.object) {
		return "kind source: unknown type"
	}
	switch s.object.(type) {
	case *unstructured.Unstructured, *metav1.PartialObjectMetadata:
		version, kind := s.object.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
		return fmt.Sprintf("kind source: %T[%s %s]", s.object, version, kind)
	default:
		return fmt.Sprintf("kind source: %T", s.object)
	}
}

// kindWait says how long a source waits for a kind, and when it says so.
type kindWait struct {
	tries int           // that failed
	sayAt time.Duration // since the wait began
}

const (
	firstPause   = 250 * time.Millisecond
	longestPause = 10 * time.Second
	firstSilence = 10 * time.Second
)

// failed is called after each try that has failed; waited is how long the wait takes already. It
// returns the pause before the next try, whether to say that the source waits, and how long
// nothing is to be said after that. Pauses and silences double; only the pauses have an end.
func (w *kindWait) failed(
	waited time.Duration,
) (pause time.Duration, say bool, silence time.Duration) {
	pause = min(firstPause<<min(w.tries, 16), longestPause)
	w.tries++
	if say = waited >= w.sayAt; say {
		w.sayAt = max(2*waited, firstSilence)
	}
	return pause, say, w.sayAt - waited
}

// missingKind returns the kind that is not installed, if the error says that one is not.
func missingKind(err error) (kind schema.GroupVersionKind, ok bool) {
	var missing *meta.NoKindMatchError
	if !errors.As(err, &missing) {
		return schema.GroupVersionKind{}, false
	}
	kind = missing.GroupKind.WithVersion("")
	if len(missing.SearchedVersions) > 0 {
		kind.Version = missing.SearchedVersions[0]
	}
	return kind, true
}

// isUnregistered reports whether a scheme does not know a type. That does not change while a
// program runs.
func isUnregistered(err error) bool {
	if runtime.IsNotRegisteredError(err) {
		return true
	}
	switch err := err.(type) { // errors.As does not serve: the error's type has no exported name
	case interface{ Unwrap() error }:
		return isUnregistered(err.Unwrap())
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(err.Unwrap(), isUnregistered)
	}
	return false
}

// explain says what to do about an error of GetInformer.
func explain(err error) error {
	if kind, ok := missingKind(err); ok {
		group := "the group " + kind.Group
		if kind.Group == "" {
			group = "the core group"
		}
		if kind.Version != "" {
			group += ", version " + kind.Version
		}
		return fmt.Errorf("the kind %s of %s is not installed; is its CustomResourceDefinition "+
			"there? %w", kind.Kind, group, err)
	}
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("the kind is not installed; is its CustomResourceDefinition there? %w",
			err)
	}
	if isUnregistered(err) {
		return fmt.Errorf("the Go type has to be added to the Scheme, before the source is "+
			"started: %w", err)
	}
	return fmt.Errorf("the cache has no informer: %w", err)
}
