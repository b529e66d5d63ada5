package workqueue

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// bench is a dedup on the test bench: keys are letters, and the clock stops until a
// test moves it.
type bench struct {
	t     *testing.T
	d     dedup[string]
	order *priorityOrder
	now   time.Duration
}

// priorityOrder is the plainest order that lives by priorities: a list for each. It insists
// on what readyOrder promises to the order by priority.
type priorityOrder struct {
	t     *testing.T
	lists map[int]*fifo[string]
	at    map[*entry[string]]int // the priority with which an entry was pushed
}

func newPriorityOrder(t *testing.T) *priorityOrder {
	return &priorityOrder{t: t, lists: map[int]*fifo[string]{}, at: map[*entry[string]]int{}}
}

func (o *priorityOrder) push(e *entry[string]) {
	_, isReady := o.at[e]
	require.False(o.t, isReady, "order.push was called for %q, which is ready already", e.item)
	o.at[e] = e.priority
	if o.lists[e.priority] == nil {
		o.lists[e.priority] = &fifo[string]{}
	}
	o.lists[e.priority].push(e)
}

func (o *priorityOrder) pop() *entry[string] {
	require.NotEmpty(o.t, o.at, "order.pop was called, and no entry is ready: order.push must be called for each of those that ready counts")
	e := o.lists[slices.Max(slices.Collect(maps.Values(o.at)))].first
	o.remove(e)
	return e
}

func (o *priorityOrder) remove(e *entry[string]) {
	require.Equal(o.t, o.at[e], e.priority, "the priority of %q was changed while it was ready, and order was not told, or only afterwards: it looks for the entry in the wrong place now", e.item)
	o.lists[o.at[e]].remove(e)
	delete(o.at, e)
}

func (o *priorityOrder) raise(e *entry[string], priority int) {
	require.Contains(o.t, o.at, e, "order.raise was called for %q, which a worker holds: it is not ready, and an order that moves it would lose count", e.item)
	require.Greater(o.t, priority, e.priority, "order.raise is for a higher priority, and looks for %q by its old one: nothing may have changed that before", e.item)
	o.remove(e)
	e.priority = priority
	o.push(e)
}

func newBench(t *testing.T) *bench {
	order := newPriorityOrder(t)
	return &bench{t: t, d: newDedup[string](order), order: order}
}

func (b *bench) want(item string, priority int, causes Causes) verdict {
	return b.d.add(item, "group", priority, causes, b.now)
}

func (b *bench) done(item string) *entry[string] { return b.d.done(item) }

// take hands out the next item; without one that is ready the test fails.
func (b *bench) take(message string) *entry[string] {
	b.t.Helper()
	require.Positive(b.t, b.d.ready, message)
	e := b.d.take(b.now)
	require.True(b.t, e != nil, message)
	return e
}

// The order by priority has the item in its group's lane, and looks for it there. So the group
// may not change while the item waits, even if the user's function changes its mind.
func TestDedupKeepsTheGroupOfAnItemThatWaits(t *testing.T) {
	b := newBench(t)
	b.d.add("a", "one", 0, Causes{Count: 1}, 0)
	b.d.add("a", "two", 0, Causes{Count: 1}, 0)
	require.Equal(t, "one", b.take("the item was added, so it is ready").group, "an item that waits stays in its group")
}
