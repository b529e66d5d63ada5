package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/trace"
	"github.com/loopwright/loopwright/workqueue"
)

// ErrStopNow makes a controller stop at once. Use it, or an error that wraps it, as the cause when
// you cancel Start's context (context.WithCancelCause). Reconciles in flight are cut off and the
// queue isn't drained, whatever Options.GracePeriod and Options.DrainOnStop say. Start still waits
// until the reconciles return. It's for a process that has lost its lease, because another one may
// already be working on the same objects.
var ErrStopNow = errors.New("the controller must stop at once")

// errGraceOver is the cause that ends the contexts of reconciles which didn't finish in time.
var errGraceOver = errors.New("the controller stops, and its grace period is over")

// run has the workers, from the moment the sources are ready until the last worker has ended.
//
// Stopping means two things, so the workers have two contexts. taking ends when no more requests
// should be taken from the queue. working belongs to the reconciles, and ends when they should be cut
// off; it has running's values, but doesn't end with it.
//
// start is Start's context. running may end before it, when the sources have ended with Warmup's.
func (c *controlLoop[request]) run(start, running context.Context, queue *controllerQueue[request]) {
	working, cutOff := context.WithCancelCause(context.WithoutCancel(running))
	defer cutOff(errStopped)
	defer context.AfterFunc(start, func() {
		if errors.Is(context.Cause(start), ErrStopNow) {
			cutOff(errGraceOver)
		}
	})()
	taking := running
	if c.options.DrainOnStop {
		taking = working
	}
	log := c.GetLogger()
	log.Info("Starting workers", "workers", c.options.MaxConcurrentReconciles)
	c.record(trace.Event{Kind: trace.Start})
	var workers sync.WaitGroup
	for range c.options.MaxConcurrentReconciles {
		c.startWorker(&workers, taking, working, queue)
	}
	<-running.Done()
	if errors.Is(context.Cause(start), ErrStopNow) {
		cutOff(errGraceOver) // now, and not when AfterFunc's goroutine comes to it
	}
	log.Info("Stopping; waiting for reconciles that are under way", "gracePeriod",
		c.options.GracePeriod)
	c.finish(working, cutOff, &workers, queue)
	log.Info("Stopped")
	c.record(trace.Event{Kind: trace.Stop, Reason: context.Cause(running).Error()})
}

// finish returns when the workers have ended. It cuts them off when the grace period is over.
func (c *controlLoop[request]) finish(
	working context.Context, cutOff context.CancelCauseFunc, workers *sync.WaitGroup,
	queue *controllerQueue[request],
) {
	grace := time.NewTimer(c.options.GracePeriod) // 0 or less is over at once
	defer grace.Stop()
	idle := make(chan struct{}) // closed by the goroutine below
	go func() {
		defer close(idle)
		if c.options.DrainOnStop {
			c.sources.stop(working, errStopped) // what they add from now on would be ignored
			_ = queue.Drain(working)            // its error says what is seen below
		}
		queue.ShutDown()
		workers.Wait()
		if left := queue.Len(); left > 0 && c.options.DrainOnStop {
			c.GetLogger().Info("Stopping before the queue is drained", "waiting", left)
		}
	}()
	select {
	case <-idle:
	case <-grace.C:
		cutOff(errGraceOver)
		<-idle
	}
}

// discard shuts a queue down and empties it, after the workers have ended. A queue that isn't empty
// keeps its gauges, and they keep the queue in memory.
func (c *controlLoop[request]) discard(queue *controllerQueue[request]) {
	queue.ShutDown()
	if left := queue.Len(); left > 0 { // or the recorder's story would look as if workers went on
		c.record(trace.Event{Kind: trace.Note, Count: left,
			Reason: fmt.Sprintf("what waits is taken out and dropped: %d", left)})
	}
	for {
		item, shutdown := queue.Get()
		if shutdown {
			return
		}
		queue.Done(item)
	}
}

// startWorker starts a worker. If the reconciler ends it by calling runtime.Goexit (t.FailNow
// does), another takes over.
func (c *controlLoop[request]) startWorker(
	workers *sync.WaitGroup, taking, working context.Context, queue *controllerQueue[request],
) {
	workers.Go(func() {
		returned := false
		defer func() {
			if !returned && *c.options.RecoverPanic {
				c.startWorker(workers, taking, working, queue)
			}
		}()
		c.serve(taking, working, queue)
		returned = true
	})
}

// serve takes requests from the queue, one after another, until taking ends.
func (c *controlLoop[request]) serve(taking, working context.Context, queue *controllerQueue[request]) {
	for taking.Err() == nil {
		next, err := queue.Next(taking)
		if err != nil {
			return
		}
		if taking.Err() != nil { // a queue may hand out what it has, even so
			queue.Done(next.Item)
			return
		}
		c.process(working, queue, next)
	}
}

// process reconciles a request, and does what the answer says. Everything but the call itself is
// deferred, because a reconciler may end the goroutine: then errGoexit is the answer.
func (c *controlLoop[request]) process(working context.Context, queue *controllerQueue[request], w workqueue.Work[request]) {
	defer queue.Done(w.Item)
	ctx, leave, ok := c.enter(working, queue, w.Item)
	if !ok {
		return
	}
	defer leave()
	c.meter.active.Inc()
	defer c.meter.active.Dec()

	ctx = c.contextFor(ctx, w)
	if c.log().V(5).Enabled() {
		logr.FromContextOrDiscard(ctx).V(5).Info("Reconciling", "reasons", w.Causes.String())
	}
	c.recordStart(w)

	began, result, err := time.Now(), reconcile.Result{}, errGoexit
	defer func() {
		took := time.Since(began)
		c.meter.time.Observe(took.Seconds())
		c.settle(ctx, queue, w, result, err, took)
	}()
	result, err = c.Reconcile(ctx, w.Item)
}

// settle does with a request what the answer says. It comes before Done, so that a request that is
// added again at once waits until this worker has finished with it.
func (c *controlLoop[request]) settle(
	ctx context.Context, queue *controllerQueue[request], w workqueue.Work[request], result reconcile.Result, err error,
	took time.Duration,
) {
	if err == errGoexit && !*c.options.RecoverPanic {
		return // the process is about to crash
	}
	err = inspectable(err)
	d := outcome(result, err)
	if c.options.MaxRetries > 0 {
		d = c.retries.limit(w.Item, d, c.options.MaxRetries)
	}
	c.meter.count(d)
	c.recordEnd(w, d, err, took)
	c.logOutcome(ctx, w, d, err)
	c.requeue(queue, w, d)
}

// requeue does with the request what was decided. The request keeps its priority, unless the answer
// has another.
//
// A request that begins to wait for an object is added once more, in case the object appeared
// between the reconciler's read and its answer (see waits). A reconciler that names a different
// object each time would then run without a pause. So such a request is rate limited, and its
// failures are forgotten only when it has named the same object twice.
func (c *controlLoop[request]) requeue(queue *controllerQueue[request], w workqueue.Work[request], d decision) {
	opts := workqueue.AddOpts{Priority: &w.Priority}
	if d.priority != nil {
		opts.Priority = d.priority
	}
	forget := d.forget
	switch d.again {
	case rateLimited:
		opts.RateLimited, opts.Reason = true, "tried again"
	case afterDelay:
		opts.After, opts.Reason = d.after, "asked to be called again"
	case whenWoken:
		before, waited := c.waits.begin(w.Item, d.awaited, *opts.Priority)
		sameAsBefore := waited && before == d.awaited
		forget = sameAsBefore
		switch {
		case sameAsBefore && c.options.WaitFallback > 0:
			opts.After, opts.Reason = c.options.WaitFallback, "heard nothing of what it waits for"
		case !sameAsBefore:
			opts.Reason = "in case what it waits for has just come"
			if waited { // not later than the fallback, however long the limiter would wait
				opts.RateLimited, opts.After = true, max(c.options.WaitFallback, 0)
			}
		}
	}
	if d.again != whenWoken && (d.label != labelError || d.terminal) {
		// but not after an error that is retried: the reconciler may not have got as far
		c.waits.end(w.Item)
	}
	if forget {
		queue.Forget(w.Item)
	}
	if opts.Reason != "" {
		queue.AddWithOpts(opts, w.Item)
	}
}
