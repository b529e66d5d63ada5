package demo

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
)

// A reader who pressed nothing must not be told that the demo was interrupted.
func TestADemoThatEndedByItselfWasNotInterrupted(t *testing.T) {
	for name, result := range map[string]error{"well": nil, "with an error": errors.New("a leek is no fruit")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				interrupted := false
				err := untilSignal(ctx, stop, func() { interrupted = true }, func() error { return result })
				synctest.Wait()
				assert.Equal(t, result, err)
				assert.False(t, interrupted)
				assert.Error(t, ctx.Err(), "signals are still caught: Ctrl-C would do nothing")
			})
		})
	}
}

// A reader who pressed Ctrl-C must see that it was noticed.
func TestADemoThatASignalEndsSaysSoWhileItCleansUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		interrupted := false
		cleanUp := func() error {
			synctest.Wait()
			assert.False(t, interrupted)
			stop() // as the first signal does
			synctest.Wait()
			assert.True(t, interrupted, "nobody was told before the cleaning up")
			return context.Cause(ctx)
		}
		assert.ErrorIs(t, untilSignal(ctx, stop, func() { interrupted = true }, cleanUp), context.Canceled)
	})
}
