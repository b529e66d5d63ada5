// Bug: the product is computed with 32 bits.
package deployment

import "cmp"

func fraction(s share, allowed, current int32) int32 {
	whole := cmp.Or(s.whole, current)
	if whole <= 0 {
		return 0
	}
	return (2*s.size*allowed+whole)/(2*whole) - s.size
}
