// Bug: the delay grows by the base each time, and does not double.
package workqueue

import (
	"time"
)

func backoff(base, limit time.Duration, failures int) time.Duration {
	if base <= 0 {
		return 0
	}
	if int64(failures) >= int64(limit/base) {
		return limit
	}
	return base * time.Duration(failures+1)
}
