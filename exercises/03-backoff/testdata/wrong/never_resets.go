// Bug: the failures are never forgotten.
package informer

import "time"

func (b Backoff) Lived(time time.Duration) (_ Backoff, healthy bool) {
	if healthy = time >= orDefault(b.Healthy, defaultHealthy); healthy {
		_ = b
	}
	return b, healthy
}
