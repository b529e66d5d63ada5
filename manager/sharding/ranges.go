package sharding

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
)

// hashOf is the number of a namespace: its name's 64-bit FNV-1a. Objects without a namespace have
// the number of the empty name. It's the API server's function, because it compares these numbers
// with a selector's.
func hashOf(namespace string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(namespace)) // it can't fail
	return h.Sum64()
}

// Range is all namespaces whose numbers lie between two bounds, which belong to it.
type Range struct{ First, Last uint64 }

// Set is ranges in ascending order, with a gap between each and the next. It never changes. The zero
// value is empty.
type Set []Range

var everything = Set{{0, math.MaxUint64}}

// Has implements informer.Shard.
func (s Set) Has(namespace string) bool { return s.has(hashOf(namespace)) }

// IsEmpty implements informer.Shard.
func (s Set) IsEmpty() bool { return len(s) == 0 }

func (s Set) has(number uint64) bool {
	_, found := slices.BinarySearchFunc(s, number, func(r Range, number uint64) int {
		switch {
		case r.Last < number:
			return -1
		case r.First > number:
			return 1
		}
		return 0
	})
	return found
}

func (s Set) or(other Set) Set {
	return combine(s, other, func(in, inOther bool) bool { return in || inOther })
}

func (s Set) and(other Set) Set {
	return combine(s, other, func(in, inOther bool) bool { return in && inOther })
}

func (s Set) without(other Set) Set {
	return combine(s, other, func(in, inOther bool) bool { return in && !inOther })
}

// combine goes through all numbers, in steps from one bound to the next: no set changes in between.
func combine(a, b Set, belongs func(inA, inB bool) bool) (c Set) {
	steps := stepsBetween(append(a.bounds(), b.bounds()...))
	for _, step := range steps {
		if belongs(a.has(step.First), b.has(step.First)) {
			c = c.with(step)
		}
	}
	return c
}

// bounds are the numbers at which the set begins and ends to have numbers.
func (s Set) bounds() (all []uint64) {
	for _, r := range s {
		all = append(all, r.First)
		if r.Last < math.MaxUint64 {
			all = append(all, r.Last+1)
		}
	}
	return all
}

// stepsBetween cuts all numbers at some bounds.
func stepsBetween(bounds []uint64) (steps []Range) {
	bounds = append(bounds, 0)
	slices.Sort(bounds)
	bounds = slices.Compact(bounds)
	for i, first := range bounds {
		step := Range{first, math.MaxUint64}
		if i+1 < len(bounds) {
			step.Last = bounds[i+1] - 1
		}
		steps = append(steps, step)
	}
	return steps
}

// with adds a range that lies behind all others.
func (s Set) with(r Range) Set {
	if last := len(s) - 1; last >= 0 && s[last].Last+1 == r.First {
		return append(s[:last:last], Range{s[last].First, r.Last})
	}
	return append(s, r)
}

// maxTerms is how many ranges a selector may have. Each takes 105 bytes of a URL, so they stay below
// the 8 KiB that proxies let pass as a request's first line (nginx by default). The API server itself
// would take 1,162 of them: its parser's limit is 100,000 characters (k8s.io/apiserver v0.36.3,
// pkg/sharding/parser.go, with cel-go v0.26.0, parser/parser.go).
const maxTerms = 64

// roughly returns a set with as many ranges as a selector may have, and with all that s has: what
// lies in its smallest gaps comes along. A cache may keep more than its replica works on.
func (s Set) roughly() Set {
	if len(s) <= maxTerms {
		return s
	}
	gaps := Set{}
	for i, r := range s[1:] {
		gaps = append(gaps, Range{s[i].Last + 1, r.First - 1})
	}
	slices.SortStableFunc(gaps, func(a, b Range) int {
		return cmp.Compare(a.Last-a.First, b.Last-b.First)
	})
	filled := gaps[:len(s)-maxTerms]
	slices.SortFunc(filled, func(a, b Range) int { return cmp.Compare(a.First, b.First) })
	return s.or(filled)
}

// Selector returns what ListOptions.ShardSelector has to be for the objects in these ranges. It's
// empty for an empty set, which a server takes for "all", so don't list then.
func (s Set) Selector() string {
	var terms []string
	for _, r := range s {
		after := "0x1" + strings.Repeat("0", 16) // 2^64, which no uint64 can be
		if r.Last < math.MaxUint64 {
			after = fmt.Sprintf("0x%016x", r.Last+1)
		}
		terms = append(terms, fmt.Sprintf("shardRange(object.metadata.namespace, '0x%016x', '%s')", r.First, after))
	}
	return strings.Join(terms, " || ")
}

// String lists the ranges, as in "0000000000000000-7fffffffffffffff".
func (s Set) String() string {
	var parts []string
	for _, r := range s {
		parts = append(parts, fmt.Sprintf("%016x-%016x", r.First, r.Last))
	}
	return strings.Join(parts, " ")
}
