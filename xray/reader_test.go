package xray

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/trace"
)

// A page that runs the program itself gets what a viewer of a server gets: what is so, and then the
// events as they come.
func TestAPageWithoutAServerGetsTheStateAndTheEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := trace.New(4)
		recorder.Record(trace.Event{Kind: trace.List, Layer: "listwatch", Object: "Secret", Count: 12})
		for range 9 {
			recorder.Record(event(trace.Enqueue, "one"))
		}
		ctx, stop := context.WithCancel(t.Context())
		var got []string
		ended := make(chan error, 1)
		go func() { ended <- Follow(ctx, recorder, func(lines string) { got = append(got, lines) }) }()
		synctest.Wait()
		require.Len(t, got, 1)
		require.Contains(t, got[0], `"caches":[{"object":"Secret","count":12}]`)
		require.Equal(t, 5, strings.Count(got[0], "\n"), "the state and the four events of the ring")
		time.Sleep(time.Second)
		recorder.Record(event(trace.Done, "one"))
		synctest.Wait()
		require.Len(t, got, 2)
		require.Contains(t, got[1], `{"seq":11,`)
		stop()
		require.NoError(t, <-ended)
	})
}
