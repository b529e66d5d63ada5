package sharding

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

// keeper makes the caches keep the ranges that the replica holds, and opens the gate to them. It has
// a goroutine of its own, because a list may take long, and whoever waits for it doesn't see that
// ranges change hands.
type keeper struct {
	news chan struct{} // sent to by set, received by keep; one, because ranges has what is new

	mu     sync.Mutex // guards what follows
	ranges Set
	left   Set                // what has left since the last call of Keep, even if it's back
	change int                // counts the calls of set
	cut    context.CancelFunc // of the call of Keep that's under way
}

// set says which ranges to keep, and which of them the gate may open as soon as they are kept. A
// range is kept until the last reconcile there has ended.
func (k *keeper) set(ranges, begin Set, gate *Gate) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if slices.Equal(k.ranges, ranges) && begin.IsEmpty() {
		return
	}
	gate.allow(begin)
	k.left = k.left.or(k.ranges.without(ranges)).or(k.ranges.and(begin))
	k.ranges = ranges
	k.change++
	if k.cut != nil {
		k.cut()
	}
	select {
	case k.news <- struct{}{}:
	default:
	}
}

// begin returns the ranges to keep, what has left, and a context for that.
func (k *keeper) begin(ctx context.Context) (until context.Context, ranges, left Set, change int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	until, k.cut = context.WithCancel(ctx)
	left, k.left = k.left, nil
	return until, k.ranges, left, k.change
}

// open opens the gate, unless the ranges have changed since: a range that was lost and is held again
// has to be listed again, because another replica may have written there meanwhile.
func (k *keeper) open(gate *Gate, change int) (opened Set) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cut()
	if k.change != change {
		return nil
	}
	return gate.begin()
}

// inTurn is what a cache has to keep so that what has left leaves it, even if it belongs to the ranges:
// another replica may have written there meanwhile, or it comes along because a selector is rough.
func inTurn(ranges, left Set) []Set {
	if ranges.and(left).IsEmpty() {
		return []Set{ranges}
	}
	return []Set{ranges.without(left), ranges}
}

// keep runs until the context ends.
func (m *Member) keep(ctx context.Context, log logr.Logger) {
	var again <-chan time.Time
	for {
		select {
		case <-m.keeper.news:
		case <-again:
		case <-ctx.Done():
			return
		}
		again = nil
		until, ranges, left, change := m.keeper.begin(ctx)
		var err error
		if m.config.Keep != nil {
			err = m.config.Keep(until, inTurn(ranges.roughly(), left))
		}
		switch {
		case err == nil:
			if opened := m.keeper.open(m.gate, change); !opened.IsEmpty() {
				m.diary.works("begins", opened)
				m.gate.tell(opened)
			}
		case until.Err() == nil:
			log.Error(err, "The caches don't have the objects of this replica's ranges yet")
			again = time.After(m.config.RetryPeriod)
		}
	}
}
