// Bug: the last delay that fits is taken for one that does not.
package workqueue

import (
	"time"
)

func backoff(base, limit time.Duration, failures int) time.Duration {
	if base <= 0 {
		return 0
	}
	if failures > 61 || base > limit>>failures {
		return limit
	}
	return base << failures
}
