package sharding

import (
	"fmt"
	"hash/fnv"
	"math/bits"
	"slices"
	"strings"
)

// Ranges is how many ranges there are. Each is as long as any other: a 1024th of the numbers that
// 64-bit FNV-1a has.
//
// There are that many because namespaces cluster. FNV-1a spreads the last letters of a name hardly
// at all over its highest bits: of ns-000 to ns-999, all lie in two quarters of the numbers, and
// each hundred in less than a sixty-fourth.
const Ranges = 1024

// RangeOf returns the range of a namespace. Objects without one have the range of the empty name.
func RangeOf(namespace string) int { return rangeOf(namespace, Ranges) }

func rangeOf(namespace string, count int) int {
	h := fnv.New64a()
	_, _ = h.Write([]byte(namespace)) // it can't fail
	high, _ := bits.Mul64(h.Sum64(), uint64(count))
	return int(high)
}

// Set is a set of ranges: a value for each.
type Set []bool

// runs calls f with the first range of each run of neighbours, and with the one after its last.
func (s Set) runs(f func(from, to int)) {
	for from := 0; from < len(s); from++ {
		if !s[from] {
			continue
		}
		to := from
		for to < len(s) && s[to] {
			to++
		}
		f(from, to)
		from = to
	}
}

// Has implements informer.Shard.
func (s Set) Has(namespace string) bool { return s[rangeOf(namespace, len(s))] }

// IsEmpty implements informer.Shard.
func (s Set) IsEmpty() bool { return !slices.Contains(s, true) }

// Selector returns what ListOptions.ShardSelector has to be for the objects in these ranges. It's
// empty for an empty set, which a server takes for "all", so don't list then.
func (s Set) Selector() string {
	var parts []string
	s.runs(func(from, to int) {
		parts = append(parts, fmt.Sprintf("shardRange(object.metadata.namespace, '%s', '%s')", bound(from), bound(to)))
	})
	return strings.Join(parts, " || ")
}

// String lists the ranges, as in "0-511 768".
func (s Set) String() string {
	var parts []string
	s.runs(func(from, to int) {
		if to == from+1 {
			parts = append(parts, fmt.Sprint(from))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", from, to-1))
		}
	})
	return strings.Join(parts, " ")
}

// bound is the lowest number of a range. The one after the last is 2^64, which no uint64 can be.
func bound(r int) string {
	if r == Ranges {
		return "0x1" + strings.Repeat("0", 16)
	}
	return fmt.Sprintf("0x%016x", uint64(r)*(1<<64/Ranges))
}
