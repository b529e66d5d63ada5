package manager

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/go-logr/logr"
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

	events := writeEvents(ctx, m.ownCluster, first.report)
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

// addServers puts the servers of the metrics, the probes and the profiles into their group.
func (m *controllerManager) addServers(ctx context.Context) error {
	if m.metrics != nil {
		if err := m.groups.addTo(httpServers, m.metrics); err != nil {
			return err
		}
	}
	servers, err := openServers(ctx, &m.options, probes(&m.options, m.healthz, m.readyz))
	if err != nil {
		return err
	}
	for _, server := range servers {
		if err := m.groups.add(server); err != nil {
			return err
		}
	}
	return nil
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
