// Bug: the delay grows beyond the limit.
package workqueue

import (
	"time"
)

func backoff(base, limit time.Duration, failures int) time.Duration {
	if base <= 0 {
		return 0
	}
	if failures > 62 || base > (1<<62)>>failures {
		return limit
	}
	return base << failures
}
