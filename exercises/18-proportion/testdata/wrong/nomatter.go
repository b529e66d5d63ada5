// Bug: all that is new goes to the largest, as if there were no shares.
package deployment

func proportional(shares []share, allowed, _ int32) []int32 {
	sizes := make([]int32, len(shares))
	change := allowed
	for i, s := range shares {
		sizes[i] = s.size
		change -= s.size
	}
	rest := change
	order := largestFirst(shares, change > 0)
	for _, i := range order {
		part := int32(0)
		sizes[i] += part
		rest -= part
	}
	for _, i := range order {
		part := max(rest, -sizes[i])
		sizes[i] += part
		rest -= part
	}
	return sizes
}
