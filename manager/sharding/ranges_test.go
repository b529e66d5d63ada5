package sharding

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// A selector is what KEP-5866 has, and neighbours have no hole between them.
func TestASelectorNamesTheBoundsOfItsRanges(t *testing.T) {
	require.Equal(t, "shardRange(object.metadata.namespace, '0x0000000000000000', '0x10000000000000000')", everything.Selector())
	some := Set{{0x40, 0xbf}}.or(Set{{0xc0, 0xff}}).or(Set{{math.MaxUint64, math.MaxUint64}})
	require.Equal(t, "shardRange(object.metadata.namespace, '0x0000000000000040', '0x0000000000000100') || "+
		"shardRange(object.metadata.namespace, '0xffffffffffffffff', '0x10000000000000000')", some.Selector())
	require.Equal(t, "0000000000000040-00000000000000ff ffffffffffffffff-ffffffffffffffff", some.String())
	require.Empty(t, Set{}.Selector())
}

// The numbers are those of FNV-1a's authors.
func TestANamespaceHasTheNumberThatTheServerGivesIt(t *testing.T) {
	require.Equal(t, uint64(0xcbf29ce484222325), hashOf(""))
	require.Equal(t, uint64(0xaf63dc4c8601ec8c), hashOf("a"))
}

// A small model of the numbers: a value for each of those at which a set may begin or end.
func TestSetsAreWhatTheirNumbersAre(t *testing.T) {
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 0))
		var numbers []uint64
		for i := range uint64(6) {
			numbers = append(numbers, i, math.MaxUint64-i)
		}
		const middle = 1 << 63
		numbers = append(numbers, middle)
		aSet := func() (s Set) {
			for range random.IntN(6) {
				a, b := numbers[random.IntN(len(numbers))], numbers[random.IntN(len(numbers))]
				s = s.or(Set{{min(a, b), max(a, b)}})
			}
			return s
		}
		a, b := aSet(), aSet()
		for what, s := range map[string]Set{"or": a.or(b), "and": a.and(b), "without": a.without(b)} {
			for i, r := range s {
				require.LessOrEqual(t, r.First, r.Last, "seed %d: %s", seed, what)
				require.True(t, i == 0 || s[i-1].Last < r.First-1, "seed %d: %s has neighbours: %s", seed, what, s)
			}
		}
		for _, n := range numbers {
			require.Equal(t, a.has(n) || b.has(n), a.or(b).has(n), "seed %d: %s or %s, %x", seed, a, b, n)
			require.Equal(t, a.has(n) && b.has(n), a.and(b).has(n), "seed %d: %s and %s, %x", seed, a, b, n)
			require.Equal(t, a.has(n) && !b.has(n), a.without(b).has(n), "seed %d: %s without %s, %x", seed, a, b, n)
		}
	}
}

// A request whose first line is too long fails in a proxy, and then the replica keeps nothing at all.
func TestASelectorIsNeverTooLong(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 0))
	var many Set
	for range 500 {
		first := random.Uint64N(math.MaxUint64 - 1<<40)
		many = many.or(Set{{first, first + random.Uint64N(1<<40)}})
	}
	rough := many.roughly()
	require.Len(t, rough, maxTerms)
	require.Empty(t, many.without(rough), "it has all that it should keep")
	require.Equal(t, many[:10], many[:10].roughly())
	gaps := everything.without(many)
	for _, gap := range gaps {
		if filled := !rough.and(Set{gap}).IsEmpty(); filled {
			for _, left := range everything.without(rough) {
				require.True(t, left.First == 0 || left.Last == math.MaxUint64 || left.Last-left.First >= gap.Last-gap.First,
					"%v was filled, and %v is smaller", gap, left)
			}
		}
	}
}
