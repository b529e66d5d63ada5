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

// Kind is a TypedKind for requests that are the names of objects. The handler and the predicates
// are for the Go type of obj, unless the type argument says that they're for any object:
//
//	source.Kind[client.Object](cache, &corev1.Pod{}, &handler.EnqueueRequestForObject{})
func Kind[object client.Object](
	cache cache.Cache, obj object,
	handler handler.TypedEventHandler[object, reconcile.Request],
	predicates ...predicate.TypedPredicate[object],
) SyncingSource {
	return TypedKind(cache, obj, handler, predicates...)
}

// TypedKind follows the objects of obj's kind: those that already exist come first, as creations,
// and then their changes. It calls the cache's GetInformer and WaitForCacheSync.
//
// If the cache also has a method WaitForKind(context.Context, schema.GroupVersionKind) error, which
// returns when a kind may have been installed, the source calls it instead of retrying. The version
// may be empty. If it has a method WaitForLists(context.Context) error, the source calls that
// instead of WaitForCacheSync.
//
// WaitForSync returns when the handler has seen the existing objects and the cache's other
// informers have listed, except for those that aren't allowed to. Reconcilers read other kinds,
// too.
//
// If a kind isn't installed yet, the source waits for it, and the log says so. If that takes longer
// than the controller's CacheSyncTimeout, the error of WaitForSync names the kind. A type that the
// scheme doesn't know is an error at once.
//
// If the informer stops while the source runs, because the kind's CRD was deleted for instance, the
// source gets another one from the cache. So end the source before you call RemoveInformer. All
// objects are then reported as new; deletions in between aren't reported.
//
// When the source ends, its handler is removed, and the informer keeps running for others. In
// controller-runtime the handler stays.
func TypedKind[object client.Object, request comparable](
	cache cache.Cache, obj object, handler handler.TypedEventHandler[object, request],
	predicates ...predicate.TypedPredicate[object],
) TypedSyncingSource[request] {
	return &kindSource[object, request]{
		cache: cache, object: obj, handler: handler, predicates: predicates,
	}
}

type kindSource[object client.Object, request comparable] struct {
	cache      cache.Cache
	object     object
	handler    handler.TypedEventHandler[object, request]
	predicates []predicate.TypedPredicate[object]
	runs       runs
}

// Start implements Source.
func (s *kindSource[object, request]) Start(
	ctx context.Context, queue workqueue.TypedRateLimitingInterface[request],
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

// follow follows one informer until it ends. It returns an error if retrying won't help.
func (s *kindSource[object, request]) follow(
	ctx context.Context, r *run, pipeline *pipeline[object, request],
) error {
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

// untilThereIs tries until it succeeds. Meanwhile it logs what it waits for.
func (s *kindSource[object, request]) untilThereIs(
	ctx context.Context, r *run, pipeline *pipeline[object, request], try func() error,
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

// awaitKind waits until the cache says that the kind may exist, or until the silence is over, so
// that the source can say that it still waits. It returns false at once if the cache can't tell.
func (s *kindSource[object, request]) awaitKind(ctx context.Context, err error, silence time.Duration) bool {
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
func (s *kindSource[object, request]) WaitForSync(ctx context.Context) error {
	if err := s.runs.waitForSync(ctx); err != nil {
		return err
	}
	return s.othersHaveListed(ctx)
}

// othersHaveListed waits for the other informers of the cache, as controller-runtime's source does.
// Handlers and reconcilers read other kinds. They would have to wait themselves, perhaps until the
// manager stops, and then get an error.
func (s *kindSource[object, request]) othersHaveListed(ctx context.Context) error {
	if c, ok := s.cache.(interface{ WaitForLists(context.Context) error }); ok {
		return c.WaitForLists(ctx)
	}
	if s.cache.WaitForCacheSync(ctx) {
		return nil
	}
	err := errors.New("cache did not sync")
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

// WaitForStop implements controller.StoppingSource.
func (s *kindSource[object, request]) WaitForStop() { s.runs.WaitForStop() }

// String is the source's name in messages.
func (s *kindSource[object, request]) String() string {
	if anyvalue.IsNil(s.object) {
		return "kind source: unknown type"
	}
	switch any(s.object).(type) {
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

// failed is called after each failed try; waited is the length of the wait so far. It returns the
// pause before the next try, whether to log that the source waits, and how long to be silent after
// that. Pauses and silences double; only the pauses have a limit.
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

// missingKind returns the kind that isn't installed, if the error says that one isn't.
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

// isUnregistered reports whether a scheme doesn't know a type. That doesn't change while a program
// runs.
func isUnregistered(err error) bool {
	if runtime.IsNotRegisteredError(err) {
		return true
	}
	switch err := err.(type) { // errors.As doesn't serve: the error's type has no exported name
	case interface{ Unwrap() error }:
		return isUnregistered(err.Unwrap())
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(err.Unwrap(), isUnregistered)
	}
	return false
}

// explain adds advice to an error of GetInformer.
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
