// Bug: a base below zero is shifted until it is a long delay.
package workqueue

import (
	"time"
)

func backoff(base, limit time.Duration, failures int) time.Duration {
	if failures > 62 || base > limit>>failures {
		return limit
	}
	return base << failures
}
