package envtest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestPollEndsWithTheFirstSuccessOrTheLastError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, tries := time.Now(), 0
		assert.NoError(t, poll(t.Context(), time.Second, time.Minute, "waiting", func(context.Context) error {
			if tries++; tries < 3 {
				return errors.New("not yet")
			}
			return nil
		}))
		assert.Equal(t, 2*time.Second, time.Since(start))

		err := poll(t.Context(), time.Second, 10500*time.Millisecond, "waiting for it", func(context.Context) error { return errors.New("not yet") })
		assert.EqualError(t, err, "waiting for it: not within 10.5s: not yet")
		assert.Equal(t, 12500*time.Millisecond, time.Since(start))

		assert.Error(t, poll(t.Context(), time.Second, time.Minute, "waiting", func(ctx context.Context) error {
			<-ctx.Done() // a request that hangs
			return ctx.Err()
		}))
		assert.Equal(t, 72500*time.Millisecond, time.Since(start))
	})
}
