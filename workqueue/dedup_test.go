package workqueue

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// bench is a dedup on the test bench: keys are letters.
type bench struct {
	t *testing.T
	d dedup[string]
}

func newBench(t *testing.T) *bench {
	return &bench{t: t, d: dedup[string]{line: &fifo[string]{}}}
}

func (b *bench) add(items ...string) {
	for _, item := range items {
		b.want(item, 0, Causes{Count: 1})
	}
}

func (b *bench) want(item string, priority int, causes Causes) verdict {
	return b.d.add(b.d.entries.of(item, hashOf(item), ""), priority, causes, 0)
}

func (b *bench) done(item string) *entry[string] { return b.d.done(item, hashOf(item)) }

// take hands out the next item; without one that is ready the test fails.
func (b *bench) take(message string) *entry[string] {
	b.t.Helper()
	require.Positive(b.t, b.d.ready, message)
	e := b.d.take(0)
	require.NotNil(b.t, e, message)
	return e
}

func TestDedupHandsOutWhatWasAdded(t *testing.T) {
	b := newBench(t)
	require.True(t, b.want("a", 0, Causes{Count: 1}) == queued, "the first add of an item queues it, and add says so")
	require.Equal(t, "a", b.take("the item was added, and is not ready: no worker will ever see it").item)
	require.Zero(t, b.d.ready)
}

func TestDedupMakesOnePieceOfWorkOfEqualAdds(t *testing.T) {
	b := newBench(t)
	b.add("a")
	again := b.want("a", 0, Causes{Count: 1})
	require.Equal(t, 1, b.d.ready, "the item waits twice: a storm of updates becomes a storm of work")
	require.True(t, again == merged, "add must say that the item waited already")
	require.Equal(t, 2, b.take("the item got lost").causes.Count, "the work answers both adds")
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
	b.add("a")
	b.take("")
	verdict := b.want("a", 0, Causes{Count: 1})
	require.Zero(t, b.d.ready, "a worker holds the item, and another could get it: two would write the same object")
	require.True(t, verdict == deferred, "add must say that the item waits for Done")
}

func TestDedupWorksOnceMoreOnWhatWasAddedDuringWork(t *testing.T) {
	b := newBench(t)
	b.add("a")
	b.take("")
	b.add("a", "a")
	require.NotNil(t, b.done("a"), "a worker held it")
	require.Equal(t, "a", b.take("the change that came during the work is lost: the worker may have looked before it").item)
	require.NotNil(t, b.done("a"))
	require.Zero(t, b.d.ready, "two adds during the work are one more piece of work, not two")
}

func TestDedupForgetsWhatIsDone(t *testing.T) {
	b := newBench(t)
	b.add("a")
	b.take("")
	b.done("a")
	require.Zero(t, b.d.entries.n, "items that are finished pile up: the queue's memory grows for ever")
	require.True(t, b.d.empty(), "the queue must know that it is empty, or a drain never ends")
}

func TestDedupIgnoresDoneForWhatNobodyHolds(t *testing.T) {
	b := newBench(t)
	require.Nil(t, b.done("a"), "nobody has heard of the item")
	b.add("a")
	require.True(t, b.done("a") == nil, "the item waits, and nobody holds it: the caller must be told")
	require.Equal(t, 1, b.d.ready, "a wrong Done must neither remove the item nor put it in twice")
}

func TestDedupCountsCausesSinceTheLastTake(t *testing.T) {
	b := newBench(t)
	b.want("a", 7, because("old"))
	b.take("")
	b.want("a", 0, because("new"))
	b.done("a")
	e := b.take("")
	require.Equal(t, []string{"new"}, e.causes.Reasons(), "the old reason was answered by the work before")
	require.Zero(t, e.priority, "so was the old priority")
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
				require.Equal(t, m.take(), b.take("the model has an item ready").item)
			}
		case 3:
			require.Equal(t, m.done(item), b.done(item) != nil, "done(%s)", item)
		}
		require.Equal(t, len(m.waiting), b.d.ready)
		require.Equal(t, len(m.held), b.d.held)
		require.Equal(t, len(m.waiting)+len(m.held), b.d.entries.n)
		for _, item := range m.held {
			require.Equal(t, slices.Contains(m.again, item), b.d.entries.find(item, hashOf(item)).dirty)
		}
	}
}

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
