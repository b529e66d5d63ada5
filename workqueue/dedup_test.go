package workqueue

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// bench is a dedup on the test bench: keys are letters, and the clock stands until a
// test moves it.
type bench struct {
	t    *testing.T
	d    dedup[string]
	line *notedLine
	now  time.Duration
}

// notedLine is a fifo that notes who is raised. Chapter 9's line moves an item when it
// is told to, and only then.
type notedLine struct {
	fifo[string]
	t      *testing.T
	raised []string
}

func (l *notedLine) raise(e *entry[string], priority int) {
	require.False(l.t, e.processing, "line.raise was called for %q, which a worker holds: it is not in the line, and a line that moves it would lose count", e.item)
	require.Greater(l.t, priority, e.priority, "line.raise is for a higher priority, and looks for %q by its old one: nothing may have changed that before", e.item)
	l.raised = append(l.raised, e.item)
	l.fifo.raise(e, priority)
}

func newBench(t *testing.T) *bench {
	line := &notedLine{t: t}
	return &bench{t: t, d: dedup[string]{line: line}, line: line}
}

func (b *bench) add(items ...string) {
	for _, item := range items {
		b.want(item, 0, Causes{Count: 1})
	}
}

func (b *bench) want(item string, priority int, causes Causes) verdict {
	return b.d.add(b.d.entries.of(item, hashOf(item), ""), priority, causes, b.now)
}

func (b *bench) done(item string) *entry[string] { return b.d.done(item, hashOf(item)) }

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

// heldItems are what workers hold, in the order of the list working.
func (b *bench) heldItems() []string {
	items := []string{}
	for e := b.d.working.first; e != nil && len(items) < 100; e = e.next {
		items = append(items, e.item)
	}
	return items
}

// Function: dedup.add or dedup.take
func TestDedupHandsOutWhatWasAdded(t *testing.T) {
	b := newBench(t)
	require.True(t, b.want("a", 0, Causes{Count: 1}) == queued, "the first add of an item queues it: add answers queued")
	require.Equal(t, "a", b.take("the item was added, and is not ready: no worker will ever see it").item, "the item that was added comes out")
	require.Zero(t, b.d.ready, "the only item was taken, and is ready still: it would be handed out twice")
}

// Function: dedup.add
func TestDedupMakesOnePieceOfWorkOfEqualAdds(t *testing.T) {
	b := newBench(t)
	b.add("a")
	again := b.want("a", 0, Causes{Count: 1})
	require.Equal(t, 1, b.d.ready, "the item waits twice: a storm of updates becomes a storm of work")
	require.True(t, again == merged, "the item waited already: add answers merged")
	require.Equal(t, 2, b.take("the item got lost").causes.Count, "the work answers both adds")
}

// Function: dedup.add or dedup.take
func TestDedupIsFirstInFirstOut(t *testing.T) {
	b := newBench(t)
	b.add("a", "b", "a", "c")
	var order []string
	for range 3 {
		order = append(order, b.take("an item got lost").item)
	}
	require.Equal(t, []string{"a", "b", "c"}, order, "an add of an item that waits does not move it")
}

// Function: dedup.add or dedup.take
func TestDedupGivesNoItemToTwoWorkers(t *testing.T) {
	b := newBench(t)
	b.taken("a")
	verdict := b.want("a", 0, Causes{Count: 1})
	require.Zero(t, b.d.ready, "a worker holds the item, and another could get it: two would write the same object")
	require.True(t, verdict == deferred, "a worker holds the item: add answers deferred, it waits again after Done")
}

// Function: dedup.add or dedup.done
func TestDedupWorksOnceMoreOnWhatWasAddedDuringWork(t *testing.T) {
	b := newBench(t)
	b.taken("a")
	b.add("a", "a")
	require.True(t, b.done("a") != nil, "a worker held the item, so done returns its entry")
	require.Equal(t, "a", b.take("the change that came during the work is lost: the worker may have looked before it").item, "the item is worked on once more")
	require.True(t, b.done("a") != nil, "a worker held the item the second time, too, so done returns its entry")
	require.Zero(t, b.d.ready, "two adds during the work are one more piece of work, not two")
}

// Function: dedup.done
func TestDedupForgetsWhatIsDone(t *testing.T) {
	b := newBench(t)
	b.taken("a")
	b.done("a")
	require.Zero(t, b.d.entries.n, "items that are finished pile up: the queue's memory grows for ever")
	require.True(t, b.d.empty(), "the queue must know that it is empty, or a drain never ends")
}

// Function: dedup.done
func TestDedupIgnoresDoneForWhatNobodyHolds(t *testing.T) {
	b := newBench(t)
	require.True(t, b.done("a") == nil, "nobody has heard of the item: done returns nil")
	b.add("a")
	require.True(t, b.done("a") == nil, "the item waits, and nobody holds it: the caller must be told")
	require.Equal(t, 1, b.d.ready, "a wrong Done must neither remove the item nor put it in twice")
}

// Function: dedup.add
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

// To a fifo a priority is only a number, and chapter 9's line lives by it.
//
// Function: dedup.add
func TestDedupRaisesWhatIsAddedAgainWithAHigherPriority(t *testing.T) {
	b := newBench(t)
	b.want("a", 1, because("first"))
	e := b.d.entries.find("a", hashOf("a"))
	require.Equal(t, 1, e.priority, "the first add brings the priority")
	b.want("a", 5, because("second"))
	require.Equal(t, 5, e.priority, "the item waits, and is added again with a higher priority: it counts")
	require.Equal(t, []string{"a"}, b.line.raised, "the item has a higher priority, and the line was not told: it stays behind all that waited before")
	b.want("a", 5, because("third"))
	b.want("a", 3, because("fourth"))
	require.Equal(t, 5, e.priority, "an add with a lower priority takes nothing back")
	require.Equal(t, []string{"a"}, b.line.raised, "only a higher priority raises an item: who is raised goes to the end of a level")
}

// Function: dedup.add or dedup.done
func TestDedupKeepsTheHighestPriorityOfTheAddsDuringWork(t *testing.T) {
	b := newBench(t)
	e := b.taken("a")
	b.want("a", 1, because("first"))
	b.want("a", 5, because("second"))
	b.want("a", 3, because("third"))
	require.Equal(t, 5, e.priority, "of the adds that came while a worker held the item, the highest priority counts")
	b.done("a")
	require.Equal(t, 5, e.priority, "done puts the item back into the line: the priority belongs to the work that nobody has taken yet")
}

// The time in the queue is what a dashboard shows first.
//
// Function: dedup.add or dedup.take
func TestDedupKnowsSinceWhenAnItemWaitsAndIsHeld(t *testing.T) {
	b := newBench(t)
	b.now = 10
	b.add("a")
	e := b.d.entries.find("a", hashOf("a"))
	require.Equal(t, time.Duration(10), e.since, "an item waits since it was added")
	b.now = 20
	b.add("a")
	require.Equal(t, time.Duration(10), e.since, "an item waits since the first of the adds that were merged, not since the last")
	b.now = 30
	b.take("the item was added, so it is ready")
	require.Equal(t, time.Duration(30), e.taken, "a worker holds the item since it was taken")
	b.now = 40
	b.add("a")
	require.Equal(t, time.Duration(40), e.since, "the add during the work is the first of new work, which waits since then")
}

// The metrics of the work under way are read from these, when somebody asks.
//
// Function: dedup.take or dedup.done
func TestDedupKnowsWhatIsHeldAndForHowLong(t *testing.T) {
	b := newBench(t)
	for i, item := range []string{"a", "b", "c"} {
		b.now = time.Duration(10 + i)
		b.taken(item)
	}
	require.Equal(t, []string{"a", "b", "c"}, b.heldItems(), "working is the list of what workers hold, the longest-held first")
	require.Equal(t, time.Duration(33), b.d.takenSum, "takenSum is the sum of the moments at which the held items were taken")
	b.now = 50
	b.done("b")
	require.Equal(t, []string{"a", "c"}, b.heldItems(), "an item that is done is held no more, and leaves the list working")
	require.Equal(t, time.Duration(22), b.d.takenSum, "who is done takes the moment of its take out of takenSum again")
}

// Chapter 7 may put an item off while a worker holds it.
//
// Function: dedup.done
func TestDedupKeepsTheEntryOfWhatIsPutOff(t *testing.T) {
	b := newBench(t)
	b.taken("a").place = 1
	b.done("a")
	require.Equal(t, 1, b.d.entries.n, "the item has a delay (place is not 0), and its entry is gone: forget asks for that, and remove does not")
}

// model is the queue as one would write it without caring for speed.
type model struct {
	waiting []string
	held    []string
	again   []string // held, and to be worked on once more
}

func (m *model) add(item string) {
	switch {
	case slices.Contains(m.waiting, item), slices.Contains(m.again, item):
	case slices.Contains(m.held, item):
		m.again = append(m.again, item)
	default:
		m.waiting = append(m.waiting, item)
	}
}

func (m *model) take() (item string) {
	item, m.waiting = m.waiting[0], m.waiting[1:]
	m.held = append(m.held, item)
	return item
}

func (m *model) done(item string) bool {
	if !slices.Contains(m.held, item) {
		return false
	}
	is := func(other string) bool { return other == item }
	m.held = slices.DeleteFunc(m.held, is)
	if slices.Contains(m.again, item) {
		m.again = slices.DeleteFunc(m.again, is)
		m.waiting = append(m.waiting, item)
	}
	return true
}

// play does what the script says to both, and compares. Each byte is a step.
func play(t *testing.T, script []byte) {
	b, m := newBench(t), &model{}
	for _, step := range script {
		item := string(rune('a' + step>>2%6))
		switch step % 4 {
		case 0, 1:
			b.add(item)
			m.add(item)
		case 2:
			if len(m.waiting) > 0 {
				require.Equal(t, m.take(), b.take("an item waits, and none is ready").item, "the item that waits longest comes first")
			}
		case 3:
			require.Equal(t, m.done(item), b.done(item) != nil, "done(%s) tells whether a worker held the item", item)
		}
		require.Equal(t, len(m.waiting), b.d.ready, "ready counts what is dirty and not processing")
		require.Equal(t, len(m.held), b.d.held, "held counts what is processing")
		require.Equal(t, len(m.waiting)+len(m.held), b.d.entries.n, "there is an entry for what waits or is held, and for nothing else")
		for _, item := range m.held {
			require.Equal(t, slices.Contains(m.again, item), b.d.entries.find(item, hashOf(item)).dirty, "%s is held, and is dirty if it was added since", item)
		}
	}
}

// Function: dedup.add or dedup.done
func TestDedupDoesWhatTheModelDoes(t *testing.T) {
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 6))
		script := make([]byte, random.IntN(60))
		for i := range script {
			script[i] = byte(random.Uint32())
		}
		play(t, script)
	}
}

func FuzzDedup(f *testing.F) {
	f.Add([]byte{0, 2, 0, 3})          // add, take, add, done: once more
	f.Add([]byte{0, 4, 0, 2, 3, 7, 2}) // two items, and a done of what waits
	f.Add([]byte{0, 2, 0, 0, 3, 2, 3, 3})
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) < 500 {
			play(t, script)
		}
	})
}
