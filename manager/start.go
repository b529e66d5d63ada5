package manager

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/go-logr/logr"

	"github.com/loopwright/loopwright/manager/cluster"
	"github.com/loopwright/loopwright/manager/internal/anyvalue"
)

// Start implements Manager.
func (m *controllerManager) Start(ctx context.Context) error {
	if err := m.begin(); err != nil {
		return err
	}
	running, end := context.WithCancelCause(ctx)
	defer end(nil)
	grace, hurry := context.WithCancelCause(context.WithoutCancel(ctx))
	defer hurry(nil)
	first := &firstFailure{log: m.options.Logger, stop: end, running: running.Done(), hurry: hurry}
	m.groups.onFailure(first.report)

	events := m.writeEvents(ctx, first.report)
	err := m.addServers(ctx)
	if err == nil {
		err = m.startGroups(running, first.report)
	}
	if err == nil {
		<-running.Done()
	}
	failure := first.orElse(err)
	cause := failure
	if cause == nil {
		cause = context.Cause(ctx)
	}
	err = m.stopGroups(grace, cause, events)
	lost := context.Cause(grace)
	if errors.Is(failure, errStillElected) {
		lost = nil // failure is that same error
	}
	return errors.Join(failure, lost, err)
}

func (m *controllerManager) begin() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.started {
		return errors.New("the manager was started before: it can run once; make a new one")
	}
	m.started = true
	if m.election == nil {
		return nil
	}
	return m.election.prepare()
}

// startGroups returns when all groups have started, except for the leader-only group. It returns an
// error only if a runnable couldn't become ready while running was still alive.
func (m *controllerManager) startGroups(running context.Context, report func(error)) error {
	base := m.options.BaseContext()
	if _, err := logr.FromContext(base); err != nil {
		base = logr.NewContext(base, m.options.Logger)
	}
	begun := make(chan struct{}) // closed here, when only the leader-only group is left to start
	if m.election != nil {
		m.election.lead = func(leading context.Context) {
			select {
			case <-begun: // the lease may be won while the election's own group is still starting
			case <-leading.Done():
				return
			}
			waiting, cancel := context.WithCancelCause(running)
			defer cancel(nil)
			defer context.AfterFunc(leading, func() { cancel(context.Cause(leading)) })()
			if err := m.startElected(waiting, withFenceOf(leading, base)); err != nil {
				report(err)
			}
		}
		if err := m.groups.addTo(election, m.election); err != nil {
			return err
		}
	}
	err := m.groups.start(running, base, false)
	switch {
	case running.Err() != nil:
		return nil // a failure that was reported, or the context has ended
	case err != nil:
		return err
	case m.election == nil:
		return m.startElected(running, base)
	}
	close(begun)
	return nil
}

// startElected starts the leader-only group. It stops waiting if the manager stops or the lease is
// lost.
func (m *controllerManager) startElected(waiting, base context.Context) error {
	err := m.groups.start(waiting, base, true)
	if waiting.Err() != nil {
		return nil
	}
	if err == nil {
		close(m.elected)
	}
	return err
}

// stopGroups stops the groups, then the event writer, and waits for them up to the graceful
// shutdown timeout. grace ends early if the lease was lost.
func (m *controllerManager) stopGroups(
	grace context.Context, cause error, events *eventWriter,
) error {
	timeout := *m.options.GracefulShutdownTimeout
	m.options.Logger.Info("Stopping",
		"gracefulShutdownTimeout", timeout, "reason", fmt.Sprint(cause))
	if timeout >= 0 {
		var cancel context.CancelFunc
		grace, cancel = context.WithTimeout(grace, timeout)
		defer cancel()
	}
	err := m.groups.stop(grace, fmt.Errorf("the manager stops: %w", cause))
	if unwritten := events.finish(grace); err == nil {
		err = unwritten
	}
	switch {
	case err == nil:
		m.options.Logger.Info("Stopped")
	case timeout == 0: // the user has chosen not to wait
		err = nil
	case errors.Is(context.Cause(grace), errStillElected): // Start already returns it
	default:
		err = fmt.Errorf(
			"not everything has ended within the graceful shutdown timeout of %s: %w: %w",
			timeout, err, grace.Err())
	}
	return err
}

// firstFailure keeps the first error of a runnable, and ends the manager's context with it.
type firstFailure struct {
	log     logr.Logger
	stop    context.CancelCauseFunc
	running <-chan struct{} // closed when the context has ended
	// hurry ends the grace period, because another replica may lead while this one is still
	// working. This can happen after the first failure, and after the context has ended.
	hurry context.CancelCauseFunc

	once sync.Once
	err  error // written under once
}

// report is called from the runnables' goroutines.
func (f *firstFailure) report(err error) {
	if errors.Is(err, errStillElected) {
		f.hurry(err)
	}
	taken := false
	f.once.Do(func() {
		select {
		case <-f.running: // the context has ended: the error isn't the reason
		default:
			f.err, taken = err, true
			f.stop(err)
		}
	})
	if !taken {
		logFailure(f.log, err)
	}
}

// orElse returns the failure, or err if there was none. It ignores failures that are reported
// later.
func (f *firstFailure) orElse(err error) error {
	f.once.Do(func() { f.err = err })
	return f.err
}

// This file also writes the events of the manager's own cluster. The writer belongs to no group:
// every runnable may record an event until it ends, so the writer starts before the first group,
// and ends after the last.

// ownCluster is what cluster.New returns. The manager runs its cache and its event writer
// separately.
type ownCluster interface {
	cluster.Cluster
	StartCache(ctx context.Context) error
	WriteEvents(ctx context.Context) error
}

// ownCache is the manager's own cluster, in the group of caches.
type ownCache struct{ ownCluster }

// Start implements Runnable.
func (c ownCache) Start(ctx context.Context) error { return c.StartCache(ctx) }

// String is the runnable's name in messages.
func (c ownCache) String() string { return anyvalue.Name(c.ownCluster, "") }

// eventWriter is a running call of WriteEvents.
type eventWriter struct {
	stop  context.CancelFunc
	ended chan struct{} // closed by the goroutine
}

// writeEvents starts the event writer. If the writer fails, the manager stops, as with a runnable.
func (m *controllerManager) writeEvents(ctx context.Context, report func(error)) *eventWriter {
	writing, stop := context.WithCancel(context.WithoutCancel(ctx))
	w := &eventWriter{stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		if err := m.WriteEvents(writing); err != nil {
			report(err)
		}
	}()
	return w
}

// finish stops the writer, and returns when all recorded events are written, or when grace ends.
func (w *eventWriter) finish(grace context.Context) error {
	w.stop()
	select {
	case <-w.ended:
		return nil
	case <-grace.Done():
		return errors.New("still running: the writer of events")
	}
}
