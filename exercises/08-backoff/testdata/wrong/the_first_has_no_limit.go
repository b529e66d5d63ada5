// Bug: the first delay may be longer than the limit.
package workqueue

import (
	"time"
)

func backoff(base, limit time.Duration, failures int) time.Duration {
	if base <= 0 {
		return 0
	}
	if failures == 0 {
		return base
	}
	if failures > 62 || base > limit>>failures {
		return limit
	}
	return base << failures
}
