package xray

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/trace"
)

// A client that stops reading would keep a goroutine and a copy of the ring until it hangs up.
func TestAClientThatStopsReadingIsLeft(t *testing.T) {
	for _, path := range []string{"", "recording", "timeline"} {
		synctest.Test(t, func(t *testing.T) {
			x := New(trace.New(0))
			x.recorder.Record(event(trace.Enqueue, "one"))
			x.ServeHTTP(stuck{httptest.NewRecorder(), make(chan time.Time, 1)},
				httptest.NewRequest(http.MethodGet, Path+path, nil))
			require.Zero(t, x.downloads)
		})
	}
}

// slow is a connection that takes nine seconds for each piece, and fails after the deadline.
type slow struct {
	*httptest.ResponseRecorder
	limit time.Time
}

func (s *slow) SetWriteDeadline(at time.Time) error { s.limit = at; return nil }
func (s *slow) Write(p []byte) (int, error) {
	time.Sleep(writeLimit - time.Second)
	if time.Now().After(s.limit) {
		return 0, os.ErrDeadlineExceeded
	}
	return s.ResponseRecorder.Write(p)
}

func TestAClientThatReadsSlowlyGetsAll(t *testing.T) {
	for path, want := range map[string]string{"recording": `"name":"last"`,
		"timeline": "default/last"} {
		synctest.Test(t, func(t *testing.T) {
			x := New(trace.New(5000))
			for range 4000 {
				x.recorder.Record(event(trace.Enqueue, "more"))
			}
			x.recorder.Record(event(trace.Enqueue, "last"))
			began := time.Now()
			w := &slow{ResponseRecorder: httptest.NewRecorder()}
			x.ServeHTTP(w, httptest.NewRequest(http.MethodGet, Path+path, nil))
			require.Greater(t, time.Since(began), writeLimit, "it takes longer than one piece may")
			whole := answer(x, http.MethodGet, path).Body.String()
			require.True(t, whole == w.Body.String(), "%q: %d bytes of %d", path, w.Body.Len(), len(whole))
			require.True(t, strings.Contains(whole, want), path)
		})
	}
}

// Each download copies the ring, so as many as somebody likes would take all the memory.
func TestThereIsABoundOfDownloads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := New(trace.New(0))
		x.recorder.Record(event(trace.Enqueue, "one"))
		wake := make(chan struct{})
		for n := range maxDownloads {
			path := []string{"recording", "timeline"}[n%2]
			go x.ServeHTTP(sleeper{httptest.NewRecorder(), make(chan struct{}), wake},
				httptest.NewRequest(http.MethodGet, Path+path, nil))
		}
		synctest.Wait()
		for _, path := range []string{"recording", "timeline"} {
			refused := answer(x, http.MethodGet, path)
			require.Equal(t, http.StatusServiceUnavailable, refused.Code)
			require.Contains(t, refused.Body.String(), "try again")
			require.Equal(t, "10", refused.Header().Get("Retry-After"))
			require.Empty(t, refused.Header().Get("Content-Disposition"), "a browser would save it")
		}
		require.Equal(t, http.StatusOK, answer(x, http.MethodGet, "").Code, "the page is no download")
		close(wake)
		synctest.Wait()
		require.Equal(t, http.StatusOK, answer(x, http.MethodGet, "recording").Code)
	})
}
