package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"

	"github.com/loopwright/loopwright/manager/reconcile"
)

// ended is a context that is over: with it, a queue hands out what it has, and does not wait.
var ended = func() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("a batch takes only what waits"))
	return ctx
}()

// takeMore adds to a batch what else waits for a worker. Other workers find nothing then, which
// is what a batch is for.
func (c *controlLoop) takeMore(queue requestQueue, first work) []work {
	batch := []work{first}
	if adapted, ok := queue.(adaptedQueue); ok && !adapted.knowsContexts() {
		return batch // it would wait
	}
	for len(batch) < c.options.MaxBatch {
		next, err := queue.Next(ended)
		if err != nil {
			break
		}
		batch = append(batch, next)
	}
	return batch
}

var errReordered = errors.New("the batch changed the slice of its requests: which outcome is whose cannot be told")

// processBatch is process for several requests. What comes back is settled for each of them as
// if it had been alone.
func (c *controlLoop) processBatch(ctx context.Context, queue requestQueue, batch []work) {
	c.meter.active.Inc()
	defer c.meter.active.Dec()
	requests := make([]reconcile.Request, len(batch))
	answers := make([]reconcile.Outcome, len(batch))
	for i, w := range batch {
		requests[i], answers[i].Err = w.Item, errGoexit
		c.recordStart(w)
	}
	ctx = c.callContext(ctx, nil)
	if c.log().V(5).Enabled() {
		logr.FromContextOrDiscard(ctx).V(5).Info("Reconciling", "requests", len(batch))
	}
	if len(batch) == 1 {
		ctx = reconcile.WithReasons(ctx, batch[0].Causes)
	}
	began := time.Now()
	defer func() {
		took := time.Since(began)
		c.meter.time.Observe(took.Seconds())
		for i, w := range batch {
			c.settle(c.callContext(ctx, &batch[i].Item), queue, w, answers[i], took)
			queue.Done(w.Item)
		}
	}()
	err := c.call(ctx, func(ctx context.Context) error {
		outcomes := c.options.Batch(ctx, requests)
		if len(outcomes) != len(batch) {
			return fmt.Errorf("the batch returned %d outcomes for %d requests", len(outcomes), len(batch))
		}
		// If it sorted its requests, say, the outcomes may be in the old order or in the new one.
		if !slices.EqualFunc(batch, requests, func(w work, r reconcile.Request) bool { return w.Item == r }) {
			return errReordered
		}
		copy(answers, outcomes)
		return nil
	})
	if err != nil { // one for all
		for i := range answers {
			answers[i] = reconcile.Outcome{Err: err}
		}
	}
}
