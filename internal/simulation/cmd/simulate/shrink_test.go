package main

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func always() bool { return true }

// A story with parts that aren't needed takes longer to read, and one without a part that is doesn't
// fail.
func TestAStoryKeepsOnlyThePartsThatItNeeds(t *testing.T) {
	parts := []string{"m0", "u0", "t0", "m1", "u1", "t1", "u2", "t2"}
	for _, needed := range [][]string{{"m1"}, {"u0", "t2"}, {"m0", "u1", "t1"}, parts} {
		least, gaveUp := minimize(parts, func(some []string) bool {
			return !slices.ContainsFunc(needed, func(part string) bool {
				return !slices.Contains(some, part)
			})
		}, always)
		require.Equal(t, needed, least)
		require.False(t, gaveUp)
	}
}

func TestAStoryThatTakesTooLongToShrinkStillFails(t *testing.T) {
	plays := 0
	least, gaveUp := minimize([]string{"m0", "u0", "t0", "u1"}, func(some []string) bool {
		return slices.Contains(some, "u1")
	}, func() bool {
		plays++
		return plays < 3
	})
	require.True(t, gaveUp)
	require.Contains(t, least, "u1")
}

func TestALineOfAWorkerIsReadAsItWasWritten(t *testing.T) {
	var d day
	for _, line := range []string{
		"simulation broken: never more Pods than allowed: 00:01, one too many",
		"simulation parts: m0,u0", "simulation tale: 00:00 user: scale: 3",
	} {
		require.True(t, d.read(line))
	}
	require.False(t, d.read("PASS"))
	require.Equal(t, "never more Pods than allowed", promiseOf(d.broken[0]))
	require.Equal(t, []string{"m0", "u0"}, d.parts)
	require.Equal(t, []string{"00:00 user: scale: 3"}, d.tale)
	require.True(t, d.read("simulation holds"))
	require.Empty(t, d.broken, "another try held")
}
