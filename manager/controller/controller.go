// Package controller turns a reconciler into a controller: workers that take requests from a
// queue, call the reconciler, and do with each request what the answer says.
//
// Sources add requests to the queue; workers take them, each request in one worker at a time;
// the reconciler's answer decides whether a request comes again, and when.
//
// Neighbours: below it are reconcile, which the user writes, and the workqueue. Above it are
// the sources, which it knows as the interface Source, and the manager, which
// starts and stops it.
package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/go-logr/logr"

	"github.com/loopwright/loopwright/manager/reconcile"
)

// Controller calls a reconciler for each request that its sources add.
//
// Guarantees: a request that is added is reconciled after that, at least once. No two workers
// reconcile the same request at a time. Workers begin when all sources that were there at the
// start are ready: a reconciler does not take an object that is not listed yet for one that does
// not exist. When Start returns, no goroutine of the controller is left, and nothing in its queue.
//
// Caveats: what waits in the queue when the controller stops is lost, unless DrainOnStop is
// set. The next start finds the objects in a list. A source that has not ended 10 s after the
// workers, or whose Start takes 10 s to end with its context, is left behind, with its
// goroutines; the log names it.
type Controller interface {
	// Reconcile calls the reconciler as a worker does: with a timeout, and with its panics
	// recovered. It does not touch the queue.
	reconcile.Reconciler

	// Watch adds a source, at any time. Before Start it is kept; while the controller runs, it is
	// started at once, and Watch returns the error of its Start.
	Watch(src Source) error

	// Unwatch stops a source, and waits until it has stopped. After 10 s it returns an error: a
	// reconciler may call it, and must not hang. What the source added stays in the queue: an
	// extra look does no harm. The source must be the same value that was given to Watch.
	Unwatch(src Source) error

	// Wake adds the requests that wait for an object: see reconcile.WaitFor.
	reconcile.Waker

	// Start runs the controller until the context ends, and returns nil then. It returns an error
	// if a source cannot be started or does not become ready, and if the sources end before the
	// context does, because Warmup started them with another. It may be called once. See ErrStopNow
	// for a stop that does not wait.
	Start(ctx context.Context) error

	// GetLogger returns the controller's logger, without a request.
	GetLogger() logr.Logger
}

// NewUnmanaged returns a controller that the caller starts. The name is in its metrics and logs,
// and must be unique among the controllers of the process; see Options.SkipNameValidation.
func NewUnmanaged(name string, options Options) (Controller, error) {
	if name == "" {
		return nil, errors.New("a controller needs a name")
	}
	if err := options.complete(name); err != nil {
		return nil, fmt.Errorf("controller %s: %w", name, err)
	}
	c := &controlLoop{name: name, options: options, meter: newMeter(name)}
	c.log = sync.OnceValue(c.GetLogger)
	if !*options.SkipNameValidation {
		if err := claimName(name); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// controlLoop is what NewUnmanaged returns.
type controlLoop struct {
	name    string
	options Options            // complete
	log     func() logr.Logger // GetLogger, called once
	meter   meter
	sources sources
	waits   waits
	retries retries // unless MaxRetries is 0

	mu      sync.Mutex // guards the rest
	started bool
	opened  *opening // nil until Warmup or Start
}

var errStartedTwice = errors.New("the controller was started before: it can run once, and be " +
	"added to one manager")

// Start implements Controller.
func (c *controlLoop) Start(ctx context.Context) error {
	c.mu.Lock()
	again := c.started
	c.started = true
	c.mu.Unlock()
	if again {
		return fmt.Errorf("controller %s: %w", c.name, errStartedTwice)
	}
	if !*c.options.SkipNameValidation {
		defer freeName(c.name)
	}
	c.meter.start(c.options.MaxConcurrentReconciles)
	defer c.meter.stop(c.options.MaxConcurrentReconciles)

	opened, _ := c.open(ctx)
	var early error // why the sources ended before ctx did
	select {
	case <-opened.done:
		if opened.err == nil {
			early = c.runWith(ctx, opened)
		}
	case <-ctx.Done(): // Warmup is not ready yet
	}
	c.sources.cancel(errStopped)
	<-opened.done
	c.endSources(errStopped)
	c.discard(opened.queue)
	if err := cmp.Or(opened.err, early); err != nil {
		return fmt.Errorf("controller %s: %w", c.name, err)
	}
	return nil
}

// runWith is run, and ends with the context of the sources as well: without them, the workers
// would wait forever. It returns an error if that is why it ended.
func (c *controlLoop) runWith(ctx context.Context, opened *opening) error {
	c.sources.beginFrom(ctx)
	running, release := opened.endsWith(ctx)
	defer release()
	if running.Err() == nil {
		c.run(ctx, running, opened.queue)
	}
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("the sources have ended with the context of Warmup: %w",
		context.Cause(running))
}

// NeedLeaderElection reports whether a manager starts the controller only while it is the leader.
func (c *controlLoop) NeedLeaderElection() bool { return *c.options.NeedLeaderElection }

// Warmup starts the sources before Start does, so that a process that waits to become the leader
// has its caches full already. It returns when they are ready; they run until its context ends
// or Start returns. If its context ends while Start runs, or before, Start returns an error.
// Without Options.EnableWarmup it does nothing, nor for a controller that does not wait for the
// lead.
func (c *controlLoop) Warmup(ctx context.Context) error {
	if !*c.options.EnableWarmup || !*c.options.NeedLeaderElection {
		return nil
	}
	opened, first := c.open(ctx)
	<-opened.done
	if opened.err != nil {
		c.endSources(opened.err)
	}
	if !first { // the sources have the context of another call
		return opened.err
	}
	// If Start is never called, nobody else ends the queue.
	context.AfterFunc(ctx, func() {
		if !c.isStarted() {
			c.discard(opened.queue)
		}
	})
	return opened.err
}

// GetLogger implements Controller.
func (c *controlLoop) GetLogger() logr.Logger { return c.options.LogConstructor(nil) }

func (c *controlLoop) isStarted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.started
}
