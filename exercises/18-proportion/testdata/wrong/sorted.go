// Bug: the sizes are returned in the order of their weight, and not of the shares.
package deployment

import (
	"cmp"
	"slices"
)

func proportional(shares []share, allowed, current int32) []int32 {
	sizes := make([]int32, len(shares))
	change := allowed
	for i, s := range shares {
		sizes[i] = s.size
		change -= s.size
	}
	rest := change
	order := largestFirst(shares, change > 0)
	for _, i := range order {
		if rest == 0 {
			break
		}
		part := fraction(shares[i], allowed, current)
		if change > 0 {
			part = min(part, rest)
		} else {
			part = max(part, rest)
		}
		sizes[i] += part
		rest -= part
	}
	for _, i := range order {
		part := max(rest, -sizes[i])
		sizes[i] += part
		rest -= part
	}
	slices.SortFunc(sizes, func(a, b int32) int { return cmp.Compare(b, a) })
	return sizes
}
