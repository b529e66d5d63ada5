// Bug: a watch that lives for a moment resets the backoff.
package informer

import "time"

func (b Backoff) Lived(time time.Duration) (_ Backoff, healthy bool) {
	if healthy = time >= 0; healthy {
		b.failures = 0
	}
	return b, healthy
}
