// Bug: a ReplicaSet whose whole nobody knows gets no share.
package deployment

import "cmp"

func fraction(s share, allowed, _ int32) int32 {
	whole := cmp.Or(s.whole)
	if whole <= 0 {
		return 0
	}
	size, of, to := int64(s.size), int64(whole), int64(allowed)
	return int32((2*size*to+of)/(2*of) - size)
}
