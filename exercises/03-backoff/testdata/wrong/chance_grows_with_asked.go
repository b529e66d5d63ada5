// Bug: chance is as large as what the server asked for, so a client that is told to wait 20 s waits up to 40 s.
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
	least := max(limit/2, min(asked, mostAsked))
	return b, least + time.Duration(random*float64(max(limit-limit/2, least)))
}
