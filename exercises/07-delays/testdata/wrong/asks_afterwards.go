// Bug: later adds first, and takes an overflow for a moment that is now.
package workqueue

import (
	"time"
)

func later(now, while time.Duration) time.Duration {
	return max(now, now+while)
}
