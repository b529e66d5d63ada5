// Bug: a very long delay becomes a moment of the past.
package workqueue

import (
	"time"
)

func later(now, while time.Duration) time.Duration {
	return now + while
}
