package trace

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestACursorReturnsEachEventOnce(t *testing.T) {
	rec := New(8)
	rec.Record(Event{Kind: Note, Reason: "before"})
	c := rec.Cursor()
	rec.Record(Event{Kind: Note, Reason: "after"})
	events, lost := c.Read()
	require.Len(t, events, 2, "a cursor starts at the oldest event that is held")
	assert.Zero(t, lost)

	events, _ = c.Read()
	assert.Empty(t, events)
	rec.Record(Event{Kind: Note, Reason: "more"})
	events, _ = c.Read()
	require.Len(t, events, 1)
	assert.Equal(t, "more", events[0].Reason)
}

func TestASlowReaderIsToldHowManyEventsItMissed(t *testing.T) {
	rec := New(4)
	c := rec.Cursor()
	for range 10 {
		rec.Record(Event{Kind: Note})
	}
	events, lost := c.Read()
	assert.Len(t, events, 4)
	assert.EqualValues(t, 6, lost)
	_, lost = c.Read()
	assert.Zero(t, lost, "the same events must not be counted as lost twice")
}

func TestWaitWakesEveryReaderAsSoonAsThereIsAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := New(8)
		woken := make(chan time.Duration, 2) // capacity: one for each reader
		for range 2 {
			go func() {
				assert.NoError(t, rec.Cursor().Wait(t.Context()))
				woken <- time.Since(rec.Started())
			}()
		}
		time.Sleep(time.Minute)
		rec.Record(Event{Kind: Note})
		assert.Equal(t, time.Minute, <-woken)
		assert.Equal(t, time.Minute, <-woken)
		assert.Nil(t, rec.changed, "writers must not go on paying for readers that have left")
	})
}

func TestWaitEndsWithItsContextEvenIfTheRecorderIsOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("the demo is over")
		for _, rec := range []*Recorder{nil, New(8)} {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(why) })
			assert.ErrorIs(t, rec.Cursor().Wait(ctx), why)
		}
	})
}

// A reader of a recorder that is off has missed nothing, and must not report that it did.
func TestACursorOfARecorderThatIsOffHasMissedNothing(t *testing.T) {
	var off *Recorder
	events, lost := off.Cursor().Read()
	assert.Empty(t, events)
	assert.Zero(t, lost)
}

func TestReadingALargeRingReturnsAllOfIt(t *testing.T) {
	rec := New(1024)
	for i := range 1000 {
		rec.Record(Event{Kind: Note, Count: i})
	}
	events, lost := rec.Cursor().Read()
	require.Len(t, events, 1000, "reading in small steps must not drop what lies between two steps")
	assert.Zero(t, lost)
	for i, e := range events {
		require.Equal(t, i, e.Count)
	}
}

func TestALiveReaderSeesEveryEventOfBusyWriters(t *testing.T) {
	const writers, each = 4, 1000
	rec := New(writers * each)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				rec.Record(Event{Kind: Note})
			}
		})
	}
	c, seen := rec.Cursor(), 0
	for seen < writers*each {
		require.NoError(t, c.Wait(ctx))
		events, lost := c.Read()
		require.Zero(t, lost)
		seen += len(events)
	}
	wg.Wait()
	assert.Equal(t, writers*each, seen)
}
