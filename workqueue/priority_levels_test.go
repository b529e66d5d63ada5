package workqueue

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// newEntry makes an entry that is in no order.
func newEntry[T comparable](item T, group string, priority int) *entry[T] {
	return &entry[T]{item: item, group: group, priority: priority}
}

// ranked makes an entry that waits in the levels, without a group.
func ranked(l *priorityLevels[string], item string, priority int) *entry[string] {
	e := newEntry(item, "", priority)
	l.push(e)
	return e
}

// grouped makes an entry that waits in the levels. Its group is its item without the number.
func grouped(l *priorityLevels[string], item string, priority int) *entry[string] {
	e := newEntry(item, strings.TrimRight(item, "0123456789"), priority)
	l.push(e)
	return e
}

// busy are the levels that are not empty.
func busy[T comparable](l *priorityLevels[T]) (levels []*priorityLevel[T]) {
	for _, level := range l.levels {
		if level.n > 0 {
			levels = append(levels, level)
		}
	}
	return levels
}

// popAll takes all entries out, and joins their items.
func popAll(t *testing.T, l *priorityLevels[string], n int) string {
	t.Helper()
	var order []string
	for range n {
		require.NotEmpty(t, busy(l), "%d items were put in, and only %d came out (%q): no level is busy", n, len(order), order)
		e := l.pop()
		require.True(t, e != nil, "an item got lost: %d items were put in, and pop returns nil after %d (%q)", n, len(order), order)
		order = append(order, e.item)
	}
	for _, level := range busy(l) {
		require.Fail(t, "a level that is empty must not be asked for an item", "all came out, and the level of priority %d is busy, with n = %d", level.priority, level.n)
	}
	return strings.Join(order, " ")
}

func TestLevelsHandOutWhatWasPutIn(t *testing.T) {
	l := &priorityLevels[string]{patience: 100}
	ranked(l, "a", 0)
	ranked(l, "b", 0)
	require.Equal(t, "a b", popAll(t, l, 2), "in a single level, it is first-in first-out")
	require.Equal(t, 2, int(l.pops), "pop counts the pops: patience is a number of pops")
}

func TestLevelsServeTheHighestPriorityFirst(t *testing.T) {
	l := &priorityLevels[string]{patience: 100}
	ranked(l, "resync", -100)
	ranked(l, "user", 0)
	ranked(l, "urgent", 7)
	ranked(l, "user2", 0)
	require.Equal(t, "urgent user user2 resync", popAll(t, l, 4), "higher priorities first, and first-in first-out among equals")
}

func TestLevelsRaiseAnItemThatIsAddedAgain(t *testing.T) {
	l := &priorityLevels[string]{patience: 100}
	ranked(l, "a", -100)
	b := ranked(l, "b", -100)
	ranked(l, "c", -100)
	ranked(l, "d", 0)
	l.raise(b, 0)
	require.Same(t, b, l.level(0).lanes.lanes[""].last, "an item that is raised leaves its level, and waits at the end of the new one")
	items := map[int]int{}
	for _, level := range busy(l) {
		items[level.priority] = level.n
	}
	require.Equal(t, map[int]int{-100: 2, 0: 2}, items, "of three items with priority -100, one was raised to 0, where another waits: each level counts its items")
	require.Equal(t, 0, b.priority, "the entry knows its new priority, or it is looked for in the wrong level the next time")
	require.Equal(t, "d b a c", popAll(t, l, 4), "an item that is raised goes to the end of its new level")
	l.raise(ranked(l, "e", 1), 2)
	require.Equal(t, "e", popAll(t, l, 1), "the last item of a level can be raised, too")
}

// Somebody updates objects faster than the workers work. A resync must get
// through all the same, or a change that was missed is never repaired.
func TestLevelsDoNotStarve(t *testing.T) {
	const patience = 5
	l := &priorityLevels[string]{patience: patience}
	waited := 0
	for range 20 {
		ranked(l, "low", -100)
	}
	for range 20 {
		for waited = 0; ; waited++ {
			ranked(l, "high", 0)
			if l.pop().item == "low" {
				break
			}
			require.Less(t, waited, 10*patience, "while higher work never ends, the low class never has a turn")
		}
		require.LessOrEqual(t, waited, patience, "a low class that has its turn too late waits longer than the documentation promises")
		require.GreaterOrEqual(t, waited, patience, "a low class that has its turn too early slows down what matters more")
	}
}

// Low work that keeps coming is the normal case: each resync adds more. Its turn must not
// depend on when the last item came.
func TestLevelsDoNotStarveWhileTheyAreAddedTo(t *testing.T) {
	const patience = 5
	l := &priorityLevels[string]{patience: patience}
	low := 0
	for range 60 {
		ranked(l, "low", -100)
		ranked(l, "high", 0)
		if l.pop().item == "low" {
			low++
		}
	}
	require.Equal(t, 60/(patience+1), low, "an item that is added to a level is not a turn of this level: of 60 turns the low class has one in six, though it is added to all the time")
}

// The middle class waits behind the highest as the lowest does, and for as long.
func TestLevelsInTheMiddleDoNotStarve(t *testing.T) {
	const patience = 5
	l := &priorityLevels[string]{patience: patience}
	turns := map[string]int{}
	for range 60 {
		ranked(l, "low", -100)
		ranked(l, "middle", 0)
		ranked(l, "high", 100)
		turns[l.pop().item]++
	}
	require.InDelta(t, 10, turns["middle"], 1, "of 60 turns the middle class has one in six, as the low class has: %v", turns)
	require.InDelta(t, 10, turns["low"], 1, "of 60 turns the low class has one in six, as the middle class has: %v", turns)
}

// Items that are raised leave the low level again and again. The others in it wait.
func TestLevelsThatLoseAnItemHaveNotHadTheirTurn(t *testing.T) {
	const patience = 5
	l := &priorityLevels[string]{patience: patience}
	ranked(l, "low", -100)
	for pop := range patience + 1 {
		l.raise(ranked(l, "raised", -100), 0)
		item := l.pop().item
		require.Equal(t, pop == patience, item == "low", "the low class is overtaken by patience items, and then has its turn, though items of it were raised meanwhile: pop %d of %d is %q", pop+1, patience+1, item)
	}
}

// A level that becomes busy after a long time has not waited for that time.
func TestLevelsThatWereEmptyBeginToWait(t *testing.T) {
	const patience = 5
	l := &priorityLevels[string]{patience: patience}
	for range 100 {
		ranked(l, "high", 0)
		l.pop()
	}
	ranked(l, "high", 0)
	ranked(l, "low", -100)
	require.Equal(t, "high", l.pop().item, "the low class has just come: it has no claim to the first turn")
	for range 2 * patience {
		ranked(l, "high", 0)
	}
	l.pop()
	ranked(l, "urgent", 100)
	require.Equal(t, "urgent", l.pop().item, "the level of a single item was served with each pop; it has not waited")
}

// The text works through these turns pop by pop, with a patience of 4 and three levels
// that never run dry.
func TestLevelsTakeTurnsAsTheChapterShows(t *testing.T) {
	l := &priorityLevels[string]{patience: 4}
	ranked(l, "high", 100)
	ranked(l, "middle", 0)
	ranked(l, "low", -100)
	var turns []string
	for range 16 {
		e := l.pop()
		turns = append(turns, e.item)
		l.push(e)
	}
	require.Equal(t, "high high high high middle low high high high middle low high high high middle low", strings.Join(turns, " "),
		"four items of the highest level overtake the others, which then have one turn each, the one that has waited longer first")
}

// The bound that the documentation states, with many levels that all wait.
func TestLevelsKeepTheirBoundWithManyLevels(t *testing.T) {
	for _, n := range []int{2, 3, 10, 40} {
		const patience = 8
		l := &priorityLevels[int]{patience: patience}
		last := make([]int, n)
		for priority := range n {
			for range 2 {
				l.push(newEntry(priority, "", priority))
			}
		}
		for pop := range 2000 {
			e := l.pop()
			last[e.item] = pop
			for level := range n {
				require.LessOrEqual(t, pop-last[level], patience+n, "level %d of %d waits longer than the documentation promises", level, n)
			}
			l.push(e) // it never runs dry
		}
	}
}

func TestLevelsGiveEachGroupItsTurn(t *testing.T) {
	l := &priorityLevels[string]{patience: 100}
	for i := range 4 {
		grouped(l, fmt.Sprintf("noisy%d", i), 0)
	}
	grouped(l, "quiet", 0)
	grouped(l, "shy1", 0)
	grouped(l, "shy2", 0)
	require.Equal(t, "noisy0 quiet shy1 noisy1 shy2 noisy2 noisy3", popAll(t, l, 7),
		"groups take turns: without them, whoever makes the most objects delays all others")
}

// With groups, an item that waits is in a lane, and not in the level's list.
func TestLevelsRaiseAnItemOutOfItsGroup(t *testing.T) {
	l := &priorityLevels[string]{patience: 100}
	noisy := grouped(l, "noisy0", -100)
	grouped(l, "noisy1", -100)
	grouped(l, "quiet0", -100)
	grouped(l, "noisy2", -100)
	l.raise(noisy, 0)
	require.Equal(t, "noisy0", l.pop().item, "the item that was raised comes first")
	require.Equal(t, "noisy1", l.pop().item, "the item that was raised must leave the lane of its group, or it comes a second time, and those behind it are lost")
	grouped(l, "noisy3", -100)
	require.Equal(t, "quiet0 noisy2 noisy3", popAll(t, l, 3), "when an item of a group is raised, the others keep their turns")
}

// Whoever makes up a priority for each item must not fill the memory with empty levels.
func TestLevelsThatAreEmptyAreKeptUpToALimit(t *testing.T) {
	l := &priorityLevels[string]{patience: 100}
	for priority := range 10 * keepLevels {
		ranked(l, "a", priority)
		l.pop()
	}
	require.LessOrEqual(t, len(l.levels), keepLevels, "empty levels pile up")
	for priority := range 2 * keepLevels {
		ranked(l, "a", priority)
	}
	require.Len(t, busy(l), 2*keepLevels, "levels with items all stay")
}
