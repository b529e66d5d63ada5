// Bug: the shift comes first, and the comparison afterwards.
package workqueue

import (
	"time"
)

func backoff(base, limit time.Duration, failures int) time.Duration {
	if base <= 0 {
		return 0
	}
	return min(base<<failures, limit)
}
