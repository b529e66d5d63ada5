package xray

import (
	"context"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/trace"
)

// untilLast is a viewer that leaves when it has got the event about "last".
type untilLast struct {
	*httptest.ResponseRecorder
	leave func()
}

func (u untilLast) Write(p []byte) (int, error) {
	if strings.Contains(string(p), `"name":"last"`) {
		defer u.leave()
	}
	return u.ResponseRecorder.Write(p)
}

// A viewer that "comes back too late is told how many events it missed", even if the ring turns
// while it's being told. So what it's sent and what it missed are all that was recorded, once.
func TestWhatAViewerIsSentAndWhatItMissedAreAllThereWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		missed := regexp.MustCompile(`event: lost\ndata: (\d+)\n`)
		for round := range 300 {
			seen := uint64(1 + round%5)
			x := New(trace.New(1 + round%3))
			for range 5 {
				x.recorder.Record(event(trace.Enqueue, "more"))
			}
			go func() {
				for range 200 * (round % 20) {
					x.recorder.Record(event(trace.Enqueue, "more"))
				}
				x.recorder.Record(event(trace.Enqueue, "last"))
			}()
			ctx, leave := context.WithCancel(t.Context())
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, Path+"events", nil)
			r.Header.Set("Last-Event-ID", x.id(trace.Event{Seq: seen}))
			w := httptest.NewRecorder()
			x.ServeHTTP(untilLast{w, leave}, r)
			var got uint64
			for line := range strings.Lines(w.Body.String()) {
				if strings.HasPrefix(line, `data: {"seq":`) && !strings.Contains(line, `"kind":"state"`) {
					got++
				}
			}
			for _, lost := range missed.FindAllStringSubmatch(w.Body.String(), -1) {
				n, err := strconv.ParseUint(lost[1], 10, 64)
				require.NoError(t, err)
				got += n
			}
			require.Equal(t, x.recorder.Recorded()-seen, got, "it had %d; %s", seen, w.Body.String())
		}
	})
}
