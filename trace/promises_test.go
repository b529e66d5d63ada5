package trace

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// "Events are numbered without a gap", and a reader "learns how many it missed": however far it lags
// behind writers that overwrite the ring while it reads.
func TestWhatAReaderGetsAndWhatItMissesAreAllThereWas(t *testing.T) {
	const writers, each = 4, 20_000
	r := New(64)
	c := r.Cursor() // before the writers: it begins with the oldest event that is still there
	var writing sync.WaitGroup
	for range writers {
		writing.Go(func() {
			for range each {
				r.Record(Event{Kind: Note})
			}
		})
	}
	done := make(chan struct{})
	go func() { writing.Wait(); close(done) }()
	var got, missed, last uint64
	read := func() {
		events, lost := c.Read()
		missed += lost
		got += uint64(len(events))
		for _, e := range events {
			require.Greater(t, e.Seq, last)
			last = e.Seq
		}
	}
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		read()
	}
	read()
	require.EqualValues(t, writers*each, r.Recorded())
	require.EqualValues(t, writers*each, last)
	require.EqualValues(t, writers*each, got+missed)
}

// "The end of ctx comes first: a reader that lags behind always has something to Read."
func TestAReaderThatLagsBehindCanBeStopped(t *testing.T) {
	r := New(4)
	r.Record(Event{Kind: Note})
	ctx, cancel := context.WithCancel(t.Context())
	c := r.Cursor()
	require.NoError(t, c.Wait(ctx))
	cancel()
	for range 100 {
		require.ErrorIs(t, c.Wait(ctx), context.Canceled)
	}
	events, _ := c.Read()
	require.Len(t, events, 1, "the last Read gets the rest")
}

// "All methods may be called on a nil Recorder."
func TestARecorderThatIsOffIsAlwaysEmpty(t *testing.T) {
	var off *Recorder
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.False(t, off.On())
	off.Record(Event{Kind: Note})
	require.Zero(t, off.Recorded())
	require.True(t, off.Started().IsZero())
	require.Empty(t, off.Events())
	events, lost := off.Cursor().Read()
	require.Empty(t, events)
	require.Zero(t, lost)
	require.ErrorIs(t, off.Cursor().Wait(ended), context.Canceled)
}
