package sharding

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A write whose answer was lost gave a range away, and so did nothing that was sent after it. It may still arrive first.
func TestALaterWriteDoesNotMakeAnEarlierOneHarmless(t *testing.T) {
	now := time.Now()
	r := newReplica("a", 2, time.Second)
	mine := table{generation: 5, holders: letters("aa")}
	r = r.reads(mine, "7", letters("ab"), nil, now)
	away, needed := r.writes(now)
	require.True(t, needed)
	require.Equal(t, "ab", written(away.holders))
	r = r.sends(away).failed()

	r = r.reads(mine, "7", letters("a"), nil, now) // b isn't there any more, or not in this answer
	back, needed := r.writes(now)
	require.True(t, needed, "it has to find out")
	require.Equal(t, "aa", written(back.holders))
	r = r.sends(back).failed()
	r = r.reads(mine, "7", letters("a"), nil, now)
	begin, _ := r.acts(now)
	require.Equal(t, "0", begin.String(), "the first write may still give 1 to b")

	r = r.reads(table{generation: 6, holders: letters("aa")}, "8", letters("a"), nil, now)
	begin, _ = r.acts(now)
	require.Equal(t, "0-1", begin.String(), "nothing that builds on version 7 can succeed now")
}
