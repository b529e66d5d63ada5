package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"

	"github.com/loopwright/loopwright/manager/internal/anyvalue"
)

var (
	// ErrStopped is what Add returns once the manager is stopping or has stopped.
	ErrStopped = errors.New("the manager is stopping or has stopped, and takes no more runnables")
	// errEndedUnready is what callers get that wait for a runnable which has returned.
	errEndedUnready = errors.New("it has ended before it was ready")

	errStartExits = errors.New("its Start ended the goroutine by runtime.Goexit (t.FailNow does so)")
	errReadyExits = errors.New("its WaitUntilReady ended the goroutine by runtime.Goexit (t.FailNow " +
		"does so)")
)

// group runs runnables side by side, whether they were added before its start or later, until it's
// stopped.
type group struct {
	name   groupName
	failed func(error) // called with each error of a runnable, from the runnable's goroutine
	log    logr.Logger // for runnables that are added while the group runs and don't become ready

	mu      sync.Mutex // guards what follows
	waiting []*member  // added before the start
	running []*member
	// launch starts a member with the group's context, which no field stores; nil before the start.
	launch   func(*member)
	end      context.CancelCauseFunc // ends that context; nil before the start
	isClosed bool                    // nothing can be added or started
	isUsed   bool                    // something was added
	// empty is closed once the group is closed and nothing runs: by close, or by the goroutine of
	// the last member to end.
	empty chan struct{}
}

type member struct {
	runnable Runnable
	start    func(context.Context) error // Start, or Warmup
	// ready waits until the member is ready; nil if it's ready as soon as it is started.
	ready  func(context.Context) error
	wait   func(context.Context) error // for ready's answer; set by launch
	isLate bool                        // added while the group runs, so start doesn't wait for it
}

func newGroup(name groupName, log logr.Logger, failed func(error)) *group {
	return &group{name: name, failed: failed, log: log, empty: make(chan struct{})}
}

// add starts the member at once if the group runs.
func (g *group) add(m *member) error {
	if !g.take(m) {
		return fmt.Errorf("%s cannot be added: %w", anyvalue.Name(m.runnable, ""), ErrStopped)
	}
	return nil
}

// take is add without the error's text. Building the text calls the user's String method, which
// must not happen under the lock.
func (g *group) take(m *member) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.isClosed:
		return false
	case g.launch == nil:
		g.waiting = append(g.waiting, m)
	default:
		m.isLate = true
		g.launch(m)
	}
	g.isUsed = true
	return true
}

// start starts the members with a context that has the values of base. It returns when all of them
// are ready. ctx bounds only the waiting.
func (g *group) start(ctx, base context.Context) error {
	first, err := g.open(base)
	if err != nil {
		return err
	}
	for _, m := range first {
		if m.wait == nil {
			continue
		}
		if err := m.wait(ctx); err != nil {
			return fmt.Errorf("%s is not ready: %w", anyvalue.Name(m.runnable, ""), err)
		}
	}
	return nil
}

// open launches the members that were added so far; from now on, add launches members at once.
func (g *group) open(base context.Context) ([]*member, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.isClosed {
		return nil, ErrStopped
	}
	ctx, end := context.WithCancelCause(base)
	g.end = end
	g.launch = func(m *member) { g.launchLocked(ctx, m) }
	first := g.waiting
	g.waiting = nil
	for _, m := range first {
		g.launch(m)
	}
	return first, nil
}

func (g *group) launchLocked(ctx context.Context, m *member) {
	g.running = append(g.running, m)
	// A member that has ended never becomes ready, so its end cancels every wait for it.
	alive, ending := context.WithCancelCause(ctx)
	var asked sync.WaitGroup // for the call of ready, which may not care about its context
	if m.ready != nil {
		answer := make(chan error, 1) // sent once, by the call of ready
		asked.Go(func() {
			err := errReadyExits
			defer func() {
				answer <- err
				if m.isLate && err != nil && alive.Err() == nil {
					g.log.Error(err, anyvalue.Name(m.runnable, "")+" is not ready")
				}
			}()
			err = m.ready(alive)
		})
		m.wait = func(ctx context.Context) error {
			defer context.AfterFunc(ctx, func() { ending(context.Cause(ctx)) })()
			select {
			case err := <-answer:
				return err
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
	go func() {
		err := errStartExits
		defer func() {
			if value := recover(); value != nil {
				panic(value) // what follows may wait, and the process is to crash
			}
			if err != nil {
				err = named(m, err)
				g.failed(err)
				ending(err)
			}
			ending(errEndedUnready)
			asked.Wait()
			g.ended(m)
		}()
		err = m.start(ctx)
	}()
}

// named says which member an error comes from, unless the error already does: a controller names
// itself, because it may run without a manager.
func named(m *member, err error) error {
	name := anyvalue.Name(m.runnable, "")
	if strings.HasPrefix(fmt.Sprint(err), name+": ") { // fmt survives a text that panics
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// ended removes a member.
func (g *group) ended(m *member) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running = slices.DeleteFunc(g.running, func(other *member) bool { return other == m })
	if g.isClosed && len(g.running) == 0 {
		close(g.empty)
	}
}

// close refuses new members. Those that run keep running.
func (g *group) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.isClosed {
		return
	}
	g.isClosed = true
	g.waiting = nil
	if len(g.running) == 0 {
		close(g.empty)
	}
}

// stop cancels the members' context. The group must be closed.
func (g *group) stop(cause error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.end != nil {
		g.end(cause)
	}
}

func (g *group) wasUsed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.isUsed
}

// left returns the names of the members that still run.
func (g *group) left() []string {
	g.mu.Lock()
	running := slices.Clone(g.running)
	g.mu.Unlock()
	var names []string
	for _, m := range running {
		names = append(names, fmt.Sprintf("%s (%s)", anyvalue.Name(m.runnable, ""), g.name))
	}
	return names
}
