package fakeapi_test

import "time"

// stopwatch measures real time. It must be started outside of a synctest
// bubble, where the clock is virtual.
func stopwatch() func() time.Duration {
	begin := time.Now()
	return func() time.Duration { return time.Since(begin) }
}
