// Bug: fractions are rounded down.
package deployment

import "cmp"

func fraction(s share, allowed, current int32) int32 {
	whole := cmp.Or(s.whole, current)
	if whole <= 0 {
		return 0
	}
	size, of, to := int64(s.size), int64(whole), int64(allowed)
	return int32(size*to/of - size)
}
