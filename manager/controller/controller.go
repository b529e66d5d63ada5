// Package controller turns a reconciler into a controller: workers that take requests from a queue,
// call the reconciler, and do with each request what the reconciler's answer says.
//
// Sources add requests to the queue. Workers take them, and no two workers have the same request at
// the same time. The reconciler's answer decides whether a request comes back, and when.
//
// Neighbours: below it are reconcile, which the user writes, and the workqueue. Above it are the
// sources, which it knows as the interface Source, and the manager, which starts and stops it.
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

// Controller is a TypedController whose requests are the names of objects.
type Controller = TypedController[reconcile.Request]

// TypedController calls a reconciler for each request that its sources add.
//
// Guarantees: a request that is added is reconciled at least once after that. No two workers
// reconcile the same request at the same time. The workers start when all sources that were there
// at the start are ready, so a reconciler never takes an object that isn't listed yet for one that
// doesn't exist. When Start returns, no goroutine of the controller is left, and its queue is
// empty.
//
// Caveats: requests that are still in the queue when the controller stops are lost, unless
// DrainOnStop is set. The next start lists the objects again. A source that hasn't ended 10 s after
// the workers, or whose Start takes 10 s to return after its context has ended, is left behind with
// its goroutines; the log names it.
//
// The controllers of NewTyped and NewTypedUnmanaged also implement reconcile.Waker, and Unwatch
// stops one of their sources.
type TypedController[request comparable] interface {
	// Reconcile calls the reconciler the way a worker does: with a timeout, and recovering its
	// panics. It doesn't touch the queue.
	reconcile.TypedReconciler[request]

	// Watch adds a source; you can call it at any time. A source that is added before Start waits
	// for it. While the controller runs, the source is started at once, and Watch returns the error
	// of its Start.
	Watch(src TypedSource[request]) error

	// Start runs the controller until the context ends, and then returns nil. It returns an error
	// if a source can't be started or doesn't become ready, and if the sources end before the
	// context does, because Warmup started them with a different context. Call it only once. See
	// ErrStopNow for a stop that doesn't wait.
	Start(ctx context.Context) error

	// GetLogger returns the controller's logger, without a request.
	GetLogger() logr.Logger
}

// Unwatch stops a source of a controller, and waits until it has stopped. After 10 s it returns an
// error, because a reconciler may call it and must not hang. Requests that the source has added
// stay in the queue: an extra reconcile does no harm. The source must be the same value that was
// passed to Watch.
//
// It works for the controllers of this package, and for types that embed one.
func Unwatch[request comparable](
	c TypedController[request], src TypedSource[request],
) error {
	unwatcher, ok := c.(interface {
		Unwatch(src TypedSource[request]) error
	})
	if !ok {
		return fmt.Errorf("a %T cannot stop a source: it has no method Unwatch", c)
	}
	return unwatcher.Unwatch(src)
}

// NewUnmanaged is NewTypedUnmanaged for requests that are the names of objects.
func NewUnmanaged(name string, options Options) (Controller, error) {
	return NewTypedUnmanaged(name, options)
}

// NewTypedUnmanaged returns a controller that you start yourself. The name appears in its metrics
// and logs, and must be unique among the controllers of the process; see
// Options.SkipNameValidation.
func NewTypedUnmanaged[request comparable](
	name string, options TypedOptions[request],
) (TypedController[request], error) {
	c, err := newUnmanaged(name, options)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func newUnmanaged[request comparable](
	name string, options TypedOptions[request],
) (*controlLoop[request], error) {
	if name == "" {
		return nil, errors.New("a controller needs a name")
	}
	if err := options.complete(name); err != nil {
		return nil, fmt.Errorf("controller %s: %w", name, err)
	}
	c := &controlLoop[request]{name: name, options: options, meter: newMeter(name)}
	c.log = sync.OnceValue(c.GetLogger)
	if !*options.SkipNameValidation {
		if err := claimName(name); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// controlLoop is what NewTypedUnmanaged returns.
type controlLoop[request comparable] struct {
	name    string
	options TypedOptions[request] // complete
	log     func() logr.Logger    // GetLogger, called once
	meter   meter
	sources sources[request]
	waits   waits[request]
	retries retries[request] // unless MaxRetries is 0
	// replays is the goroutine of followShards, which endReplays ends; nil without shards.
	replays    sync.WaitGroup
	endReplays context.CancelFunc

	mu      sync.Mutex // guards the rest
	started bool
	opened  *opening[request] // nil until Warmup or Start
}

var errStartedTwice = errors.New("the controller was started before: it can run once, and be " +
	"added to one manager")

// Start implements Controller.
func (c *controlLoop[request]) Start(ctx context.Context) error {
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
	case <-ctx.Done(): // Warmup isn't ready yet
	}
	c.sources.cancel(errStopped)
	<-opened.done
	c.endSources(errStopped)
	if c.endReplays != nil {
		c.endReplays()
		c.replays.Wait()
	}
	c.discard(opened.queue)
	if err := cmp.Or(opened.err, early); err != nil {
		return fmt.Errorf("controller %s: %w", c.name, err)
	}
	return nil
}

// runWith is run, and also ends with the context of the sources: without them, the workers would
// wait forever. It returns an error if that is why it ended.
func (c *controlLoop[request]) runWith(ctx context.Context, opened *opening[request]) error {
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

// NeedLeaderElection reports whether a manager starts the controller only while it's the leader. One
// that shares its work runs in all replicas.
func (c *controlLoop[request]) NeedLeaderElection() bool {
	return *c.options.NeedLeaderElection && c.options.Shards == nil
}

// Warmup starts the sources before Start does, so that a process that waits to become the leader
// already has full caches. It returns when they're ready; they run until its context ends or Start
// returns. If its context ends before Start or while Start runs, Start returns an error. Without
// Options.EnableWarmup it does nothing, and neither does it for a controller that needs no
// leadership.
func (c *controlLoop[request]) Warmup(ctx context.Context) error {
	if !*c.options.EnableWarmup || !c.NeedLeaderElection() {
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
	// If Start is never called, nothing else shuts the queue down.
	context.AfterFunc(ctx, func() {
		if !c.isStarted() {
			c.discard(opened.queue)
		}
	})
	return opened.err
}

// GetLogger implements Controller.
func (c *controlLoop[request]) GetLogger() logr.Logger { return c.options.LogConstructor(nil) }

func (c *controlLoop[request]) isStarted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.started
}
