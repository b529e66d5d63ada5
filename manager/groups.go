package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/loopwright/loopwright/trace"
)

// groups are a manager's runnables. group_order.go decides which group starts or stops next; this
// file does it.
type groups struct {
	all         [groupCount]*group
	syncTimeout time.Duration // how long a cache may take to list; 0 waits forever

	recorder *trace.Recorder

	mu     sync.Mutex // guards what follows
	phases phases
	failed func(error) // receives the errors of runnables; see onFailure
}

func newGroups(log logr.Logger, syncTimeout time.Duration, recorder *trace.Recorder) *groups {
	g := &groups{syncTimeout: syncTimeout, recorder: recorder}
	g.failed = func(err error) { logFailure(log, err) }
	for name := range groupName(groupCount) {
		g.all[name] = newGroup(name, log, func(err error) {
			g.mu.Lock()
			failed := g.failed
			g.mu.Unlock()
			failed(err)
		})
	}
	return g
}

// logFailure logs an error that arrives after the manager has begun to stop.
func logFailure(log logr.Logger, err error) {
	if !errors.Is(err, context.Canceled) { // many runnables return this when they are cancelled
		log.Error(err, "A runnable failed while the manager was stopping")
	}
}

// onFailure sets the function that receives the errors of runnables from now on.
func (g *groups) onFailure(failed func(error)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.failed = failed
}

// add puts a runnable into its group, and starts it if the group runs.
func (g *groups) add(r Runnable) error {
	if r == nil {
		return errors.New("a manager cannot start a runnable that is nil")
	}
	for _, place := range placesOf(r, g.syncTimeout) {
		if err := g.all[place.group].add(place.member); err != nil {
			return err
		}
	}
	return nil
}

// addTo is add for a runnable whose group the manager knows.
func (g *groups) addTo(group groupName, r Runnable) error {
	return g.all[group].add(&member{runnable: r, start: r.Start})
}

// start starts the groups one after another, each when those before it are ready. Without leads, it
// leaves out the last group; another call starts that one after this call has returned. A call that
// finds a group that is already starting leaves it, and those after it, to the other call. ctx
// bounds the waiting; runnables find base's values in their contexts.
func (g *groups) start(ctx, base context.Context, leads bool) error {
	for {
		name, found := g.nextToStart(leads)
		if !found {
			return nil
		}
		if err := g.all[name].start(ctx, base); err != nil {
			return fmt.Errorf("starting %s: %w", name, err)
		}
		g.reached(name, ready)
	}
}

func (g *groups) nextToStart(leads bool) (groupName, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	name, found := g.phases.toStart(leads)
	if found {
		g.setLocked(name, starting)
	}
	return name, found
}

// reached may be called with an outdated phase: a group may be stopped while it starts.
func (g *groups) reached(name groupName, phase groupPhase) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if phase > g.phases[name] {
		g.setLocked(name, phase)
	}
}

// setLocked is the only place where a phase changes. It reports the change to the flight recorder,
// except for groups that never had a runnable.
func (g *groups) setLocked(name groupName, phase groupPhase) {
	g.phases[name] = phase
	if !g.recorder.On() || !g.all[name].wasUsed() {
		return
	}
	kind := trace.Start
	if phase >= stopping {
		kind = trace.Stop
	}
	g.recorder.Record(trace.Event{
		Kind: kind, Layer: "manager", Name: name.String(), Op: phase.String(),
	})
}

// stop stops the groups in order, and returns when all have ended. From now on, add refuses. If ctx
// ends first, stop cancels all groups at once and returns an error with the names of the runnables
// that were still running. Call it only once.
func (g *groups) stop(ctx context.Context, cause error) error {
	// Received here, sent once by a goroutine per group. The channel has room for all, so no send
	// blocks.
	news := make(chan groupName, groupCount)
	for name, group := range g.all {
		group.close()
		go func() {
			<-group.empty
			news <- groupName(name)
		}()
	}
	for !g.areEnded() {
		for name, found := g.nextToStop(); found; name, found = g.nextToStop() {
			g.all[name].stop(cause)
		}
		select {
		case name := <-news:
			g.reached(name, ended)
		case <-ctx.Done():
			return g.abandon(cause)
		}
	}
	return nil
}

func (g *groups) nextToStop() (groupName, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	name, found := g.phases.toStop()
	if found {
		g.setLocked(name, stopping)
	}
	return name, found
}

// stopElected is for a lost lease. It cancels the leader-only runnables at once, and returns when
// they have all ended.
func (g *groups) stopElected(cause error) {
	g.all[elected].close()
	g.reached(elected, stopping)
	g.all[elected].stop(cause)
	<-g.all[elected].empty
}

func (g *groups) areEnded() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.phases.areEnded()
}

// abandon cancels the remaining groups. It collects the names first, because a runnable that
// returns only when it's abandoned didn't end in time either.
func (g *groups) abandon(cause error) error {
	var left []string
	for _, group := range slices.Backward(g.all[:]) {
		left = append(left, group.left()...)
	}
	for _, group := range g.all {
		group.stop(cause)
	}
	if len(left) == 0 {
		return nil
	}
	return fmt.Errorf("still running: %s", strings.Join(left, ", "))
}
