// Bug: the pause does not grow.
package informer

import "time"

func (b Backoff) Failed(asked time.Duration, random float64) (Backoff, time.Duration) {
	limit := orDefault(b.First, defaultFirstPause)
	most := max(orDefault(b.Most, defaultMostPause), limit)
	for i := 0; i < b.failures && limit < most; i++ {
		limit *= 2
	}
	limit = min(limit, most)
	b.failures = 1
	least := max(limit/2, min(asked, mostAsked))
	return b, least + time.Duration(random*float64(limit-limit/2))
}
