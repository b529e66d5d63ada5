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
	mu     sync.Mutex // guards what follows
	mine   Set        // may be opened
	open   Set
	inside []int // how many have entered and not left, for each range
	terms  []term
	total  int
	ended  func(Set) // told when the last one has left a range that's closed
	closed bool
	onOpen map[*func(func(string) bool)]bool // the keys are called when ranges are opened
	once   sync.Once
	empty  chan struct{} // closed when the gate is closed and nobody is inside
}

// term is the time for which a range is ours.
type term struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
}

func newGate(count int, ended func(Set)) *Gate {
	return &Gate{
		mine: make(Set, count), open: make(Set, count), inside: make([]int, count),
		terms: make([]term, count), ended: ended, empty: make(chan struct{}),
		onOpen: map[*func(func(string) bool)]bool{},
	}
}

// Enter asks whether work on an object of a namespace may begin. If so, the work's context ends with
// ctx or when it has to be cut off, and the caller calls leave when it has ended.
func (g *Gate) Enter(ctx context.Context, namespace string) (working context.Context, leave func(), ok bool) {
	r := rangeOf(namespace, len(g.open))
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.open[r] {
		return nil, nil, false
	}
	g.inside[r]++
	g.total++
	working, cancel := context.WithCancelCause(ctx)
	term := g.terms[r].ctx
	forget := context.AfterFunc(term, func() { cancel(context.Cause(term)) })
	return working, func() {
		forget()
		cancel(nil)
		g.leave(r)
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

func (g *Gate) leave(r int) {
	g.mu.Lock()
	g.inside[r]--
	g.total--
	g.signal()
	last := g.inside[r] == 0 && !g.open[r]
	g.mu.Unlock()
	if last {
		one := make(Set, len(g.open))
		one[r] = true
		g.ended(one)
	}
}

// allow says that ranges may be opened, as soon as the caches keep their objects.
func (g *Gate) allow(ranges Set) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mine = with(g.mine, ranges, true)
}

// begin opens all ranges that may be opened, and returns those that were closed.
func (g *Gate) begin() (opened Set) {
	g.mu.Lock()
	defer g.mu.Unlock()
	opened = make(Set, len(g.open))
	if g.closed {
		return opened
	}
	for r, is := range g.mine {
		if is && !g.open[r] {
			g.open[r], opened[r] = true, true
			ctx, cancel := context.WithCancelCause(context.Background())
			g.terms[r] = term{ctx, cancel}
		}
	}
	return opened
}

// stop closes ranges, and returns those in which nobody is.
func (g *Gate) stop(ranges Set) (empty Set) {
	g.mu.Lock()
	defer g.mu.Unlock()
	empty = make(Set, len(ranges))
	for r, is := range ranges {
		if is {
			g.mine[r], g.open[r] = false, false
			empty[r] = g.inside[r] == 0
		}
	}
	return empty
}

// terminator returns a function that ends the contexts of those who are inside some ranges now, if
// they still are.
func (g *Gate) terminator(ranges Set) func() {
	g.mu.Lock()
	defer g.mu.Unlock()
	var ends []context.CancelCauseFunc
	for r, is := range ranges {
		if is && g.terms[r].cancel != nil {
			ends = append(ends, g.terms[r].cancel)
		}
	}
	return func() {
		for _, end := range ends {
			end(ErrNotOurs)
		}
	}
}

// close closes all ranges at once, and ends the contexts of those who are inside.
func (g *Gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for r := range g.open {
		g.open[r] = false
		if g.terms[r].cancel != nil {
			g.terms[r].cancel(ErrNotOurs)
		}
	}
	g.closed = true
	g.signal()
}

// wait returns when nobody is inside any more, after close.
func (g *Gate) wait() { <-g.empty }

// signal tells wait. The caller holds the lock.
func (g *Gate) signal() {
	if g.closed && g.total == 0 {
		g.once.Do(func() { close(g.empty) })
	}
}

// Open returns the ranges in which work may begin.
func (g *Gate) Open() Set {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append(Set(nil), g.open...)
}
