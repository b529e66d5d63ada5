package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/loopwright/loopwright/manager/internal/anyvalue"
)

// opening is the start of the queue and the sources. It happens once: in Warmup, or in Start if
// there was no Warmup.
type opening[request comparable] struct {
	// done is closed by the goroutine that opens, and received from by both. The rest isn't
	// read before that, and not written after.
	done  chan struct{}
	queue *controllerQueue[request]
	err   error
	// endsWith makes a context that ends with ctx and with the context of the sources. It's a
	// function for the reason for which newContext is one.
	endsWith func(ctx context.Context) (both context.Context, release func())
}

// open makes the queue and starts the sources, if this is the first call. The caller waits for
// done.
func (c *controlLoop[request]) open(ctx context.Context) (o *opening[request], first bool) {
	c.mu.Lock()
	o = c.opened
	first = o == nil
	if first {
		o = &opening[request]{done: make(chan struct{})}
		c.opened = o
	}
	c.mu.Unlock()
	if first {
		o.queue = &controllerQueue[request]{
			TypedRateLimitingInterface: c.options.NewQueue(c.name, c.options.RateLimiter),
			controller:                 c,
		}
		o.endsWith = func(other context.Context) (context.Context, func()) {
			return endsWithBoth(other, ctx)
		}
		c.followShards(ctx, o.queue)
		o.err = c.startSources(ctx, o.queue)
		close(o.done)
	}
	return o, first
}

// endsWithBoth makes a context that ends when either of two does, with its cause. It has the first
// one's values.
func endsWithBoth(first, second context.Context) (both context.Context, release func()) {
	both, end := context.WithCancelCause(first)
	if second.Err() != nil {
		end(context.Cause(second)) // at once, and not when AfterFunc's goroutine comes to it
	}
	forget := context.AfterFunc(second, func() { end(context.Cause(second)) })
	return both, func() {
		forget()
		end(errStopped)
	}
}

// startSources starts the sources that are watched, and returns when all are ready. If one can't be
// started, it doesn't wait for the others.
func (c *controlLoop[request]) startSources(ctx context.Context, queue *controllerQueue[request]) error {
	deadline, cancel := context.WithTimeoutCause(ctx, c.options.CacheSyncTimeout, errNotReady)
	defer cancel()
	kept := c.sources.open(ctx, queue)
	errs := make([]error, len(kept))
	var starting sync.WaitGroup
	for i, w := range kept {
		starting.Go(func() {
			if errs[i] = c.startSource(deadline, w); errs[i] != nil {
				c.sources.cancel(errs[i])
			}
		})
	}
	starting.Wait()
	return errors.Join(errs...)
}

// startSource starts a source, and returns when it's ready or was removed. It returns an error if
// that takes longer than the deadline.
func (c *controlLoop[request]) startSource(deadline context.Context, w *watchedSource[request]) error {
	ctx, queue, watched := c.sources.begin(w)
	if !watched {
		return nil
	}
	defer close(w.settled)
	ready, cancel := context.WithCancelCause(deadline)
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()
	c.GetLogger().Info("Starting source", "source", anyvalue.Name(w.source, ""))

	// In a goroutine, because a Start that blocks would block the controller without a word. The
	// channel has room for the answer, so the goroutine can end even if nobody receives.
	answers := make(chan error, 1)
	go func() {
		answer := errNoAnswer
		defer func() { answers <- answer }() // even if the source calls runtime.Goexit
		answer = w.start(ctx, ready, queue)
	}()
	var err error
	select {
	case err = <-answers:
	case <-ready.Done(): // soon there's an answer, which says more than that it took too long
		blocks := !w.started.Load()
		if blocks {
			w.stop(errNotReady) // a Start that blocks ends now
		}
		if err = c.lastAnswer(w, answers); blocks && err == nil { // or it would look ready
			err = errBlocks
		}
	}
	switch {
	case err == nil:
		return nil
	case context.Cause(deadline) == errNotReady:
		return fmt.Errorf("the source %s is not ready after %s, which is the CacheSyncTimeout: %w",
			anyvalue.Name(w.source, ""), c.options.CacheSyncTimeout, err)
	case ready.Err() != nil: // it was removed, or the controller stops
		return nil
	default:
		return fmt.Errorf("starting the source %s: %w", anyvalue.Name(w.source, ""), err)
	}
}

// start returns when the source is ready, or never will be.
func (w *watchedSource[request]) start(ctx, ready context.Context, queue *controllerQueue[request]) error {
	if err := w.source.Start(ctx, queue); err != nil {
		return err
	}
	w.started.Store(true)
	if syncing, ok := w.source.(TypedSyncingSource[request]); ok {
		return syncing.WaitForSync(ready)
	}
	return nil
}

var (
	errNotReady = errors.New("the source was not ready in time")
	errBlocks   = errors.New("its Start did not return")
	errNoSync   = errors.New("its WaitForSync did not return")
	errNoAnswer = errors.New("the source ended the goroutine that started it")
)

// patience is how long the controller waits for a source that was told to end. It has nothing to
// do with reconciles, and so not with the grace period.
const patience = 10 * time.Second

// lastAnswer waits for a source whose contexts have ended. A source that ignores that is left
// behind: if the controller hung instead, nobody would ever see its error.
func (c *controlLoop[request]) lastAnswer(w *watchedSource[request], answers <-chan error) error {
	patient := time.NewTimer(patience)
	defer patient.Stop()
	select {
	case answer := <-answers:
		return answer
	case <-patient.C:
		err := errBlocks
		if w.started.Load() {
			err = errNoSync
		}
		c.leaveBehind(w, err)
		return err
	}
}

func (c *controlLoop[request]) leaveBehind(w *watchedSource[request], err error) {
	c.GetLogger().Error(err, "A source is left behind, and its goroutines with it", "source",
		anyvalue.Name(w.source, ""))
}

// Watch implements Controller.
func (c *controlLoop[request]) Watch(src TypedSource[request]) error {
	w := newWatched(src)
	running, err := c.sources.add(w)
	if err != nil {
		return fmt.Errorf("controller %s: watching the source %s: %w", c.name,
			anyvalue.Name(src, ""), err)
	}
	if !running {
		return nil
	}
	ctx, queue, watched := c.sources.begin(w)
	if !watched {
		return nil
	}
	err = errNoAnswer
	// even if Start panics or calls runtime.Goexit, or a stop would wait for its answer
	defer func() {
		if err != nil {
			close(w.settled)
			c.sources.remove(func(other *watchedSource[request]) bool { return other == w }, err)
		}
	}()
	c.GetLogger().Info("Starting source", "source", anyvalue.Name(src, ""))
	if err = src.Start(ctx, queue); err != nil {
		return fmt.Errorf("controller %s: starting the source %s: %w", c.name,
			anyvalue.Name(src, ""), err)
	}
	w.started.Store(true)
	syncing, ok := src.(TypedSyncingSource[request])
	if !ok {
		close(w.settled)
		return nil
	}
	// The workers already run, and nobody waits for the source. But if it never becomes ready,
	// somebody should hear of it.
	go func() {
		defer close(w.settled)
		ready, cancel := context.WithTimeoutCause(ctx, c.options.CacheSyncTimeout, errNotReady)
		defer cancel()
		if err := syncing.WaitForSync(ready); err != nil && ctx.Err() == nil {
			c.GetLogger().Error(err, "A source that was added is not ready", "source",
				anyvalue.Name(src, ""), "timeout", c.options.CacheSyncTimeout)
		}
	}()
	return nil
}
