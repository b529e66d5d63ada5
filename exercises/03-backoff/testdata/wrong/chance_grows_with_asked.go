// Bug: chance is as large as what the server asked for: who is asked for 20 s waits up to 40 s.

package informer

import "time"

type Backoff struct {
	First   time.Duration
	Most    time.Duration
	Healthy time.Duration

	failures int
}

const (
	defaultFirstPause = time.Second
	defaultMostPause  = 30 * time.Second
	defaultHealthy    = 10 * time.Second
	mostAsked         = 5 * time.Minute
)

func (b Backoff) Failures() int { return b.failures }
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
func (b Backoff) Lived(time time.Duration) (_ Backoff, healthy bool) {
	if healthy = time >= orDefault(b.Healthy, defaultHealthy); healthy {
		b.failures = 0
	}
	return b, healthy
}
func orDefault(value, byDefault time.Duration) time.Duration {
	if value <= 0 {
		return byDefault
	}
	return value
}
