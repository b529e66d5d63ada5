// Bug: the smallest comes first.
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
		if newest {
			age = -age
		}
		return cmp.Or(cmp.Compare(shares[a].size, shares[b].size), age)
	})
	return order
}
