// Bug: the first failure already waits for twice the base.
package workqueue

import (
	"time"
)

func backoff(base, limit time.Duration, failures int) time.Duration {
	if base <= 0 {
		return 0
	}
	failures = min(failures, 62) + 1
	if failures > 62 || base > limit>>failures {
		return limit
	}
	return base << failures
}
