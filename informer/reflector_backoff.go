package informer

import "time"

// Backoff decides how long to wait until the next attempt: about twice as long after each failure,
// never the same for two clients, and short again after a healthy time.
//
// It's a value without clock and without a source of random numbers. The zero Backoff has seen no
// failure. It waits a second at most after the first one and half a minute at most after many,
// unless the server wants more. client-go's reflector waits 0.8 to 1.6 s at first, and 30 to 60 s
// in the end, because it adds the random part to the limit.
type Backoff struct {
	// First is the longest pause after the first failure; the default is 1 s.
	First time.Duration
	// Most is the longest pause of our own making; the default is 30 s. If First is greater, First
	// replaces it.
	Most time.Duration
	// Healthy is how long things must have gone well for the failures to be forgotten; the default
	// is 2 s. If a server ends every watch, it bounds how often we ask that server: once in that
	// time, in the worst case.
	Healthy time.Duration

	failures int
}

const (
	defaultFirstPause = time.Second
	defaultMostPause  = 30 * time.Second
	defaultHealthy    = 2 * time.Second
	// mostAsked bounds the pause that a server may demand. A proxy that sends a Retry-After of a
	// day mustn't stop a controller for a day.
	mostAsked = 5 * time.Minute
)

// Failures is how many there were since things last went well.
func (b Backoff) Failures() int { return b.failures }

// Failed is the pause after one more failure. random is in [0, 1). asked is how long the server
// wants us to stay away (Retry-After), or 0.
//
// A pause is drawn between half of a limit and the limit. The half keeps a client from coming back
// at once by a lucky draw; the rest spreads a thousand clients that have lost the same server. The
// pause that a server demands is spread, too: otherwise a server that sends everybody away for a
// second would see all of them again after exactly one. (Algorithm: "equal jitter", M. Brooker,
// Exponential Backoff And Jitter, AWS 2015.)
func (b Backoff) Failed(asked time.Duration, random float64) (Backoff, time.Duration) {
	limit := orDefault(b.First, defaultFirstPause)
	most := max(orDefault(b.Most, defaultMostPause), limit)
	for i := 0; i < b.failures && limit < most; i++ {
		limit *= 2
	}
	limit = min(limit, most)
	b.failures++
	least := max(limit/2, min(asked, mostAsked))
	return b, least + time.Duration(random*float64(limit-limit/2))
}

// Lived gets how long things went well, and says whether that counts as health, which makes up for
// the failures. Success isn't enough: a server that accepts every watch and ends it at once would
// reset the backoff each time, and be asked without a pause forever.
func (b Backoff) Lived(time time.Duration) (_ Backoff, healthy bool) {
	if healthy = time >= orDefault(b.Healthy, defaultHealthy); healthy {
		b = b.Forget()
	}
	return b, healthy
}

// Forget is for a sign of health that needs no time, such as an event.
func (b Backoff) Forget() Backoff {
	b.failures = 0
	return b
}

// orDefault returns the default for an option that isn't set.
func orDefault(value, byDefault time.Duration) time.Duration {
	if value <= 0 {
		return byDefault
	}
	return value
}
