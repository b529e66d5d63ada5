package sharding

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A write whose answer was lost gave a range away, and so did nothing that was sent after it. It may still arrive first.
func TestALaterWriteDoesNotMakeAnEarlierOneHarmless(t *testing.T) {
	now := time.Now()
	r := newReplica("a", time.Second)
	r.numbers = places(0, 1)
	mine := table{generation: 5, runs: letters("aa")}
	r = r.reads(mine, "7", []string{"a", "b"}, nil, now)
	away, needed := r.writes(now)
	require.True(t, needed)
	require.Equal(t, "ab", written(away.runs, 2))
	r = r.sends(away).failed()

	r = r.reads(mine, "7", []string{"a"}, nil, now) // b isn't there any more, or not in this answer
	back, needed := r.writes(now)
	require.True(t, needed, "it has to find out")
	require.Equal(t, "aa", written(back.runs, 2))
	r = r.sends(back).failed()
	r = r.reads(mine, "7", []string{"a"}, nil, now)
	begin, _ := r.acts(now)
	require.Equal(t, Set{{0, place(1) - 1}}, begin, "the first write may still give 1 to b")

	r = r.reads(table{generation: 6, runs: letters("aa")}, "8", []string{"a"}, nil, now)
	begin, _ = r.acts(now)
	require.Equal(t, everything, begin, "nothing that builds on version 7 can succeed now")
}
