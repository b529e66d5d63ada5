package envtest

import (
	"context"
	"fmt"
	"time"
)

// What the API server makes of a new object it does not announce: discovery has no watch. So there
// is nothing to do but to ask again.
const (
	defaultPollInterval = 100 * time.Millisecond
	// defaultMaxWait is how long installed things may take to be served.
	defaultMaxWait = 10 * time.Second
	// requestLimit is how long installing or removing one list of objects may take.
	requestLimit = time.Minute
)

// poll calls check until it succeeds, and fails with its last error after max.
func poll(ctx context.Context, interval, max time.Duration, what string, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, max)
	defer cancel()
	for {
		last := check(ctx)
		if last == nil {
			return nil
		}
		pause := time.NewTimer(interval)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return fmt.Errorf("%s: not within %s: %w", what, max, last)
		}
	}
}
