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
	t      *testing.T
	lists  map[int]*fifo[string]
	at     map[*entry[string]]int // the priority with which an entry was pushed
	raised []string
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
	o.raised = append(o.raised, e.item)
	o.remove(e)
	e.priority = priority
	o.push(e)
}

func newBench(t *testing.T) *bench {
	order := newPriorityOrder(t)
	return &bench{t: t, d: newDedup[string](order), order: order}
}

func (b *bench) add(items ...string) {
	for _, item := range items {
		b.want(item, 0, Causes{Count: 1})
	}
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

// taken adds an item, and has a worker take it.
func (b *bench) taken(item string) *entry[string] {
	b.t.Helper()
	b.add(item)
	return b.take("the item was added, and nobody else holds it, so it is ready")
}

func TestDedupHandsOutWhatWasAdded(t *testing.T) {
	b := newBench(t)
	require.True(t, b.want("a", 0, Causes{Count: 1}) == queued, "the first add of an item queues it: add answers queued")
	e := b.take("the item was added, and is not ready: no worker will ever see it")
	require.Equal(t, "a", e.item, "the item that was added comes out")
	require.Zero(t, b.d.ready, "the only item was taken, and is ready still: it would be handed out twice")
	require.Same(t, e, b.d.processing["a"], "a worker holds the item, so it is processing")
	require.Empty(t, b.d.dirty, "a worker has taken the work, so the item is not dirty until it is added again")
}

func TestDedupMakesOnePieceOfWorkOfEqualAdds(t *testing.T) {
	b := newBench(t)
	b.want("a", 0, because("first"))
	again := b.want("a", 0, because("second"))
	require.Equal(t, 1, b.d.ready, "the item waits twice: a storm of updates becomes a storm of work")
	require.True(t, again == merged, "the item waited already: add answers merged")
	e := b.take("the item got lost")
	require.Equal(t, []string{"first", "second"}, e.causes.Reasons(), "the work answers both adds, and has the reasons of both")
	require.Equal(t, 2, e.causes.Count, "the work answers both adds")
}

func TestDedupIsFirstInFirstOut(t *testing.T) {
	b := newBench(t)
	b.add("a", "b", "a", "c")
	var order []string
	for range 3 {
		order = append(order, b.take("an item got lost").item)
	}
	require.Equal(t, []string{"a", "b", "c"}, order, "an add of an item that waits does not move it")
}

func TestDedupGivesNoItemToTwoWorkers(t *testing.T) {
	b := newBench(t)
	b.taken("a")
	verdict := b.want("a", 0, Causes{Count: 1})
	require.Zero(t, len(b.order.at), "a worker holds the item, and another could get it: two would write the same object")
	require.Zero(t, b.d.ready, "a worker holds the item, so it is not ready: a worker that is woken for it finds nothing")
	require.True(t, verdict == deferred, "a worker holds the item: add answers deferred, it waits again after Done")
}

func TestDedupWorksOnceMoreOnWhatWasAddedDuringWork(t *testing.T) {
	b := newBench(t)
	b.taken("a")
	b.add("a", "a")
	e := b.done("a")
	require.True(t, e != nil, "a worker held the item, so done returns its entry")
	require.Len(t, b.order.at, 1, "the item was added while a worker held it, and is not pushed when that worker is done: the worker may have looked before the change")
	require.Contains(t, b.d.dirty, "a", "the item waits for its next worker, so it is dirty: or else the next add would push it a second time")
	require.Empty(t, b.d.processing, "no worker holds the item now, so it is not processing")
	require.Equal(t, "a", b.take("the change that came during the work is lost: the worker may have looked before it").item, "the item is worked on once more")
	require.True(t, b.done("a") != nil, "a worker held the item the second time, too, so done returns its entry")
	require.Zero(t, b.d.ready, "two adds during the work are one more piece of work, not two")
}

func TestDedupForgetsWhatIsDone(t *testing.T) {
	b := newBench(t)
	b.want("a", 0, because("changed"))
	b.take("the item was added, so it is ready")
	b.done("a")
	require.Empty(t, len(b.d.dirty)+len(b.d.processing), "items that are finished pile up: the queue's memory grows forever")
	require.True(t, b.d.empty(), "the queue must know that it is empty, or a drain never ends")
}

func TestDedupIgnoresDoneForWhatNobodyHolds(t *testing.T) {
	b := newBench(t)
	require.True(t, b.done("a") == nil, "nobody has heard of the item: done returns nil")
	b.add("a")
	require.True(t, b.done("a") == nil, "the item waits, and nobody holds it: the caller must be told")
	require.Equal(t, 1, b.d.ready, "a wrong Done must neither remove the item nor put it in twice")
}

func TestDedupCountsCausesSinceTheLastTake(t *testing.T) {
	b := newBench(t)
	b.want("a", 7, because("old"))
	b.take("the item was added, so it is ready")
	b.want("a", 0, because("new"))
	b.done("a")
	e := b.take("the item was added during the work, so it is ready again")
	require.Equal(t, []string{"new"}, e.causes.Reasons(), "the old reason was answered by the work before")
	require.Zero(t, e.priority, "the old priority was answered by the work before")
}

func TestDedupKeepsAllCausesOfTheAddsDuringWork(t *testing.T) {
	b := newBench(t)
	b.taken("a")
	require.True(t, b.want("a", 0, because("first")) == deferred, "the first add while a worker holds the item: add answers deferred")
	require.True(t, b.want("a", 0, because("second")) == merged, "the second add while a worker holds the item joins the first: add answers merged")
	require.Equal(t, []string{"first", "second"}, b.d.dirty["a"].causes.Reasons(), "the next piece of work answers all adds that came while a worker held the item")
	b.done("a")
	require.Equal(t, 2, b.take("the item was added while a worker held it, so it is ready again").causes.Count, "the next piece of work answers two adds")
}

// To a fifo a priority is only a number, and the order by priority lives by it.
func TestDedupRaisesWhatIsAddedAgainWithAHigherPriority(t *testing.T) {
	b := newBench(t)
	b.want("a", 1, because("first"))
	e := b.d.dirty["a"]
	require.Equal(t, 1, e.priority, "the first add brings the priority")
	b.want("a", 5, because("second"))
	require.Equal(t, 5, e.priority, "the item waits, and is added again with a higher priority: it counts")
	require.Equal(t, []string{"a"}, b.order.raised, "the item has a higher priority, and the order was not told: it stays behind all that waited before")
	b.want("a", 5, because("third"))
	b.want("a", 3, because("fourth"))
	require.Equal(t, 5, e.priority, "an add with a lower priority takes nothing back")
	require.Equal(t, []string{"a"}, b.order.raised, "only a higher priority raises an item: an item that is raised goes to the end of a level")
}

func TestDedupKeepsTheHighestPriorityOfTheAddsDuringWork(t *testing.T) {
	b := newBench(t)
	b.taken("a")
	b.want("a", 1, because("first"))
	b.want("a", 5, because("second"))
	b.want("a", 3, because("third"))
	e := b.d.dirty["a"]
	require.Equal(t, 5, e.priority, "of the adds that came while a worker held the item, the highest priority counts")
	b.done("a")
	require.Equal(t, 5, e.priority, "done puts the item back into the order: the priority belongs to the work that nobody has taken yet")
}

// The time in the queue is what a dashboard shows first.
func TestDedupKnowsSinceWhenAnItemWaitsAndIsHeld(t *testing.T) {
	b := newBench(t)
	b.now = 10
	b.add("a")
	e := b.d.dirty["a"]
	require.Equal(t, time.Duration(10), e.since, "an item waits since it was added")
	b.now = 20
	b.add("a")
	require.Equal(t, time.Duration(10), e.since, "an item waits since the first of the adds that were merged, not since the last")
	b.now = 30
	b.take("the item was added, so it is ready")
	require.Equal(t, time.Duration(30), e.taken, "a worker holds the item since it was taken")
	b.now = 40
	b.add("a")
	require.Equal(t, time.Duration(40), b.d.dirty["a"].since, "the add during the work is the first of new work, which waits since then")
}

// The order by priority has the item in its group's lane, and looks for it there. So the group
// may not change while the item waits, even if the user's function changes its mind.
func TestDedupKeepsTheGroupOfAnItemThatWaits(t *testing.T) {
	b := newBench(t)
	b.d.add("a", "one", 0, Causes{Count: 1}, 0)
	b.d.add("a", "two", 0, Causes{Count: 1}, 0)
	require.Equal(t, "one", b.take("the item was added, so it is ready").group, "an item that waits stays in its group")
}
