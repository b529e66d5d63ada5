package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// opening is the start of the queue and the sources, which happens once: by Warmup, or by Start
// if there was none.
type opening struct {
	// done is closed by the goroutine that opens, and received from by both. The rest is not
	// read before that, and not written after.
	done  chan struct{}
	queue requestQueue
	err   error
}

// open makes the queue and starts the sources, if this has not been done. The caller waits for
// done.
func (c *controlLoop) open(ctx context.Context) *opening {
	c.mu.Lock()
	o := c.opened
	first := o == nil
	if first {
		o = &opening{done: make(chan struct{})}
		c.opened = o
	}
	c.mu.Unlock()
	if first {
		o.queue = queueOf(c.options.NewQueue(c.name, c.options.RateLimiter))
		o.err = c.startSources(ctx, sourceQueue{o.queue, c})
		close(o.done)
	}
	return o
}

// startSources starts the sources that are watched, and returns when all are ready. If one cannot
// be started, there is no use in waiting for the others.
func (c *controlLoop) startSources(ctx context.Context, queue sourceQueue) error {
	deadline, cancel := context.WithTimeout(ctx, c.options.CacheSyncTimeout)
	defer cancel()
	kept := c.sources.open(queue, func() (context.Context, context.CancelCauseFunc) { return context.WithCancelCause(ctx) })
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

// startSource starts a source, and returns when it is ready, or was removed. It returns an error
// if this takes longer than the deadline.
func (c *controlLoop) startSource(deadline context.Context, w *watchedSource) error {
	ctx, queue, watched := c.sources.begin(w)
	if !watched {
		return nil
	}
	defer close(w.settled)
	ready, cancel := context.WithCancel(deadline)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	c.GetLogger().Info("Starting source", "source", nameOf(w.source))

	// In a goroutine, because a Start that blocks would hold up the controller without a word. The
	// channel has room for its answer, so that it can end though nobody listens any more.
	answers := make(chan startAnswer, 1)
	go func() {
		err := w.source.Start(ctx, queue)
		answer := startAnswer{started: err == nil, err: err}
		if syncing, ok := w.source.(SyncingSource); ok && err == nil {
			answer.err = syncing.WaitForSync(ready)
		}
		answers <- answer
	}()
	var answer startAnswer
	select {
	case answer = <-answers:
	case <-ready.Done(): // soon there is an answer, which says more than that it took too long
		w.stop(errNotReady)                                       // a Start that blocks ends now
		if answer = c.lastAnswer(w, answers); answer.err == nil { // or it would look ready
			answer.err = errBlocks
		}
	}
	w.started = answer.started
	err := answer.err
	switch {
	case err == nil:
		return nil
	case errors.Is(deadline.Err(), context.DeadlineExceeded):
		return fmt.Errorf("the source %s is not ready after %s, which is the CacheSyncTimeout: %w", nameOf(w.source), c.options.CacheSyncTimeout, err)
	case ctx.Err() != nil: // it was removed, or the controller stops
		return nil
	default:
		return fmt.Errorf("starting the source %s: %w", nameOf(w.source), err)
	}
}

var (
	errNotReady = errors.New("the source was not ready in time")
	errBlocks   = errors.New("its Start did not return")
)

// startAnswer is how the start of a source ended: at which step, and how.
type startAnswer struct {
	started bool // Start returned nil
	err     error
}

// lastAnswer waits for a source whose contexts have ended. One that does not care about them is
// left behind, because a controller that hangs is worse: its error would never be seen.
func (c *controlLoop) lastAnswer(w *watchedSource, answers <-chan startAnswer) startAnswer {
	patience := time.NewTimer(max(c.options.GracePeriod, 0))
	defer patience.Stop()
	select {
	case answer := <-answers:
		return answer
	case <-patience.C:
		c.GetLogger().Error(errBlocks, "A source is left behind, and its goroutine with it", "source", nameOf(w.source))
		return startAnswer{}
	}
}

// Watch implements Controller.
func (c *controlLoop) Watch(src Source) error {
	w := &watchedSource{source: src, settled: make(chan struct{})}
	running, err := c.sources.add(w)
	if err != nil {
		return fmt.Errorf("controller %s: watching the source %s: %w", c.name, nameOf(src), err)
	}
	if !running {
		return nil
	}
	ctx, queue, watched := c.sources.begin(w)
	if !watched {
		return nil
	}
	c.GetLogger().Info("Starting source", "source", nameOf(src))
	if err := src.Start(ctx, queue); err != nil {
		close(w.settled)
		c.sources.remove(func(other *watchedSource) bool { return other == w }, err)
		return fmt.Errorf("controller %s: starting the source %s: %w", c.name, nameOf(src), err)
	}
	w.started = true
	syncing, ok := src.(SyncingSource)
	if !ok {
		close(w.settled)
		return nil
	}
	// The workers run already, and nobody waits for the source. But somebody should know if it
	// is never ready.
	go func() {
		defer close(w.settled)
		ready, cancel := context.WithTimeout(ctx, c.options.CacheSyncTimeout)
		defer cancel()
		if err := syncing.WaitForSync(ready); err != nil && ctx.Err() == nil {
			c.GetLogger().Error(err, "A source that was added is not ready", "source", nameOf(src), "timeout", c.options.CacheSyncTimeout)
		}
	}()
	return nil
}
