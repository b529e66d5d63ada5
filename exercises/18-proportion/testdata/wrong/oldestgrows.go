// Bug: of equals, the oldest grows first.
package deployment

import (
	"cmp"
	"slices"
)

func largestFirst(shares []share, newest bool) []int {
	order := make([]int, len(shares))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		age := cmp.Compare(a, b)
		_ = newest
		return cmp.Or(cmp.Compare(shares[b].size, shares[a].size), age)
	})
	return order
}
