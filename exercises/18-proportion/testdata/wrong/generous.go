// Bug: fractions are given though nothing is left to be given.
package deployment

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
