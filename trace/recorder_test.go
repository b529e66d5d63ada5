package trace

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestANilRecorderIsOffAndNothingHasToCheckForIt(t *testing.T) {
	var rec *Recorder
	rec.Record(Event{Kind: List})
	assert.False(t, rec.On())
	assert.Empty(t, rec.Events())
	assert.Zero(t, rec.Recorded())
	assert.True(t, rec.Started().IsZero())
}

func TestEventsComeBackInTheOrderOfRecordingWithNumberAndTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := New(8)
		rec.Record(Event{Kind: List, Count: 3})
		time.Sleep(time.Second)
		rec.Record(Event{Kind: WatchEvent, Op: "ADDED"})
		assert.Equal(t, []Event{
			{Seq: 1, Kind: List, Count: 3},
			{Seq: 2, At: time.Second, Kind: WatchEvent, Op: "ADDED"},
		}, rec.Events(), "in a synctest bubble the times must be the bubble's")
	})
}

func TestAFullRingKeepsTheNewestEvents(t *testing.T) {
	rec := New(4)
	for i := range 10 {
		rec.Record(Event{Kind: Note, Count: i})
	}
	events := rec.Events()
	require.Len(t, events, 4)
	assert.Equal(t, 6, events[0].Count)
	assert.Equal(t, 9, events[3].Count)
	assert.EqualValues(t, 10, rec.Recorded())
}

func TestTheSizeIsRoundedUpSoThatNoEventIsLostEarly(t *testing.T) {
	rec := New(5)
	for range 5 {
		rec.Record(Event{Kind: Note})
	}
	assert.Len(t, rec.Events(), 5)
	assert.Len(t, New(0).ring, DefaultSize)
	assert.Len(t, New(1).ring, 1, "who asks for one event must not pay for more")
}

func TestConcurrentWritersLoseNothingAndNumberEverythingOnce(t *testing.T) {
	const writers, each = 8, 500
	rec := New(writers * each)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				rec.Record(Event{Kind: Note, Name: strconv.Itoa(w), Count: i})
			}
		})
	}
	wg.Wait()
	events := rec.Events()
	require.Len(t, events, writers*each)
	next := map[string]int{}
	for i, e := range events {
		require.EqualValues(t, i+1, e.Seq)
		require.Equal(t, next[e.Name], e.Count, "the events of one goroutine must keep their order")
		next[e.Name]++
	}
}

func TestWhatIsDoneInAReconcileIsRecordedInItsName(t *testing.T) {
	r := New(0)
	ctx := WithReconcile(context.Background(), "shop", "Order", "default", "one")
	r.RecordBy(ctx, Event{Kind: Write, Layer: "client", Object: "Pod", Name: "p"})
	r.RecordBy(context.Background(), Event{Kind: Write, Layer: "client"})
	(*Recorder)(nil).RecordBy(ctx, Event{})
	events := r.Events()
	assert.Equal(t, Event{Seq: 1, At: events[0].At, Kind: Write, Layer: "shop", Object: "Pod", Name: "p",
		ToObject: "Order", ToNamespace: "default", ToName: "one"}, events[0])
	assert.Equal(t, "client", events[1].Layer)
}
