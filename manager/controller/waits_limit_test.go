package controller

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/reconcile"
)

// After many failures, the limiter's delay is a quarter of an hour. A request that begins to wait for
// another object then would be looked at as late as that, with nothing to wake it before.
func TestAWaitThatBeginsAfterFailuresIsLookedAtNoLaterThanTheFallback(t *testing.T) {
	for _, priorities := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var calls calls
			answers := []returns{{Err: errWaiting}, {Err: errWaiting}}
			for range 20 {
				answers = append(answers, returns{Err: errBroken})
			}
			answers = append(answers, returns{Err: reconcile.WaitFor(certificate)})
			c, queue := start(t, Options{WaitFallback: time.Minute, UsePriorityQueue: &priorities, Reconciler: calls.answering(answers...)})
			queue.Add(req("web"))
			for len(calls.all()) < len(answers) {
				time.Sleep(time.Second)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			require.Greater(t, len(calls.all()), len(answers))
			require.NoError(t, c.end())
		})
	}
}
