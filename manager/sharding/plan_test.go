package sharding

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A selector is what KEP-5866 has, and the ranges have no hole between them.
func TestASelectorNamesTheBoundsOfItsRuns(t *testing.T) {
	all := Set(slices.Repeat([]bool{true}, Ranges))
	require.Equal(t, "shardRange(object.metadata.namespace, '0x0000000000000000', '0x10000000000000000')", all.Selector())
	some := make(Set, Ranges)
	some[1], some[2], some[Ranges-1] = true, true, true
	require.Equal(t, "shardRange(object.metadata.namespace, '0x0040000000000000', '0x00c0000000000000') || "+
		"shardRange(object.metadata.namespace, '0xffc0000000000000', '0x10000000000000000')", some.Selector())
	require.Equal(t, "1-2 1023", some.String())
	require.Empty(t, make(Set, Ranges).Selector())
}

// The number is that of FNV-1a's authors for the empty string, which is where objects without a namespace are.
func TestARangeIsTheHighestBitsOfTheHash(t *testing.T) {
	require.Equal(t, 0xcbf29ce484222325>>54, RangeOf(""))
	require.Equal(t, 0xaf63dc4c8601ec8c>>54, RangeOf("a"))
}

// What namespaces are usually called is the worst for FNV-1a, so equal ranges for each replica would be no good.
func TestNamespacesWithANumberAreSpreadAnyway(t *testing.T) {
	for _, format := range []string{"ns-%03d", "team-%d", "customer-%05d-prod"} {
		weights := make([]int, Ranges)
		for i := range 1000 {
			weights[RangeOf(fmt.Sprintf(format, i))]++
		}
		for _, alive := range [][]string{{"a", "b"}, {"a", "b", "c", "d"}} {
			load, fair := loads(plan(make([]string, Ranges), alive, weights), weights), 1000/len(alive)
			for member, l := range load {
				require.InDelta(t, fair, l, float64(fair)/4, "%s of %s, %d replicas", format, member, len(alive))
			}
		}
	}
}

func loads(want []string, weights []int) map[string]int {
	load := map[string]int{}
	for r, holder := range want {
		load[holder] += weights[r]
	}
	return load
}

// Each row is a world of a few ranges, one letter for each range's holder; a point is nobody.
func TestAsFewRangesMoveAsHaveTo(t *testing.T) {
	for _, row := range []struct{ what, holders, alive, weights, want string }{
		{"the first has all", "........", "a", "", "aaaaaaaa"},
		{"who comes gets the end of what there is", "aaaaaaaa", "ab", "", "aaaabbbb"},
		{"a third gets something of both", "aaaabbbb", "abc", "", "aaacbbbc"},
		{"nothing moves between those who stay", "aaabbbcc", "ab", "", "aaabbbab"},
		{"a rest of one stays", "aabbc", "abc", "", "aabbc"},
		{"nobody is left", "aabb", "", "", "...."},
		{"the names' order decides among equals", "....", "ba", "", "aabb"},
		{"a heavy range is a whole share", "aaaaaaaa", "ab", "71111111", "abbbbbbb"},
		{"one heavy range goes rather than three light ones", "aaaa", "ab", "1119", "aaab"},
		{"what's empty goes along with what follows it", "aaaaaaaa", "ab", "20020000", "aaabbbbb"},
		{"what's empty isn't worth a handover", "aaaabbbb", "ab", "11000011", "aaaabbbb"},
		{"a small difference isn't, either", "aaaaaaaaabbbbbbbb", "ab", "", "aaaaaaaaabbbbbbbb"},
	} {
		var weights []int
		for _, w := range row.weights {
			weights = append(weights, int(w-'0'))
		}
		got := plan(letters(row.holders), letters(row.alive), weights)
		require.Equal(t, row.want, written(got), row.what)
	}
}

// letters is the reverse of written.
func letters(text string) (members []string) {
	for _, letter := range text {
		members = append(members, strings.Trim(string(letter), "."))
	}
	return members
}

func written(holders []string) string {
	text := ""
	for _, holder := range holders {
		if holder == "" {
			holder = "."
		}
		text += holder
	}
	return text
}

// Whatever the world, the plan gives each range to somebody who is alive, is the same when it's made again, whoever makes it, and
// leaves nobody with much more than somebody else unless one range is the reason.
func TestAPlanIsWholeStableAndFair(t *testing.T) {
	for seed := range uint64(3000) {
		random := rand.New(rand.NewPCG(seed, 0))
		count := 1 + random.IntN(40)
		holders, weights := make([]string, count), make([]int, count)
		heaviest, total := 0, 0
		for r := range holders {
			holders[r] = strings.Trim(string("..abcdef"[random.IntN(8)]), ".")
			weights[r] = max(0, random.IntN(12)-3)
			heaviest, total = max(heaviest, weights[r]), total+weights[r]
		}
		alive := letters("abcdef")
		random.Shuffle(len(alive), func(i, j int) { alive[i], alive[j] = alive[j], alive[i] })
		alive = alive[:1+random.IntN(len(alive))]

		want := plan(holders, alive, weights)
		about := fmt.Sprintf("seed %d: %s, alive %v, weights %v, want %s", seed, written(holders), alive, weights, written(want))
		for _, holder := range want {
			require.Contains(t, alive, holder, about)
		}
		require.Equal(t, want, plan(want, alive, weights), about)
		slices.Sort(alive)
		require.Equal(t, want, plan(holders, alive, weights), about)
		load := loads(want, weights)
		most, least := 0, total
		for _, member := range alive {
			most, least = max(most, load[member]), min(least, load[member])
		}
		require.LessOrEqual(t, most-least, max(heaviest, total/len(alive)/worthwhile), about)
	}
}

// With ranges that weigh the same, a replica that comes or goes moves its own share and nothing else.
func TestNothingMovesBetweenThoseWhoStay(t *testing.T) {
	const all = "abcdefgh"
	holders := make([]string, Ranges)
	random := rand.New(rand.NewPCG(1, 0))
	count := 0
	for range 200 {
		before := count
		if count = 1 + random.IntN(len(all)); count == before {
			continue
		}
		want := plan(holders, letters(all[:count]), nil)
		for r, holder := range want {
			stays := strings.Contains(all[:min(before, count)], holder)
			if was := holders[r]; was != holder && was != "" && strings.Contains(all[:count], was) {
				require.False(t, stays, "range %d moved from %q to %q when %d became %d", r, was, holder, before, count)
			}
		}
		holders = want
	}
}
