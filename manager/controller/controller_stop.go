package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/loopwright/loopwright/trace"
)

// ErrStopNow is for the cause of the end of Start's context (context.WithCancelCause), or for an
// error that wraps it: reconciles that are under way are cut off at once, and nothing is drained,
// whatever Options.GracePeriod and Options.DrainOnStop say. Start still waits until they return. It
// is for a process that has lost its lease: another one may be working on the same objects already.
var ErrStopNow = errors.New("the controller must stop at once")

// errGraceOver is the cause of the end of contexts of reconciles that did not finish in time.
var errGraceOver = errors.New("the controller stops, and its grace period is over")

// run has the workers, from the moment when the sources are ready until the last of them is gone.
//
// There are two contexts, because to stop means two things. One ends when no more requests are
// to be taken from the queue. The other is that of the reconciles, and ends when they are to be
// cut off; it has what ctx has, but not its end.
//
// start is Start's context. ctx may end before it, when the sources have ended with Warmup's.
func (c *controlLoop) run(start, ctx context.Context, queue requestQueue) {
	working, cutOff := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cutOff(errStopped)
	defer context.AfterFunc(start, func() {
		if errors.Is(context.Cause(start), ErrStopNow) {
			cutOff(errGraceOver)
		}
	})()
	taking := ctx
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
	<-ctx.Done()
	if errors.Is(context.Cause(start), ErrStopNow) {
		cutOff(errGraceOver) // now, and not when AfterFunc's goroutine comes to it
	}
	log.Info("Stopping; waiting for reconciles that are under way", "gracePeriod", c.options.GracePeriod)
	c.finish(working, cutOff, &workers, queue)
	log.Info("Stopped")
	c.record(trace.Event{Kind: trace.Stop, Reason: context.Cause(ctx).Error()})
}

// finish returns when the workers are gone. It cuts them off when the grace period is over.
func (c *controlLoop) finish(working context.Context, cutOff context.CancelCauseFunc, workers *sync.WaitGroup, queue requestQueue) {
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

// discard shuts a queue down and empties it, when the workers are gone. A queue in which something
// is left keeps its gauges, and they keep the queue in memory.
func (c *controlLoop) discard(queue requestQueue) {
	queue.ShutDown()
	if left := queue.Len(); left > 0 { // or the recorder's story would look as if workers went on
		c.record(trace.Event{Kind: trace.Note, Count: left, Reason: fmt.Sprintf("what waits is taken out and dropped: %d", left)})
	}
	for {
		item, shutdown := queue.Get()
		if shutdown {
			return
		}
		queue.Done(item)
	}
}
