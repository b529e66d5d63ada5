package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// work is a request that a worker holds.
type work = workqueue.Work[reconcile.Request]

// startWorker starts a worker. If it ends although it should not, because the reconciler called
// runtime.Goexit (t.FailNow does), another takes its place.
func (c *controlLoop) startWorker(workers *sync.WaitGroup, taking, working context.Context, queue requestQueue) {
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

// serve takes requests from the queue until taking ends, one after the other.
func (c *controlLoop) serve(taking, working context.Context, queue requestQueue) {
	for taking.Err() == nil {
		next, err := queue.Next(taking)
		if err != nil {
			return
		}
		if taking.Err() != nil { // a queue may hand out what it has, even so
			queue.Done(next.Item)
			return
		}
		if c.options.Batch != nil {
			c.processBatch(working, queue, c.takeMore(queue, next))
		} else {
			c.process(working, queue, next)
		}
	}
}

// process reconciles a request, and does what its answer says. All but the call itself is
// deferred, because a reconciler may end the goroutine: then errGoexit is the answer.
func (c *controlLoop) process(ctx context.Context, queue requestQueue, w work) {
	defer queue.Done(w.Item)
	c.meter.active.Inc()
	defer c.meter.active.Dec()

	ctx = c.callContext(ctx, &w.Item)
	ctx = reconcile.WithReasons(ctx, w.Causes)
	if c.log().V(5).Enabled() {
		logr.FromContextOrDiscard(ctx).V(5).Info("Reconciling", "reasons", w.Causes.String())
	}
	c.recordStart(w)

	began, answer := time.Now(), reconcile.Outcome{Err: errGoexit}
	defer func() {
		took := time.Since(began)
		c.meter.time.Observe(took.Seconds())
		c.settle(ctx, queue, w, answer, took)
	}()
	answer.Result, answer.Err = c.Reconcile(ctx, w.Item)
}

// settle does with a request what its answer says. It comes before Done, so that a request that
// is added again at once waits until this worker is finished with it.
func (c *controlLoop) settle(ctx context.Context, queue requestQueue, w work, answer reconcile.Outcome, took time.Duration) {
	if answer.Err == errGoexit && !*c.options.RecoverPanic {
		return // the process is about to crash
	}
	answer.Err = inspectable(answer.Err)
	d := outcome(answer.Result, answer.Err)
	if c.options.MaxRetries > 0 {
		d = c.retries.limit(w.Item, d, c.options.MaxRetries)
	}
	c.meter.count(d)
	c.recordEnd(w, d, answer.Err, took)
	c.logOutcome(ctx, w, d, answer.Err)
	c.addAgain(queue, w, d)
}

// addAgain forgets the failures of a request, and adds it for the time that was decided. Its
// priority stays what it was, unless the answer gave another.
func (c *controlLoop) addAgain(queue requestQueue, w work, d decision) {
	priority := w.Priority
	if d.priority != nil {
		priority = *d.priority
	}
	var before reconcile.ObjectRef
	waited := false
	switch {
	case d.again == whenWoken:
		before, waited = c.waits.begin(w.Item, d.awaited, priority)
	case d.label != labelError || d.terminal: // see waits
		c.waits.end(w.Item)
	}
	// A reconciler that names another object each time would be called without a pause. So the look
	// for that is limited, and a wait forgets nothing until its object is named twice.
	named := waited && before == d.awaited
	if d.forget && (named || d.again != whenWoken) {
		queue.Forget(w.Item)
	}
	switch {
	case d.again == rateLimited:
		queue.AddWithOpts(workqueue.AddOpts{RateLimited: true, Priority: &priority, Reason: "tried again"}, w.Item)
	case d.again == afterDelay:
		queue.AddWithOpts(workqueue.AddOpts{After: d.after, Priority: &priority, Reason: "asked to be called again"}, w.Item)
	case d.again == whenWoken && !named: // see waits
		opts := workqueue.AddOpts{RateLimited: waited, Priority: &priority, Reason: "in case what it waits for has just come"}
		if waited { // not later than the fallback, however long the limiter would wait
			opts.After = max(c.options.WaitFallback, 0)
		}
		queue.AddWithOpts(opts, w.Item)
	case d.again == whenWoken && c.options.WaitFallback > 0:
		queue.AddWithOpts(workqueue.AddOpts{After: c.options.WaitFallback, Priority: &priority, Reason: "heard nothing of what it waits for"}, w.Item)
	}
}

// logOutcome logs failures as errors, and the rest for those who want to know more.
func (c *controlLoop) logOutcome(ctx context.Context, w work, d decision, err error) {
	if err == nil && !c.log().V(5).Enabled() {
		return
	}
	log := logr.FromContextOrDiscard(ctx)
	if d.ignored {
		log.Info("The reconciler returned an error and asked to be called again; the latter is ignored")
	}
	switch {
	case err != nil && context.Cause(ctx) == errGraceOver: // the stop failed it
		log.Info("Cut off", "error", fmt.Sprint(err))
	case d.gaveUp:
		log.Error(err, "Reconciler error; giving up until the next event", "reasons", w.Causes.String())
	case d.label == labelError:
		if panicked, ok := errors.AsType[*panicError](err); ok {
			log = log.WithValues("stack", string(panicked.stack))
		}
		log.Error(err, "Reconciler error", "reasons", w.Causes.String())
	case d.label == labelWaiting:
		log.V(1).Info("Waiting for another object", "awaited", d.awaited.String())
	default:
		log.V(5).Info("Reconciled", "result", d.label, "after", d.after)
	}
}
