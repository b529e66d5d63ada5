package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/go-logr/logr"

	"github.com/loopwright/loopwright/manager/internal/anyvalue"
)

var (
	// ErrStopped is the answer of Add when the manager stops or has stopped.
	ErrStopped = errors.New("the manager is stopping or has stopped, and takes no more runnables")
	// errEndedUnready is why nobody waits for a runnable any more.
	errEndedUnready = errors.New("it has ended before it was ready")
)

// group runs runnables next to each other: those that were added before its start, and those
// that come later, until it is told to end.
type group struct {
	name   groupName
	failed func(error) // called with each error of a runnable, from the runnable's goroutine
	log    logr.Logger // of runnables that were added while the group runs, and do not become ready

	mu      sync.Mutex // guards what follows
	waiting []*member  // added before the start
	running []*member
	// launch starts a member with the group's context, which is stored nowhere; nil before the start.
	launch   func(*member)
	end      context.CancelCauseFunc // ends that context; nil before the start
	isClosed bool                    // nothing can be added or started
	isUsed   bool                    // something was added
	// empty is closed when the group is closed and nothing runs: by close, or by the goroutine of
	// the member that ends last.
	empty chan struct{}
}

// member is a runnable in its group.
type member struct {
	runnable Runnable
	start    func(context.Context) error // Start, or Warmup
	ready    func(context.Context) error // waits until it is ready; nil if it is as soon as it is started
	wait     func(context.Context) error // calls ready with a context that ends with the member; set by launch
	isLate   bool                        // added while the group runs, so that no start waits for it
}

func newGroup(name groupName, log logr.Logger, failed func(error)) *group {
	return &group{name: name, failed: failed, log: log, empty: make(chan struct{})}
}

// add starts a member at once if the group runs.
func (g *group) add(m *member) error {
	if !g.take(m) {
		return fmt.Errorf("%s cannot be added: %w", anyvalue.Name(m.runnable, ""), ErrStopped)
	}
	return nil
}

// take is add without the error's text: the name of a runnable is the user's code, and no business of the lock.
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

// start starts what was added, with the values of base in its context, and returns when all of it
// is ready. ctx bounds only the waiting.
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

// open launches what was added, and from now on whatever is.
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
	// A member that has ended never becomes ready, and who waits for it must hear so.
	alive, ending := context.WithCancelCause(ctx)
	if m.ready != nil {
		m.wait = func(ctx context.Context) error {
			defer context.AfterFunc(ctx, func() { ending(context.Cause(ctx)) })()
			return m.ready(alive)
		}
	}
	var late sync.WaitGroup
	if m.isLate && m.ready != nil {
		late.Go(func() {
			if err := m.ready(alive); err != nil && alive.Err() == nil {
				g.log.Error(err, anyvalue.Name(m.runnable, "")+" is not ready")
			}
		})
	}
	go func() {
		err := m.start(ctx)
		if err != nil {
			err = fmt.Errorf("%s: %w", anyvalue.Name(m.runnable, ""), err)
			g.failed(err)
			ending(err)
		}
		ending(errEndedUnready)
		late.Wait()
		g.ended(m)
	}()
}

// ended takes a member out.
func (g *group) ended(m *member) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running = slices.DeleteFunc(g.running, func(other *member) bool { return other == m })
	if g.isClosed && len(g.running) == 0 {
		close(g.empty)
	}
}

// close lets nothing in any more. What runs goes on.
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

// stop tells what runs to end. The group must be closed.
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

// left are the names of what runs, for somebody who waits for its end.
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
