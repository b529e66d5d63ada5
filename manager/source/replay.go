package source

import (
	"context"

	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/workqueue"
)

// Replay reports the existing objects to the queue once more, as creations, and returns when it has.
// It's for a controller that shares its work with other replicas: what it dropped because it was
// another one's is its own now.
func (s *kindSource[object, request]) Replay(
	ctx context.Context, queue workqueue.TypedRateLimitingInterface[request],
) error {
	from, err := s.cache.GetInformer(ctx, s.object, cache.BlockUntilSynced(false))
	if err != nil {
		return explain(err)
	}
	return replay(ctx, from, newPipeline(queue, s.handler, s.predicates))
}

// Replay does the same as Kind's.
func (s *TypedInformer[object, request]) Replay(
	ctx context.Context, queue workqueue.TypedRateLimitingInterface[request],
) error {
	return replay(ctx, s.Informer, newPipeline(queue, s.Handler, s.Predicates))
}

// replay adds a handler for as long as it takes to hear of the existing objects.
func replay[object any, request comparable](
	ctx context.Context, from cache.Informer, pipeline *pipeline[object, request],
) error {
	listening, err := listen(ctx, from, pipeline)
	if err != nil {
		return err
	}
	defer func() {
		if err := listening.remove(); err != nil {
			listening.log(err)
		} else if listening.done != nil {
			<-listening.done
		}
	}()
	select {
	case <-listening.registration.HasSyncedChecker().Done():
		return nil
	case <-listening.done:
		return errInformerStopped
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
