// Bug: a Pod of which nobody knows since when it is ready is taken for the oldest.
package replicaset

import (
	"math/bits"
	"time"
)

func logarithmOf(moment, now time.Time) int {
	if passed := now.Sub(moment); passed > 0 {
		return bits.Len64(uint64(passed)) - 1
	}
	return -1
}
