package sharding

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/tests/race"
)

// place is where the i-th of up to 64 small ranges begins.
func place(i int) uint64 { return uint64(i) << 58 }

func places(all ...int) (numbers []uint64) {
	for _, i := range all {
		numbers = append(numbers, place(i))
	}
	return numbers
}

// letters are runs of small ranges, a letter for each one's holder; a point is nobody.
func letters(text string) (runs []run) {
	for i, letter := range text {
		runs = continued(runs, run{place(i), strings.Trim(string(letter), ".")})
	}
	return runs
}

// written is the reverse of letters.
func written(runs []run, count int) (text string) {
	for i := range count {
		holder := holderOf(runs, place(i))
		if holder == "" {
			holder = "."
		}
		text += holder
	}
	return text
}

// Each row is a world of a few small ranges. A namespace is at the beginning of each, or of those with a 1.
func TestAsFewNamespacesMoveAsHaveTo(t *testing.T) {
	for _, row := range []struct{ what, holders, alive, namespaces, want string }{
		{"the first has all", "........", "a", "", "aaaaaaaa"},
		{"who comes gets the end of what there is", "aaaaaaaa", "ab", "", "aaaabbbb"},
		{"a third gets something of both", "aaaabbbb", "abc", "", "aaacbbbc"},
		{"nothing moves between those who stay", "aaabbbcc", "ab", "", "aaabbbba"},
		{"a neighbour gets what it has room for", "aacccbbb", "ab", "", "aaaabbbb"},
		{"a rest of one stays", "aabbc", "abc", "", "aabbc"},
		{"one goes rather than nothing", "aabb.", "abcd", "", "aabdc"},
		{"nobody is left", "aabb", "", "", "...."},
		{"the names' order decides among equals", "....", "ba", "", "aabb"},
		{"the bound is where the namespaces are", "aaaaaaaa", "ab", "00001111", "aaaaaabb"},
		{"what's empty goes along with what it follows", "aaaaaaaa", "ab", "10010000", "aaabbbbb"},
		{"what's empty isn't worth a handover", "aaaabbbb", "ab", "11000011", "aaaabbbb"},
		{"it isn't given along, either", "aaaaaacbbcac", "abc", "111111111101", "aaaabbcbbcac"},
		{"a small difference isn't worth one", "aaaaaaaaaaaaaaaaabbbbbbbbbbbbbbb", "ab", "", "aaaaaaaaaaaaaaaaabbbbbbbbbbbbbbb"},
		{"a large one is", "aaaaaaaaaaaaaaaaaabbbbbbbbbbbbbb", "ab", "", "aaaaaaaaaaaaaaaabbbbbbbbbbbbbbbb"},
		{"what's empty and free is its neighbour's, and stays with it", "aa.aaa", "ab", "110110", "aaabbb"},
		{"the shortest of one's ranges goes first", "aaaaaabbbbabcc", "abc", "", "aaaaacbbbbcbcc"},
		{"or one that lies beside the other's", "abbbaaaacc", "abc", "", "abbbaaaccc"},
		{"the shortest one of these", "aaaaaabbabbcccc", "abc", "", "aaaaacbbbbbcccc"},
	} {
		var numbers []uint64
		for i := range row.holders {
			if row.namespaces == "" || row.namespaces[i] == '1' {
				numbers = append(numbers, place(i))
			}
		}
		got := plan(letters(row.holders), strings.Split(row.alive, "")[:len(row.alive)], numbers)
		require.Equal(t, row.want, written(got, len(row.holders)), row.what)
	}
}

// loads are the namespaces that each member has.
func loads(runs []run, numbers []uint64) map[string]int {
	load := map[string]int{}
	for _, number := range numbers {
		load[holderOf(runs, number)]++
	}
	return load
}

// Whatever the world, the plan gives everything to somebody who is alive, is the same when it's made again, whoever makes it, and
// leaves nobody with much more than somebody else.
func TestAPlanIsWholeStableAndFair(t *testing.T) {
	for seed := range uint64(3000) {
		random := rand.New(rand.NewPCG(seed, 0))
		var runs []run
		var numbers []uint64
		for i := range 1 + random.IntN(40) {
			runs = continued(runs, run{place(i), strings.Trim(string("..abcdef"[random.IntN(8)]), ".")})
			for n := range uint64(random.IntN(5)) {
				numbers = append(numbers, place(i)+n*(1+random.Uint64N(3)))
			}
		}
		slices.Sort(numbers)
		numbers = slices.Compact(numbers)
		alive := strings.Split("abcdef", "")
		random.Shuffle(len(alive), func(i, j int) { alive[i], alive[j] = alive[j], alive[i] })
		alive = alive[:1+random.IntN(len(alive))]

		want := plan(runs, alive, numbers)
		about := fmt.Sprintf("seed %d: %s, alive %v, namespaces %x, want %s", seed, written(runs, 40), alive, numbers, written(want, 40))
		require.Zero(t, want[0].from, about)
		for i, r := range want {
			require.Contains(t, alive, r.holder, about)
			require.True(t, i == 0 || want[i-1].holder != r.holder && want[i-1].from < r.from, about)
		}
		require.Equal(t, want, plan(want, alive, numbers), about)
		slices.Sort(alive)
		require.Equal(t, want, plan(runs, alive, numbers), about)
		load := loads(want, numbers)
		most, least := 0, len(numbers)
		for _, member := range alive {
			most, least = max(most, load[member]), min(least, load[member])
		}
		require.LessOrEqual(t, most-least, max(1, most/worthwhile), about)
	}
}

// What namespaces are usually called is the worst for FNV-1a: with bounds at equal distances, one of four replicas would have 60 %
// of ns-000 to ns-999.
func TestNamespacesWithANumberAreSpreadEvenly(t *testing.T) {
	for _, format := range []string{"ns-%03d", "team-%d", "customer-%05d-prod"} {
		for count := range 12 {
			var names []string
			for i := range 12 + 90*count {
				names = append(names, fmt.Sprintf(format, i))
			}
			numbers := numbersOf(names)
			for _, alive := range [][]string{{"a"}, {"a", "b"}, {"a", "b", "c"}, {"a", "b", "c", "d"}} {
				want := plan(nil, alive, numbers)
				for member, load := range loads(want, numbers) {
					require.InDelta(t, len(numbers)/len(alive), load, 1, "%s has %v", member, heldBy(want, func(m string) bool { return m == member }))
				}
				require.Len(t, want, len(alive), "one range for each")
			}
		}
	}
}

// If a replica comes, only the others give, and only to it. If one goes, only what it had moves. And after hundreds of such days
// the ranges are still few, or selectors would grow without end.
func TestNothingMovesBetweenThoseWhoStay(t *testing.T) {
	for _, most := range []int{4, 10, 30} {
		random := rand.New(rand.NewPCG(1, 0))
		names, made, members := map[string]bool{}, 0, 0
		create := func(count int) {
			for range count {
				names[fmt.Sprint("ns-", made)] = true
				made++
			}
		}
		create(1000)
		var runs []run
		var alive []string
		longest, moved, had := 0, 0, 0
		for day := range race.Fewer(240) {
			before := slices.Clone(alive)
			switch {
			case len(alive) == 0, len(alive) < most && random.IntN(3) == 0:
				alive = append(alive, fmt.Sprintf("m%03d", members))
				members++
			case len(alive) > max(1, most/2) && random.IntN(2) == 0:
				leaver := random.IntN(len(alive))
				alive = slices.Delete(slices.Clone(alive), leaver, leaver+1)
			default:
				create(random.IntN(20))
				for range random.IntN(20) {
					all := slices.Sorted(maps.Keys(names))
					delete(names, all[random.IntN(len(all))])
				}
			}
			numbers := numbersOf(slices.Collect(maps.Keys(names)))
			want := plan(runs, alive, numbers)
			share := len(numbers) / len(alive)
			moves := 0
			for _, number := range numbers {
				from, to := holderOf(runs, number), holderOf(want, number)
				if from == to {
					continue
				}
				moves++
				if len(before) != len(alive) && slices.Contains(before, from) && slices.Contains(alive, from) {
					require.NotContains(t, before, to, "day %d: %d namespaces were given by one that stays to another", day, len(before))
				}
			}
			if from := loads(runs, numbers); len(before) > len(alive) {
				for _, member := range before {
					if !slices.Contains(alive, member) {
						require.Equal(t, from[member], moves, "day %d: all that it had, and nothing else", day)
					}
				}
			} else if len(before) > 0 && len(before) < len(alive) {
				require.LessOrEqual(t, moves, share+1, "day %d: a fair share, and no more", day)
			}
			load := loads(want, numbers)
			most := slices.Max(slices.Collect(maps.Values(load)))
			for _, member := range alive {
				require.LessOrEqual(t, most-load[member], max(1, most/worthwhile), "day %d: %s", day, member)
				longest = max(longest, len(heldBy(want, func(m string) bool { return m == member })))
			}
			runs, moved, had = want, moved+moves, had+len(numbers)
		}
		t.Logf("up to %d members: up to %d ranges of one, %d runs at the end, %.1f %% of the namespaces moved a day",
			most, longest, len(runs), 100*float64(moved)/float64(had))
		require.Less(t, longest, maxTerms)
	}
}
