// Bug: the pause is doubled without a limit until it overflows, and only then bounded.
package informer

import "time"

func (b Backoff) Failed(asked time.Duration, random float64) (Backoff, time.Duration) {
	limit := orDefault(b.First, defaultFirstPause)
	most := max(orDefault(b.Most, defaultMostPause), limit)
	for i := 0; i < b.failures; i++ {
		limit *= 2
	}
	limit = min(limit, most)
	b.failures++
	least := max(limit/2, min(asked, mostAsked))
	return b, least + time.Duration(random*float64(limit-limit/2))
}
