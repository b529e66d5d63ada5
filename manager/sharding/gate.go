package sharding

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
)

// ErrNotOurs is the cause with which the contexts of reconciles end whose range isn't this
// replica's any more.
var ErrNotOurs = errors.New("another replica may have this shard")

// Gate lets reconciles begin in this replica's ranges, and knows which haven't ended. Any goroutine
// may use it.
type Gate struct {
	late func() bool // asked before anything may begin: is it too late by the clock?

	mu       sync.Mutex // guards what follows
	mine     Set        // may be opened
	open     Set
	stopping Set             // closed, and not yet reported as ended
	inside   map[*entry]bool // have entered and not left
	ended    func(Set)       // told about ranges of stopping in which nobody is inside any more
	closed   bool
	onOpen   map[*func(func(string) bool)]bool // the keys are called when ranges are opened
	once     sync.Once
	empty    chan struct{} // closed when the gate is closed and nobody is inside
}

// entry is one reconcile.
type entry struct {
	number uint64 // of its namespace
	cancel context.CancelCauseFunc
}

func newGate(ended func(Set)) *Gate {
	return &Gate{
		late: func() bool { return false }, inside: map[*entry]bool{}, ended: ended, empty: make(chan struct{}),
		onOpen: map[*func(func(string) bool)]bool{},
	}
}

// Enter asks whether work on an object of a namespace may begin. If so, the work's context ends with
// ctx or when it has to be cut off, and the caller calls leave when it has ended.
func (g *Gate) Enter(ctx context.Context, namespace string) (working context.Context, leave func(), ok bool) {
	number := hashOf(namespace)
	if g.late() {
		return nil, nil, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.open.has(number) {
		return nil, nil, false
	}
	working, cancel := context.WithCancelCause(ctx)
	e := &entry{number, cancel}
	g.inside[e] = true
	return working, func() {
		cancel(nil)
		g.leave(e)
	}, true
}

// OnOpen calls f whenever work may begin in ranges where it might not before. f must return at once.
// Call forget when f should no longer be called; a call that has begun may go on.
func (g *Gate) OnOpen(f func(opened func(namespace string) bool)) (forget func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.onOpen[&f] = true
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.onOpen, &f)
	}
}

// tell calls those who want to know what was opened.
func (g *Gate) tell(opened Set) {
	g.mu.Lock()
	calls := slices.Collect(maps.Keys(g.onOpen))
	g.mu.Unlock()
	for _, f := range calls {
		(*f)(opened.Has)
	}
}

func (g *Gate) leave(e *entry) {
	g.mu.Lock()
	delete(g.inside, e)
	ended := g.reportLocked()
	g.mu.Unlock()
	if !ended.IsEmpty() {
		g.ended(ended)
	}
}

// reportLocked returns the ranges of stopping that have become empty, and signals to wait.
func (g *Gate) reportLocked() (ended Set) {
	if g.closed && len(g.inside) == 0 {
		g.once.Do(func() { close(g.empty) })
	}
	for _, r := range g.stopping {
		if len(g.insideLocked(Set{r})) == 0 {
			ended = append(ended, r)
		}
	}
	g.stopping = g.stopping.without(ended)
	return ended
}

func (g *Gate) insideLocked(ranges Set) (all []*entry) {
	for e := range g.inside {
		if ranges.has(e.number) {
			all = append(all, e)
		}
	}
	return all
}

// allow says that ranges may be opened, as soon as the caches keep their objects.
func (g *Gate) allow(ranges Set) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mine = g.mine.or(ranges)
}

// begin opens all ranges that may be opened, and returns those that were closed.
func (g *Gate) begin() (opened Set) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil
	}
	opened = g.mine.without(g.open)
	g.open = g.mine
	return opened
}

// stop closes ranges, and returns those in which nobody is. The others are reported to ended.
func (g *Gate) stop(ranges Set) (empty Set) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mine, g.open = g.mine.without(ranges), g.open.without(ranges)
	g.stopping = g.stopping.or(ranges)
	return g.reportLocked()
}

// terminator returns a function that ends the contexts of those who are inside some ranges now, if
// they still are.
func (g *Gate) terminator(ranges Set) func() {
	g.mu.Lock()
	defer g.mu.Unlock()
	late := g.insideLocked(ranges)
	return func() {
		for _, e := range late {
			e.cancel(ErrNotOurs)
		}
	}
}

// close closes all ranges at once, and ends the contexts of those who are inside.
func (g *Gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open, g.closed = nil, true
	for e := range g.inside {
		e.cancel(ErrNotOurs)
	}
	g.reportLocked()
}

// wait returns when nobody is inside any more, after close.
func (g *Gate) wait() { <-g.empty }

// Open returns the ranges in which work may begin.
func (g *Gate) Open() Set {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open
}
