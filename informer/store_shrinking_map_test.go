package informer

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A map that moves too early moves all the time, and one that moves too late keeps its memory.
func TestAMapMovesWhenThreeQuartersHaveGone(t *testing.T) {
	for _, c := range []struct {
		peak, left int
		want       bool
	}{
		{shrinkFrom - 1, 0, false}, // little to give back
		{shrinkFrom, shrinkFrom / 4, true}, {shrinkFrom, shrinkFrom/4 + 1, false},
		{1000, 250, true}, {1000, 251, false}, {1000, 0, true}, {1000, 1000, false}, {0, 0, false},
	} {
		m := newShrinkingMap[int, int](0)
		for i := range c.peak {
			m.set(i, i)
		}
		for i := c.left; i < c.peak; i++ {
			m.delete(i)
		}
		require.Equal(t, c.want, m.due(), "%d are left of %d", c.left, c.peak)
	}
}

// The owner walks through its slots, a few at a time, and once more if a key has gone to a slot that it has passed.
func TestAMoveWalksThroughAllSlotsUntilNothingIsLeft(t *testing.T) {
	m := newShrinkingMap[int, int](0)
	for i := range 1000 {
		m.set(i, i)
	}
	for i := 20; i < 1000; i++ {
		m.delete(i)
	}
	step := func() [2]int {
		require.True(t, m.due())
		from, to := m.step(20)
		return [2]int{from, to}
	}
	for range 3 { // nothing is carried
		require.Equal(t, [2]int{0, 16}, step())
		require.Equal(t, [2]int{16, 20}, step())
		require.Equal(t, 20, m.len())
	}
	require.Equal(t, [2]int{0, 16}, step())
	for i := range 19 {
		m.carry(i)
		m.carry(i) // which is there already
	}
	require.Equal(t, [2]int{16, 20}, step())
	value, ok := m.get(19)
	require.True(t, ok, "it has not moved yet")
	require.Equal(t, 19, value)
	m.carry(19)
	require.True(t, m.due(), "the old map is still there")
	require.Equal(t, [2]int{0, 0}, step(), "nothing is left to carry")
	require.False(t, m.due())
	require.Equal(t, 20, m.peak)
	require.Equal(t, 20, m.len())
}
