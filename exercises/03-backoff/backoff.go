package informer

import "time"

// Backoff decides how long to wait before the next attempt: about twice as long
// after each failure, never the same for two clients, and short again after a
// time of health.
//
// It is a value without clock and without a source of random numbers. The zero
// Backoff has seen no failure, and waits a second at most after the first one
// and half a minute at most after many, unless the server asks for more.
type Backoff struct {
	// First is the longest pause after the first failure; the default is 1 s.
	First time.Duration
	// Most is the longest pause of our own making; the default is 30 s. If First
	// is greater, First takes its place.
	Most time.Duration
	// Healthy is how long it must have gone well for the failures to be
	// forgotten; the default is 10 s.
	Healthy time.Duration

	failures int
}

const (
	defaultFirstPause = time.Second
	defaultMostPause  = 30 * time.Second
	defaultHealthy    = 10 * time.Second
	// mostAsked bounds what a server may ask for. A proxy that sends a
	// Retry-After of a day must not silence a controller for a day.
	mostAsked = 5 * time.Minute
)

// Failures is how many there were since it last went well.
func (b Backoff) Failures() int { return b.failures }

// Failed is the pause after one more failure. random is in [0, 1). asked is how
// long the server wants us to stay away (Retry-After), or 0.
func (b Backoff) Failed(asked time.Duration, random float64) (Backoff, time.Duration) {
	return b, time.Second // TODO: count, double, bound, spread, and listen to the server
}

// Lived is told how long it went well, and tells whether that counts as health,
// which makes up for the failures.
func (b Backoff) Lived(time time.Duration) (_ Backoff, healthy bool) {
	return b, true // TODO: how long is long enough, and what does it change?
}

// orDefault is the default where an option is not set.
func orDefault(value, byDefault time.Duration) time.Duration {
	if value <= 0 {
		return byDefault
	}
	return value
}
