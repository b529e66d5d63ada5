// Bug: the delay stays at the last doubling below the limit, and never reaches the limit.
package workqueue

import "time"

func backoff(base, limit time.Duration, failures int) time.Duration {
	if base <= 0 {
		return 0
	}
	for ; failures > 0 && base <= limit/2; failures-- {
		base *= 2
	}
	return min(base, limit)
}
