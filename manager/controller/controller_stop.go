package controller

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/loopwright/loopwright/trace"
)

// errGraceOver is the cause of the end of contexts of reconciles that did not finish in time.
var errGraceOver = errors.New("the controller stops, and its grace period is over")

// run has the workers, from the moment when the sources are ready until the last of them is gone.
//
// There are two contexts, because to stop means two things. One ends when no more requests are
// to be taken from the queue. The other is that of the reconciles, and ends when they are to be
// cut off; it has what ctx has, but not its end.
func (c *controlLoop) run(ctx context.Context, queue requestQueue) {
	working, cutOff := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cutOff(nil)
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
	log.Info("Stopping; waiting for reconciles that are under way", "gracePeriod", c.options.GracePeriod)
	c.finish(working, cutOff, &workers, queue)
	log.Info("Stopped")
	c.record(trace.Event{Kind: trace.Stop, Reason: context.Cause(ctx).Error()})
}

// finish returns when the workers are gone. It cuts them off when the grace period is over.
func (c *controlLoop) finish(working context.Context, cutOff context.CancelCauseFunc, workers *sync.WaitGroup, queue requestQueue) {
	grace := time.NewTimer(max(c.options.GracePeriod, 0))
	defer grace.Stop()
	idle := make(chan struct{}) // closed by the goroutine below
	go func() {
		defer close(idle)
		if c.options.DrainOnStop {
			c.sources.stop(errStopped) // what they add from now on would be ignored
			if err := queue.Drain(working); err != nil {
				c.GetLogger().Info("Stopping before the queue is drained", "waiting", queue.Len(), "reason", err.Error())
			}
		}
		queue.ShutDown()
		workers.Wait()
	}()
	select {
	case <-idle:
	case <-grace.C:
		cutOff(errGraceOver)
		<-idle
	}
}
