// Bug: all ReplicaSets get the same, whatever their shares are.
package deployment

import "cmp"

func fraction(s share, allowed, current int32) int32 {
	whole := cmp.Or(s.whole, current)
	if whole <= 0 {
		return 0
	}
	return (allowed - whole) / 2
}
