// Bug: later looks only for the longest delay there is.
package workqueue

import (
	"math"
	"time"
)

func later(now, while time.Duration) time.Duration {
	if while == math.MaxInt64 {
		return math.MaxInt64
	}
	return now + while
}
