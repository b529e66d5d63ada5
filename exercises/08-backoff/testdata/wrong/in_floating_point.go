// Bug: the delay is computed in floating point, which does not hold 63 bits.
package workqueue

import (
	"math"
	"time"
)

func backoff(base, limit time.Duration, failures int) time.Duration {
	delay := float64(base) * math.Pow(2, float64(failures))
	if delay > float64(limit) {
		return limit
	}
	return max(0, time.Duration(delay))
}
