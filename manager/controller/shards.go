package controller

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/loopwright/loopwright/manager/internal/anyvalue"
	"github.com/loopwright/loopwright/manager/internal/requestname"
	"github.com/loopwright/loopwright/workqueue"
)

// enter asks whether this replica may work on a request. If not, the request is dropped, with all
// that's known of its failures: when its namespace comes to this replica, the sources report its
// objects again.
func (c *controlLoop[request]) enter(
	ctx context.Context, queue *controllerQueue[request], item request,
) (working context.Context, leave func(), ok bool) {
	if c.options.Shards == nil {
		return ctx, func() {}, true
	}
	namespace, _ := requestname.Of(&item)
	if working, leave, ok = c.options.Shards.Enter(ctx, namespace); !ok {
		c.waits.end(item)
		c.retries.forget(item)
		queue.Forget(item)
	}
	return working, leave, ok
}

// replaying is a source that can report the existing objects once more.
type replaying[request comparable] interface {
	// Replay reports them to the queue, as Start does, and returns when it has.
	Replay(ctx context.Context, queue workqueue.TypedRateLimitingInterface[request]) error
}

// followShards makes the sources report objects again when their namespaces come to this replica.
// It ends with ctx, or when the controller does.
func (c *controlLoop[request]) followShards(ctx context.Context, queue *controllerQueue[request]) {
	if c.options.Shards == nil {
		return
	}
	ctx, c.endReplays = context.WithCancel(ctx)
	come := &arrivals{news: make(chan struct{}, 1)}
	forget := c.options.Shards.OnOpen(come.add)
	c.replays.Go(func() {
		defer forget()
		for {
			select {
			case <-come.news:
				part := &partOf[request]{queue, come.take()}
				for _, w := range c.sources.running() {
					if source, ok := w.source.(replaying[request]); ok {
						c.replay(ctx, w, source, part)
					}
				}
			case <-ctx.Done():
				return
			}
		}
	})
}

// replay tries until it succeeds, or the source or the controller has ended.
func (c *controlLoop[request]) replay(
	ctx context.Context, w *watchedSource[request], source replaying[request], queue *partOf[request],
) {
	for c.sources.has(w) {
		err := source.Replay(ctx, queue)
		if err == nil || ctx.Err() != nil {
			return
		}
		c.GetLogger().Error(err, "A source can't report the objects that have come to this replica yet",
			"source", anyvalue.Name(w.source, ""))
		pause := time.NewTimer(time.Second)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return
		}
	}
}

// arrivals are namespaces that have come, and that the sources haven't been asked for yet.
type arrivals struct {
	news chan struct{} // sent to by add, received by followShards; one, because all has what is new

	mu  sync.Mutex // guards all
	all []func(namespace string) bool
}

func (a *arrivals) add(opened func(namespace string) bool) {
	a.mu.Lock()
	a.all = append(a.all, opened)
	a.mu.Unlock()
	select {
	case a.news <- struct{}{}:
	default:
	}
}

func (a *arrivals) take() (any func(namespace string) bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := a.all
	a.all = nil
	return func(namespace string) bool {
		return slices.ContainsFunc(all, func(has func(string) bool) bool { return has(namespace) })
	}
}

// partOf is a queue that takes only requests of some namespaces.
type partOf[request comparable] struct {
	*controllerQueue[request]
	has func(namespace string) bool
}

func (q *partOf[request]) takes(item request) bool {
	namespace, _ := requestname.Of(&item)
	return q.has(namespace)
}

func (q *partOf[request]) Add(item request) {
	if q.takes(item) {
		q.controllerQueue.Add(item)
	}
}

func (q *partOf[request]) AddAfter(item request, after time.Duration) {
	if q.takes(item) {
		q.controllerQueue.AddAfter(item, after)
	}
}

func (q *partOf[request]) AddRateLimited(item request) {
	if q.takes(item) {
		q.controllerQueue.AddRateLimited(item)
	}
}

func (q *partOf[request]) AddWithOpts(o workqueue.AddOpts, items ...request) {
	for _, item := range items {
		if q.takes(item) {
			q.controllerQueue.AddWithOpts(o, item)
		}
	}
}
