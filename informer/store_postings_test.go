package informer

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// found is what a reader finds now, sorted: an index promises no order.
func (p *postings) found(value string) []int {
	found := []int{}
	for _, s := range p.lookup(value) {
		found = append(found, int(s))
	}
	slices.Sort(found)
	return found
}

// numbers are slots in the order of a list.
func numbers(slots []slot) []int {
	var numbers []int
	for _, s := range slots {
		numbers = append(numbers, int(s))
	}
	return numbers
}

// Function: postings.set or postingList.own
func TestAnObjectIsFoundUnderItsValue(t *testing.T) {
	index := newPostings()
	index.set(0, []string{"node-1"}, 0)
	index.set(1, []string{"node-1"}, 0)
	index.set(2, []string{"node-2"}, 0)
	require.Equal(t, []int{0, 1}, index.found("node-1"), "both pods of node-1 must be found under node-1")
	require.Equal(t, []int{2}, index.found("node-2"), "the pod of node-2 must be found under node-2")
	require.Empty(t, index.lookup("node-3"), "nobody has this value")
}

// A pod that stays in the list of its old node is reported by two nodes.
// Function: postings.set or postingList.own
func TestAnObjectThatChangesIsNotFoundUnderItsOldValue(t *testing.T) {
	index := newPostings()
	index.set(0, []string{"node-1"}, 0)
	index.set(1, []string{"node-1"}, 0)
	index.set(0, []string{"node-2"}, 0)
	require.Equal(t, []int{1}, index.found("node-1"), "the pod has moved, and must leave the list of its old node")
	require.Equal(t, []int{0}, index.found("node-2"), "the pod has moved, and must be in the list of its new node")
}

// Function: postings.set or postingList.own
func TestAnObjectMayHaveSeveralValues(t *testing.T) {
	index := newPostings()
	index.set(0, []string{"a", "b", "c"}, 0)
	for _, value := range []string{"a", "b", "c"} {
		require.Equal(t, []int{0}, index.found(value), "an object with several values must be found under each of them, also under %q", value)
	}
	index.set(0, []string{"b", "d"}, 0)
	require.Empty(t, index.lookup("a"), "a is no longer a value of the object")
	require.Empty(t, index.lookup("c"), "c is no longer a value of the object")
	require.Equal(t, []int{0}, index.found("b"), "b was and is a value of the object, whichever others come and go")
	require.Equal(t, []int{0}, index.found("d"), "d has become a value of the object")
}

// A Service that names one port twice must not be listed twice.
// Function: postings.set or postingList.own
func TestAValueThatComesTwiceCountsOnce(t *testing.T) {
	index := newPostings()
	index.set(0, []string{"a", "a"}, 0)
	require.Equal(t, []int{0}, index.found("a"), "an object stands in the list of a value once, however often the index function names the value")
	index.set(0, nil, 0)
	require.Empty(t, index.lookup("a"), "an object that has gone must not be found")
}

// Pods come and go with unique names, UIDs and IP addresses. An index that keeps
// an empty list for each value that ever was grows until the process dies.
// Function: postings.set or postingList.own
func TestAValueThatNobodyHasLeavesNothingBehind(t *testing.T) {
	index := newPostings()
	index.set(0, []string{"10.0.0.1"}, 0)
	index.set(0, []string{"10.0.0.2"}, 0)
	require.NotContains(t, slices.Sorted(index.lists.keys()), "10.0.0.1", "the list of a value must go when its last object leaves it")
	index.set(0, nil, 0)
	require.Zero(t, index.lists.len(), "the list of a value must go when its last object leaves it")
}

// A pod has two owners for a moment, a Service two names for a port. If the room for
// the second value stayed, ten million such moments would fill the memory.
// Function: postings.set
func TestAValueThatComesAndGoesLeavesNoRoomBehind(t *testing.T) {
	index := newPostings()
	index.set(0, []string{"a"}, 0)
	require.Zero(t, index.others.len(), "one value needs no room beside the first")
	index.set(0, []string{"a", "b"}, 0)
	require.Equal(t, 1, index.others.len(), "the second value of a slot stands among the others")
	index.set(0, []string{"a"}, 0)
	require.Zero(t, index.others.len(), "the slot has one value again, so nothing may stay among the others")
}

// Function: postings.set
func TestAnObjectIsFoundOnBothSidesOfAChunksEnd(t *testing.T) {
	index := newPostings()
	index.set(chunkSize-1, []string{"node-1"}, 0)
	require.Len(t, index.chunks, 1, "the last slot of the first chunk needs no second chunk")
	index.set(chunkSize, []string{"node-1"}, 0)
	require.Len(t, index.chunks, 2, "the next slot is the first of the second chunk")
	require.Equal(t, []int{chunkSize - 1, chunkSize}, index.found("node-1"), "neighbours must be found, whichever chunks they are in")
}

// The last of a list moves into the gap that another one leaves. If it does not
// learn where it stands now, its own leaving takes out a third one.
// Function: postings.set or postingList.own
func TestAnObjectThatFilledAGapLeavesFromThere(t *testing.T) {
	index := newPostings()
	for s := range slot(4) {
		index.set(s, []string{"other", "node-1"}, 0)
	}
	index.set(0, []string{"other"}, 0)
	require.Equal(t, []int{1, 2, 3}, index.found("node-1"), "one object has left the list, and all others stay")
	index.set(3, []string{"other"}, 0)
	require.Equal(t, []int{1, 2}, index.found("node-1"), "the object that filled the gap has left, and nobody else")
	index.set(1, nil, 0)
	index.set(2, nil, 0)
	require.Empty(t, index.lookup("node-1"), "all objects have left the list")
	require.Equal(t, []int{0, 3}, index.found("other"), "who left one list stays in the others")
}

// Leaving takes the same time, however long the list is: nothing moves but the
// last one. All others stay where they are, and where they are noted to be.
// Function: postings.set or postingList.own
func TestOnlyTheLastOfAListMoves(t *testing.T) {
	index := newPostings()
	for s := range slot(4) {
		index.set(s, []string{"other", "node-1"}, 0)
	}
	index.set(0, []string{"other"}, 0)
	require.Equal(t, []int{3, 1, 2}, numbers(index.lookup("node-1")), "the list was 0 1 2 3, and 0 has left: the last must move into the gap, and nobody else move at all")
	for at, s := range index.lookup("node-1") {
		require.NotNil(t, index.postingIn(s, "node-1"), "slot %d is in the list, and must know it", s)
		require.EqualValues(t, at, index.postingIn(s, "node-1").at, "slot %d must know where it stands in the list", s)
	}
	before := numbers(index.lookup("other"))
	index.set(1, []string{"node-1", "other"}, 0)
	require.Equal(t, before, numbers(index.lookup("other")), "the slot has the same values as before, so it must not leave a list to enter it again")
	require.Equal(t, []int{3, 1, 2}, numbers(index.lookup("node-1")), "the slot has the same values as before, so it must not leave a list to enter it again")
}

// A reader goes through a list without a lock. If a writer moves the list's
// elements meanwhile, the reader meets one object twice and misses another.
// Function: postings.set or postingList.own
func TestAListThatAReaderHoldsDoesNotChange(t *testing.T) {
	index := newPostings()
	for s := range slot(3) {
		index.set(s, []string{"node-1"}, 0)
	}
	held := index.lookup("node-1")
	before := slices.Clone(held)

	index.set(0, []string{"node-2"}, 1) // epoch 1: everything older may be in a reader's hands
	index.set(3, []string{"node-1"}, 1)
	index.set(1, nil, 1)
	require.Equal(t, numbers(before), numbers(held), "a list that is older than the epoch must be copied before an element of it changes")
	require.Equal(t, []int{2, 3}, index.found("node-1"), "who looks now must find what is there now")

	held = index.lookup("node-1")
	before = slices.Clone(held)
	index.set(2, nil, 2) // another reader came: the copy of epoch 1 is in its hands
	require.Equal(t, numbers(before), numbers(held), "a copy that was made in an earlier epoch may be in a reader's hands, too")
}

// The last of a list leaves no gap: no element changes, the list only gets
// shorter. But the next append then lands where the reader still reads.
// Function: postings.set or postingList.own
func TestAListThatAReaderHoldsKeepsItsLastElement(t *testing.T) {
	index := newPostings()
	for s := range slot(3) {
		index.set(s, []string{"node-1"}, 0)
	}
	held := index.lookup("node-1")
	before := slices.Clone(held)
	index.set(2, nil, 1)
	index.set(7, []string{"node-1"}, 1)
	require.Equal(t, numbers(before), numbers(held),
		"a list that is older than the epoch must be copied before it is shortened, too: the next append would overwrite the reader's last element")
	require.Equal(t, []int{0, 1, 7}, index.found("node-1"), "who looks now must find what is there now")
}

// Without readers, nothing has to be copied. A copy for each change would make
// the index of 100,000 pods by namespace unusable.
// Function: postings.set or postingList.own
func TestWithoutReadersNothingIsCopied(t *testing.T) {
	index := newPostings()
	for s := range slot(1000) {
		index.set(s, []string{"node-1"}, 0)
	}
	home, away := []string{"node-1"}, []string{"node-2"}
	index.set(1, away, 0) // so that node-2 has its list
	allocations := testing.AllocsPerRun(100, func() {
		index.set(0, away, 0)
		index.set(0, home, 0)
	})
	require.Zero(t, allocations,
		"with epoch 0 there are no readers, so a list is changed in place; two calls of set, to another value and back, allocated this often")
}

// With a reader that never ends, a copy for each change would be as bad. One copy
// is enough, until the next reader comes.
// Function: postings.set or postingList.own
func TestAListIsCopiedOnceInAnEpoch(t *testing.T) {
	index := newPostings()
	for s := range slot(8) {
		index.set(s, []string{"node-1", "shop"}, 0)
	}
	array := func(value string) *slot { return &index.lookup(value)[0] }
	held := array("shop")
	index.set(7, []string{"shop", "node-1"}, 1)
	require.True(t, held == array("shop"), "the slot has the same values as before: nothing changes, so nothing must be copied, whoever reads")
	index.set(7, []string{"node-1"}, 1)
	require.False(t, held == array("shop"), "the list is older than the epoch, and must be copied before a slot leaves it")
	held = array("shop")
	index.set(6, []string{"node-1"}, 1)
	require.True(t, held == array("shop"), "the list was copied in this epoch: the copy is the writer's own, and must be changed in place")
}
