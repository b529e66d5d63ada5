// Bug: the whole pause is cut to the most that a server may ask for, so all come back after exactly five minutes.
package informer

import "time"

func (b Backoff) Failed(asked time.Duration, random float64) (Backoff, time.Duration) {
	limit := orDefault(b.First, defaultFirstPause)
	most := max(orDefault(b.Most, defaultMostPause), limit)
	for i := 0; i < b.failures && limit < most; i++ {
		limit *= 2
	}
	limit = min(limit, most)
	b.failures++
	least := max(limit/2, asked)
	return b, min(least+time.Duration(random*float64(limit-limit/2)), max(mostAsked, limit))
}
