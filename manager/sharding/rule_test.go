package sharding

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/tests/race"
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

// A namespace would be relisted and wait for its reconciles each time, for nothing. Three replicas look at the table in any order,
// while many namespaces are created, and one of them can't list these for a long time.
func TestReplicasThatKnowDifferentNamespacesDoNotGiveThemToAndFro(t *testing.T) {
	const bursts = 10
	for seed := range race.Fewer(uint64(60)) {
		random := rand.New(rand.NewPCG(seed, 0))
		members := []string{"a", "b", "c"}
		replicas := map[string]replica{}
		for _, name := range members {
			replicas[name] = newReplica(name, time.Second)
		}
		var names []string
		stored, now, moves := table{}, time.Unix(0, 0), map[uint64]int{}
		step := func(member string, blind string) (wrote bool) {
			now = now.Add(time.Hour)
			r := replicas[member]
			if r.guesses = member == blind; !r.guesses {
				r.numbers = numbersOf(names)
			}
			r = r.reads(stored, fmt.Sprint(stored.generation), members, nil, now)
			begin, stop := r.acts(now)
			r = r.stopping(stop).ended(stop).begun(begin)
			next, wrote := r.writes(now)
			if wrote {
				for _, number := range numbersOf(names) {
					if holderOf(stored.runs, number) != holderOf(next.runs, number) {
						moves[number]++
					}
				}
				stored = next
				r = r.sends(next).wrote(fmt.Sprint(next.generation))
			}
			replicas[member] = r
			return wrote
		}
		rest := func(blind string) {
			for quiet := 0; quiet < 30; quiet++ {
				if step(members[random.IntN(3)], blind) {
					quiet = 0
				}
				require.Less(t, now, time.Unix(0, 0).Add(5000*time.Hour), "seed %d: they write and write", seed)
			}
		}
		for range bursts {
			for range random.IntN(60) {
				names = append(names, fmt.Sprint(string(rune('a'+random.IntN(26))), "-", random.IntN(1000)))
			}
			for range random.IntN(10) {
				step(members[random.IntN(3)], "")
			}
			rest(members[random.IntN(3)])
		}
		rest("")
		for number, times := range moves {
			require.LessOrEqual(t, times, bursts, "seed %d: %x", seed, number)
		}
		load := loads(stored.runs, numbersOf(names))
		require.Zero(t, load[""])
		for _, member := range members {
			require.InDelta(t, len(numbersOf(names))/3, load[member], float64(len(names))/3/worthwhile+2, "seed %d: %v", seed, load)
		}
	}
}
