package informer

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// An object moves into the gap that another one leaves, with all its values. Whoever gets its old slot next must
// not inherit one of them, or its own end takes somebody else out of a list.
func TestASlotThatWasMovedAwayLeavesNothingToTheNext(t *testing.T) {
	index := newPostings()
	index.set(0, []string{"a"}, 0)
	index.set(1, []string{"x", "y", "z"}, 0)
	index.set(0, nil, 0)
	index.move(1, 0, 0)
	for _, value := range []string{"x", "y", "z"} {
		require.Equal(t, []int{0}, index.found(value))
	}
	require.Equal(t, 1, index.others.len(), "only the new slot has further values")
	index.set(1, []string{"b"}, 0)
	for _, value := range []string{"x", "y", "z"} {
		require.Equal(t, []int{0}, index.found(value), "the next object of the old slot has taken %q from the one that moved", value)
	}
	index.set(0, nil, 0)
	index.move(1, 0, 0)
	require.Zero(t, index.others.len(), "an object with one value leaves nothing among the others when it moves")
	require.Equal(t, []int{0}, index.found("b"))
}

// A write asks each index whether it has memory to give back. If it does not say so, it never gives any.
func TestAnIndexSaysWhenItHasMemoryToGiveBack(t *testing.T) {
	const slots = 3 * chunkSize // three chunks, and one is kept for the next slot
	for _, c := range []struct {
		name          string
		lists, others bool // whether a move is under way
		chunks        int
		want          bool
	}{
		{"nothing to give back", false, false, 4, false},
		{"a map of lists", true, false, 4, true},
		{"a map of further values", false, true, 4, true},
		{"both", true, true, 4, true},
		{"a chunk", false, false, 5, true},
	} {
		index := newPostings()
		index.chunks = make([]*[chunkSize]posting, c.chunks)
		if c.lists {
			index.lists.leaving = map[string]*postingList{}
		}
		if c.others {
			index.others.leaving = map[slot][]posting{}
		}
		require.Equal(t, c.want, index.due(slots), c.name)
	}
}

func TestAnIndexGivesItsChunksBack(t *testing.T) {
	index := newPostings()
	for s := range slot(10 * chunkSize) {
		index.set(s, []string{"a"}, 0)
	}
	for s := range slot(10*chunkSize - 5) {
		index.set(10*chunkSize-1-s, nil, 0)
	}
	index.shrink(5)
	require.Len(t, index.chunks, 2, "one for the five slots, and one for the next")
	for _, c := range index.chunks[2:cap(index.chunks)] {
		require.Nil(t, c, "a chunk that is not used any more is kept in memory")
	}
	require.Equal(t, []int{0, 1, 2, 3, 4}, index.found("a"))
	require.Nil(t, index.lists.leaving, "one list is nothing to move")
	require.Nil(t, index.others.leaving)
}

// Each map moves on its own, when it has become too large, and its move comes to an end.
func TestTheMapsOfAnIndexShrinkOnTheirOwn(t *testing.T) {
	const slots = 1000
	second := func(s slot) string { return fmt.Sprint("second-", s) }
	steps := func(index *postings) int {
		n := 0
		for ; index.due(slots); n++ {
			require.Less(t, n, 200, "a move must come to an end")
			index.shrink(slots)
		}
		return n
	}
	index := newPostings()
	for s := range slot(slots) {
		index.set(s, []string{"first", second(s % 100)}, 0)
	}
	for s := range slot(slots - 10) {
		index.set(s, []string{"first"}, 0) // further values go, and the lists stay few
	}
	require.Greater(t, steps(index), slots/slotsPerStep/2, "a few slots at a time")
	require.Less(t, index.others.peak, shrinkFrom)
	require.Equal(t, 10, index.others.len())
	index.shrink(slots)
	require.Nil(t, index.others.leaving, "there is nothing more to give back")
	require.Equal(t, []int{990}, index.found(second(90)))

	index = newPostings()
	for s := range slot(slots) {
		index.set(s, []string{"first", second(s)}, 0)
	}
	for s := range slot(slots) {
		switch {
		case s%10 == 1: // stays
		case s%10 == 2:
			index.set(s, nil, 0) // a slot without values
		default:
			index.set(s, []string{"first", "common"}, 0) // lists go, and further values stay
		}
	}
	require.Greater(t, steps(index), slots/slotsPerStep/2, "a few slots at a time")
	require.Less(t, index.lists.peak, shrinkFrom)
	require.Equal(t, slots/10+2, index.lists.len())
	for s := slot(1); s < slots; s += 10 {
		require.Equal(t, []int{int(s)}, index.found(second(s)))
	}
	require.Len(t, index.lookup("common"), slots*8/10)
}
