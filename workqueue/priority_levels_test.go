package workqueue

import (
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

// busy are the levels that are not empty.
func busy[T comparable](l *priorityLevels[T]) (levels []*priorityLevel[T]) {
	for _, level := range l.levels {
		if level.n > 0 {
			levels = append(levels, level)
		}
	}
	return levels
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
