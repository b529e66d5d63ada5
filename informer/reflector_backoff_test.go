package informer

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// limits are the longest pauses of a number of failures in a row: those for the
// largest random number there is.
func limits(b Backoff, failures int) []time.Duration {
	var pauses []time.Duration
	for range failures {
		var pause time.Duration
		b, pause = b.Failed(0, 0.999999999)
		pauses = append(pauses, pause.Round(time.Millisecond))
	}
	return pauses
}

// A server that fails is in trouble. Who keeps asking at the same pace keeps it
// there.
// Function: Backoff.Failed
func TestPausesDoubleUpToALimit(t *testing.T) {
	require.Equal(t, []time.Duration{1 * time.Second, 2 * time.Second, 4 * time.Second,
		8 * time.Second, 16 * time.Second, 30 * time.Second, 30 * time.Second},
		limits(Backoff{}, 7), "each pause must be twice the one before, and 30 s at most")
	require.Equal(t, []time.Duration{3 * time.Second, 5 * time.Second, 5 * time.Second},
		limits(Backoff{First: 3 * time.Second, Most: 5 * time.Second}, 3),
		"First and Most must be heeded")
	require.Equal(t, []time.Duration{45 * time.Second, 45 * time.Second},
		limits(Backoff{First: 45 * time.Second}, 2),
		"First is greater than Most: then First is the limit of every pause")
}

// After months of failures a pause that overflows is negative: no pause at all.
// Function: Backoff.Failed
func TestPausesStayBoundedForEver(t *testing.T) {
	b := Backoff{}
	for range 10_000 {
		var pause time.Duration
		b, pause = b.Failed(0, 0.5)
		require.Positive(t, pause, "a pause must never overflow")
		require.LessOrEqual(t, pause, 30*time.Second, "a pause must never exceed the limit")
	}
}

// A thousand clients lose their server in the same millisecond. Without chance
// they all come back in the same millisecond, too.
// Function: Backoff.Failed
func TestPausesAreSpreadByChance(t *testing.T) {
	_, shortest := Backoff{}.Failed(0, 0)
	_, longest := Backoff{}.Failed(0, 0.999999999)
	require.Equal(t, 500*time.Millisecond, shortest,
		"the shortest pause must be the half of the limit: a pause of nothing is no pause")
	require.Equal(t, time.Second, longest.Round(time.Millisecond),
		"the longest pause must be the limit")
	_, middle := Backoff{}.Failed(0, 0.5)
	require.Equal(t, 750*time.Millisecond, middle, "chance must decide between them, evenly")
}

// Retry-After is how a server that is overloaded defends itself. It may cut off
// those who do not listen.
// Function: Backoff.Failed
func TestWhatAServerAsksForIsRespected(t *testing.T) {
	for _, random := range []float64{0, 0.5, 0.999999999} {
		_, pause := Backoff{}.Failed(20*time.Second, random)
		require.GreaterOrEqual(t, pause, 20*time.Second,
			"the server asked for 20 s: come back no earlier")
	}
	_, early := Backoff{}.Failed(20*time.Second, 0)
	_, late := Backoff{}.Failed(20*time.Second, 0.999999999)
	require.Greater(t, late-early, 400*time.Millisecond,
		"everybody was asked to stay away for the same 20 s: spread them, too")
	require.LessOrEqual(t, late, 20500*time.Millisecond,
		"the random part is that of our own pause, half a second here, whatever the server asks for")
	b := Backoff{}
	for range 2 {
		b, _ = b.Failed(20*time.Second, 0)
	}
	require.Equal(t, 2, b.Failures(),
		"a failure must be counted even if the server says how long to stay away")
}

// A server that asks for little is no reason to come back sooner than after
// another failure, and no reason to wait longer than it asked for.
// Function: Backoff.Failed
func TestWhatAServerAsksForCountsFromTheHalfOfTheLimit(t *testing.T) {
	_, earliest := Backoff{}.Failed(100*time.Millisecond, 0)
	require.Equal(t, 500*time.Millisecond, earliest,
		"the server asked for 0.1 s, which is less than the half of the limit: the pause must begin at "+
			"the half all the same")
	_, earliest = Backoff{}.Failed(700*time.Millisecond, 0)
	require.Equal(t, 700*time.Millisecond, earliest,
		"the server asked for 0.7 s, which is more than the half of the limit, though less than the "+
			"limit: come back no earlier")
	_, latest := Backoff{}.Failed(700*time.Millisecond, 0.999999999)
	require.Equal(t, 1200*time.Millisecond, latest.Round(time.Millisecond),
		"the random part must come on top of what the server asked for, as long as ever")
}

// Function: Backoff.Failed
func TestWhatAServerAsksForIsBelievedUpToFiveMinutes(t *testing.T) {
	_, earliest := Backoff{}.Failed(24*time.Hour, 0)
	require.Equal(t, 5*time.Minute, earliest,
		"a proxy that asks for a day must not silence a controller for a day")
	_, latest := Backoff{}.Failed(24*time.Hour, 0.999999999)
	require.Greater(t, latest-earliest, 400*time.Millisecond,
		"everybody was asked to stay away for a day, and comes back after five minutes: spread them, too")
	long := Backoff{First: 20 * time.Minute, Most: 20 * time.Minute}
	_, earliest = long.Failed(30*time.Minute, 0)
	require.Equal(t, 10*time.Minute, earliest,
		"what is asked for must be cut to five minutes before it is compared with the half: here the "+
			"half is ten minutes, and a server that asks for more must not get less")
}

// Function: Backoff.Lived
func TestHealthMakesUpForFailures(t *testing.T) {
	b := Backoff{}
	for range 5 {
		b, _ = b.Failed(0, 0)
	}
	require.Equal(t, 5, b.Failures(), "each failure must be counted")
	b, healthy := b.Lived(2 * time.Second)
	require.True(t, healthy, "2 s without a failure are health")
	require.Zero(t, b.Failures(), "after a time of health the failures must be forgotten, or a "+
		"controller that is up for a month pauses 30 s at each hiccup")
	_, pause := b.Failed(0, 0)
	require.Equal(t, 500*time.Millisecond, pause,
		"after a time of health the next pause must be short again")
}

// Whoever set a longer pause for a weak server would have it until the first watch that
// goes well, and the default ever after.
// Function: Backoff.Lived
func TestHealthMakesNobodyForgetTheOptions(t *testing.T) {
	b, _ := Backoff{First: 8 * time.Second, Most: 20 * time.Second,
		Healthy: time.Minute}.Lived(time.Minute)
	require.Equal(t, []time.Duration{8 * time.Second, 16 * time.Second, 20 * time.Second},
		limits(b, 3), "health makes up for failures, but First and Most are still what they were set to")
	_, healthy := b.Lived(time.Minute - 1)
	require.False(t, healthy, "and so is Healthy")
}

// A server that accepts a watch and ends it at once would be asked a thousand
// times a second if that counted as health.
// Function: Backoff.Lived
func TestAShortLifeIsNoHealth(t *testing.T) {
	b, _ := Backoff{}.Failed(0, 0)
	b, healthy := b.Lived(2*time.Second - 1)
	require.False(t, healthy, "what ends before its time was not healthy")
	require.Equal(t, 1, b.Failures(), "a success that does not last must not reset the backoff")
	b, healthy = Backoff{Healthy: time.Minute, failures: 1}.Lived(time.Minute - 1)
	require.False(t, healthy, "Healthy must be heeded")
	require.Equal(t, 1, b.Failures())
	b, healthy = Backoff{Healthy: time.Second, failures: 1}.Lived(time.Second)
	require.True(t, healthy, "Healthy must be heeded")
	require.Zero(t, b.Failures())
	_, healthy = Backoff{Healthy: 1}.Lived(1)
	require.True(t, healthy, "even the shortest Healthy is one that was set: only zero stands for "+
		"the default")
}

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
		{"several, and then no more", []time.Duration{3 * time.Second, 18 * time.Second,
			34 * time.Second}, 55 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			d := newStallDetector(t.Context(), 10*time.Second)
			d.expectProgress(20 * time.Second)
			for _, at := range c.events {
				time.Sleep(time.Until(began.Add(at)))
				d.step()
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
				d.step()
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
		require.ErrorContains(t, context.Cause(d.ctx),
			"the server did not end the watch when it should have")
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
