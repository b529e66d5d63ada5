package informer

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// cutAfter waits until a request is cut and returns how long it lived.
func cutAfter(t *testing.T, d *stallDetector, began time.Time) time.Duration {
	t.Helper()
	select {
	case <-d.ctx.Done():
	case <-time.After(time.Hour):
		t.Fatal("the request was not cut within an hour")
	}
	require.ErrorIs(t, context.Cause(d.ctx), errStalled)
	return time.Since(began)
}

// A server that vanished before it answered must cost the time that the user allowed,
// and no more.
func TestARequestWithoutAnAnswerIsCutAfterItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newStallDetector(t.Context(), 10*time.Second)
		require.Equal(t, 10*time.Second, cutAfter(t, d, time.Now()))
		require.ErrorContains(t, context.Cause(d.ctx), "no answer within 10s")
	})
}

// A stream of 100,000 objects takes longer than it may stall. It must be cut if it stalls, and
// only then.
func TestAStreamIsCutWhenItStalls(t *testing.T) {
	for _, c := range []struct {
		name   string
		events []time.Duration // when they come
		want   time.Duration
	}{
		{"nothing comes", nil, 20 * time.Second},
		{"one event", []time.Duration{12 * time.Second}, 35 * time.Second},
		{"an event just before it would be cut", []time.Duration{19 * time.Second}, 40 * time.Second},
		{"several, and then no more", []time.Duration{3 * time.Second, 18 * time.Second, 34 * time.Second}, 55 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			d := newStallDetector(t.Context(), 10*time.Second)
			d.expectProgress(20 * time.Second)
			for _, at := range c.events {
				time.Sleep(time.Until(began.Add(at)))
				d.progress()
			}
			require.Equal(t, c.want, cutAfter(t, d, began), c.name)
			require.ErrorContains(t, context.Cause(d.ctx), "the initial events of a WatchList did not end")
		})
	}
}

// A server that sends one object every few seconds, forever, would keep a program from ever
// being synced.
func TestAStreamThatDoesNotStallIsCutAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		d := newStallDetector(t.Context(), 10*time.Second)
		d.expectProgress(20 * time.Second)
		go func() {
			for d.ctx.Err() == nil {
				d.progress()
				select {
				case <-time.After(time.Second):
				case <-d.ctx.Done():
				}
			}
		}()
		require.Equal(t, 300*time.Second, cutAfter(t, d, began), "15 times as long as it may stall")
	})
}

// When all initial events have come, a watch may be quiet for as long as it was asked for.
func TestAWatchIsCutOnlyIfTheServerDoesNotEndIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		d := newStallDetector(t.Context(), 10*time.Second)
		d.expectProgress(20 * time.Second)
		time.Sleep(7 * time.Second)
		d.expectEnd(5 * time.Minute)
		require.Equal(t, 5*time.Minute+7*time.Second, cutAfter(t, d, began))
		require.ErrorContains(t, context.Cause(d.ctx), "the server did not end the watch when it should have")
	})
}

// Only a request that we cut has stalled. Whatever else ended it, the machine must not take
// it for a server that stalls.
func TestOnlyARequestThatWasCutHasStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("connection reset")
		d := newStallDetector(t.Context(), 10*time.Second)
		require.Same(t, broken, d.explain(broken), "it broke by itself")
		cutAfter(t, d, time.Now())
		err := d.explain(broken)
		require.ErrorIs(t, err, errStalled)
		require.ErrorIs(t, err, broken)
		require.EqualError(t, err, "cut by the reflector: no answer within 10s (connection reset)")
		require.Same(t, err, d.explain(err), "it says so already")

		d = newStallDetector(t.Context(), 10*time.Second)
		d.expectProgress(20 * time.Second)
		d.release()
		require.ErrorIs(t, d.ctx.Err(), context.Canceled, "a request that nobody reads any more must end")
		time.Sleep(time.Hour)
		require.NotErrorIs(t, context.Cause(d.ctx), errStalled)
		require.Same(t, broken, d.explain(broken))
	})
}
