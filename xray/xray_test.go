package xray

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/trace"
	"github.com/loopwright/loopwright/xray/internal/sources"
)

func TestThePageIsMadeOfTheSourcesThatAreHere(t *testing.T) {
	stamp, err := sources.Stamp("web")
	require.NoError(t, err)
	require.True(t, bytes.HasSuffix(page, []byte(stamp+"\n")), "run: go generate ./xray")
}

func TestAPageWithARecordingIsOneFile(t *testing.T) {
	got := string(Page(`a "bug"`, []byte(`{"reason":"</script><b>"}`+"\n")))
	require.Contains(t, got, `data-name="a &#34;bug&#34;">`+"\n"+`{"reason":"\u003c/script>\u003cb>"}`+"\n</script>\n")
	require.Less(t, strings.Index(got, `id="recording"`), strings.Index(got, `<div id="xray">`))
	require.Greater(t, len(got), len(page))
}

// event is about a request of the controller "shop".
func event(kind trace.Kind, name string) trace.Event {
	return trace.Event{Kind: kind, Layer: "shop", Namespace: "default", Name: name}
}

func answer(x *XRay, method, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	x.ServeHTTP(w, httptest.NewRequest(method, Path+path, nil))
	return w
}

func TestThePageLoadsNothingFromElsewhere(t *testing.T) {
	w := answer(New(trace.New(0)), http.MethodGet, "")
	require.Equal(t, http.StatusOK, w.Code)
	require.Contains(t, w.Body.String(), "<title>X-ray</title>")
	require.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'none'")
	for _, attribute := range []string{`src="http`, `href="http`, "src=\"/", "@import"} {
		require.NotContains(t, w.Body.String(), attribute)
	}
}

func TestWhatIsNotThereSaysSo(t *testing.T) {
	w := answer(New(nil), http.MethodGet, "")
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Contains(t, w.Body.String(), "trace.New(0)")
	x := New(trace.New(0))
	require.Equal(t, http.StatusMethodNotAllowed, answer(x, http.MethodPost, "events").Code)
	require.Equal(t, http.StatusNotFound, answer(x, http.MethodGet, "secrets").Code)
}

func TestTheTimelineIsTextAboutWhatIsAskedFor(t *testing.T) {
	x := New(trace.New(0))
	x.recorder.Record(event(trace.Enqueue, "one"))
	x.recorder.Record(event(trace.Enqueue, "two"))
	got := answer(x, http.MethodGet, "timeline?controller=shop&namespace=default&name=two")
	require.NotContains(t, got.Body.String(), "default/one")
	require.Contains(t, got.Body.String(), "default/two")
	require.Contains(t, got.Body.String(), "added to the queue")
}

// A web site whose name leads to the loopback address must not read a program there.
func TestOnlyThisMachineReadsWhatListensOnTheLoopbackAddress(t *testing.T) {
	x := New(trace.New(0))
	for host, want := range map[string]int{
		"localhost:8082": 200, "127.0.0.1:8082": 200, "[::1]:8082": 200, "localhost": 200,
		"evil.example:8082": 403, "127.0.0.1.evil.example": 403,
	} {
		r := httptest.NewRequest(http.MethodGet, Path, nil)
		r.Host = host
		local := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8082}
		w := httptest.NewRecorder()
		x.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, local)))
		assert.Equal(t, want, w.Code, host)
		// On another address it is the network, and what stands in front, that decide.
		local = &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 8082}
		w = httptest.NewRecorder()
		x.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, local)))
		assert.Equal(t, 200, w.Code, host)
	}
}

// viewer is a browser that reads the events of a server.
type viewer struct {
	*http.Response
	lines *bufio.Reader
}

func view(t *testing.T, url, lastID string) *viewer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+Path+"events", nil)
	require.NoError(t, err)
	request.Header.Set("Last-Event-ID", lastID)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	return &viewer{response, bufio.NewReader(response.Body)}
}

// until reads up to a line with this text in it, and returns that line.
func (v *viewer) until(t *testing.T, text string) string {
	t.Helper()
	for {
		line, err := v.lines.ReadString('\n')
		require.NoError(t, err, "before %q", text)
		if strings.Contains(line, text) {
			return line
		}
	}
}

func serve(t *testing.T, x *XRay) *httptest.Server {
	server := httptest.NewServer(x)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return server
}

func TestAViewerGetsTheEventsAsTheyComeAndGoesOnWhereItWas(t *testing.T) {
	x := New(trace.New(0))
	server := serve(t, x)
	x.recorder.Record(event(trace.Enqueue, "one"))
	first := view(t, server.URL, "")
	require.Equal(t, "text/event-stream", first.Header.Get("Content-Type"))
	first.until(t, "event: hello")
	id := strings.TrimSpace(strings.TrimPrefix(first.until(t, "id: "), "id: "))
	first.until(t, `"name":"one"`)
	x.recorder.Record(event(trace.Enqueue, "two"))
	require.Contains(t, first.until(t, "data: "), `"name":"two"`)

	again := view(t, server.URL, id)
	again.until(t, "event: hello")
	again.until(t, "id: ")
	require.Contains(t, again.until(t, "data: "), `"name":"two"`, "it has the first already")
	restarted := view(t, server.URL, "12345-2") // the number is another program's
	restarted.until(t, "id: ")
	require.Contains(t, restarted.until(t, "data: "), `"name":"one"`)
}

func TestAViewerThatIsTooSlowForTheRingIsToldWhatItMissed(t *testing.T) {
	x := New(trace.New(8))
	x.recorder.Record(event(trace.Enqueue, "one"))
	v := view(t, serve(t, x).URL, "")
	v.until(t, `"name":"one"`)
	for range 100 { // while the viewer pauses between two pictures, or one by one
		x.recorder.Record(event(trace.Enqueue, "more"))
	}
	var missed, got int
	for last := ""; !strings.Contains(last, `"seq":101,`); {
		line, err := v.lines.ReadString('\n')
		require.NoError(t, err)
		switch {
		case strings.HasPrefix(line, "event: lost"):
			missed++
		case strings.Contains(line, `"seq":`):
			got++
		}
		last = line
	}
	require.True(t, got == 100 || missed > 0, "%d of 100 events, and no word of the others", got)
}

// stuck is a connection whose reader has gone to sleep.
type stuck struct {
	http.ResponseWriter
	limit chan time.Time // gets the deadline of each write
}

func (s stuck) SetWriteDeadline(at time.Time) error { s.limit <- at; return nil }
func (s stuck) FlushError() error                   { return nil }
func (s stuck) Write([]byte) (int, error) {
	time.Sleep(time.Until(<-s.limit))
	return 0, os.ErrDeadlineExceeded
}

func TestAViewerThatStopsReadingIsLeftAndBlocksNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := New(trace.New(16))
		done := make(chan struct{})
		go func() {
			defer close(done)
			x.ServeHTTP(stuck{httptest.NewRecorder(), make(chan time.Time, 1)},
				httptest.NewRequest(http.MethodGet, Path+"events", nil))
		}()
		for range 1000 {
			x.recorder.Record(event(trace.Enqueue, "one")) // returns, with nobody who reads
		}
		<-done
		require.Zero(t, x.viewers)
	})
}

func TestAServerThatStopsDoesNotWaitForItsViewers(t *testing.T) {
	x := New(trace.New(0))
	server := serve(t, x)
	v := view(t, server.URL, "")
	v.until(t, "event: hello")
	require.NoError(t, server.Config.Shutdown(t.Context()))
	_, err := io.ReadAll(v.lines)
	require.NoError(t, err, "the answer ends in good order")
}

func TestThereIsABoundOfViewers(t *testing.T) {
	x := New(trace.New(0))
	server := serve(t, x)
	for range maxViewers {
		view(t, server.URL, "").until(t, "event: hello")
	}
	require.Equal(t, http.StatusServiceUnavailable, view(t, server.URL, "").StatusCode)
}

func TestARecordingIsServedAndAnythingElseRefused(t *testing.T) {
	dir := t.TempDir()
	recording, notes := filepath.Join(dir, "a bug.jsonl"), filepath.Join(dir, "notes.txt")
	recorder := trace.New(0)
	recorder.Record(event(trace.Enqueue, "one"))
	saved := answer(New(recorder), http.MethodGet, "recording")
	require.Contains(t, saved.Header().Get("Content-Disposition"), ".jsonl")
	require.NoError(t, os.WriteFile(recording, saved.Body.Bytes(), 0o600))
	require.NoError(t, os.WriteFile(notes, []byte("one more thing\n"), 0o600))

	ctx, stop := context.WithCancel(t.Context())
	urls, ended := make(chan string, 1), make(chan error, 1)
	go func() { ended <- ServeFile(ctx, recording, func(url string) { urls <- url }) }()
	url := <-urls
	get := func(path string) string {
		response, err := http.Get(url + path)
		require.NoError(t, err)
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return string(body)
	}
	require.Contains(t, get(""), "<title>X-ray</title>")
	require.Equal(t, saved.Body.String(), get("recording/a%20bug.jsonl"))
	stop()
	require.NoError(t, <-ended)

	require.ErrorContains(t, ServeFile(t.Context(), notes, nil), "isn't a recording")
	require.ErrorContains(t, ServeFile(t.Context(), filepath.Join(dir, "none"), nil), "no such file")
	require.ErrorContains(t, ServeFile(t.Context(), dir, nil), dir)
}

// A page that is opened after an hour would show a machine without a single object.
func TestANewViewerIsToldWhatTheRingHasForgotten(t *testing.T) {
	x := New(trace.New(4))
	x.recorder.Record(trace.Event{Kind: trace.List, Layer: "listwatch", Object: "Secret", Count: 12})
	for range 9 {
		x.recorder.Record(event(trace.Enqueue, "one"))
	}
	v := view(t, serve(t, x).URL, "")
	v.until(t, "id: ")
	state := v.until(t, "data: ")
	require.Contains(t, state, `{"seq":6,`)
	require.Contains(t, state, `"caches":[{"object":"Secret","count":12}]`)
	require.Contains(t, v.until(t, "data: "), `{"seq":7,`, "the ring goes on there")
	require.Contains(t, answer(x, http.MethodGet, "recording").Body.String(), strings.TrimSpace(strings.TrimPrefix(state, "data: ")))
}

// A laptop that was closed for an hour would show a picture with a hole in it, and nothing would say so.
func TestAViewerThatComesBackTooLateIsToldWhatItMissed(t *testing.T) {
	x := New(trace.New(8))
	x.recorder.Record(trace.Event{Kind: trace.List, Layer: "listwatch", Object: "Secret"})
	server := serve(t, x)
	id := strings.TrimSpace(strings.TrimPrefix(view(t, server.URL, "").until(t, "id: "), "id: "))
	for range 20 {
		x.recorder.Record(event(trace.Enqueue, "more"))
	}
	again := view(t, server.URL, id)
	var all strings.Builder
	for !strings.Contains(all.String(), `"seq":21,`) {
		line, err := again.lines.ReadString('\n')
		require.NoError(t, err)
		all.WriteString(line)
	}
	require.Contains(t, all.String(), "event: lost\ndata: 12\n", "it has event 1, and the ring has the last 8 of 21")
	require.Contains(t, all.String(), `{"seq":13,`, "what is so after the gap")
	require.Contains(t, all.String(), `"caches":[{"object":"Secret","count":0}]`)
}

// A program may serve the page on two ports. To shut one of them down must neither end the viewers of the other nor crash
// the program.
func TestOneXRayOnTwoServersOutlivesTheFirst(t *testing.T) {
	x := New(trace.New(0))
	first, second := serve(t, x), serve(t, x)
	gone, stays := view(t, first.URL, ""), view(t, second.URL, "")
	gone.until(t, "event: hello")
	stays.until(t, "event: hello")
	require.NoError(t, first.Config.Shutdown(t.Context()))
	require.NoError(t, first.Config.Shutdown(t.Context()), "a second shutdown is none")
	_, err := io.ReadAll(gone.lines)
	require.NoError(t, err)
	x.recorder.Record(event(trace.Enqueue, "later"))
	stays.until(t, `"name":"later"`)
	view(t, second.URL, "").until(t, `"name":"later"`)
	require.NoError(t, second.Config.Shutdown(t.Context()))
	_, err = io.ReadAll(stays.lines)
	require.NoError(t, err)
}

// A monitor that asks with HEAD whether the page is there would take up the place of a viewer, 16 times.
func TestAHeadRequestIsNoViewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := New(trace.New(0))
		for _, path := range []string{"", "events", "recording", "timeline"} {
			done := make(chan struct{})
			go func() {
				defer close(done)
				x.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodHead, Path+path, nil))
			}()
			synctest.Wait()
			select {
			case <-done:
			default:
				t.Fatalf("HEAD %s has no end", path)
			}
			require.Zero(t, x.viewers, path)
		}
	})
}

// A viewer asks for the recording over a slow line and goes to sleep. The program goes on recording, and other viewers
// get theirs.
func TestADownloadThatStopsBlocksNothing(t *testing.T) {
	x := New(trace.New(16))
	x.recorder.Record(event(trace.Enqueue, "one"))
	for _, path := range []string{"recording", "timeline"} {
		asleep := sleeper{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
		go x.ServeHTTP(asleep, httptest.NewRequest(http.MethodGet, Path+path, nil))
		<-asleep.begun
		for range 100 {
			x.recorder.Record(event(trace.Enqueue, "more"))
		}
		require.Contains(t, answer(x, http.MethodGet, path).Body.String(), "more")
		close(asleep.wake)
		x.recorder.Record(event(trace.Enqueue, "one"))
	}
}

// sleeper is a connection whose reader sleeps until wake is closed.
type sleeper struct {
	http.ResponseWriter
	begun, wake chan struct{}
}

func (s sleeper) Write(p []byte) (int, error) {
	select {
	case <-s.begun:
	default:
		close(s.begun)
	}
	<-s.wake
	return len(p), nil
}

// One button of the page sends a few words. A body without an end must not fill the memory.
func TestAPressWithAHugeBodyIsRefused(t *testing.T) {
	x := New(trace.New(0))
	x.steps = NewSteps(x.recorder)
	w := httptest.NewRecorder()
	body := &counter{Reader: io.MultiReader(strings.NewReader(`{"do":"`), endless{})}
	r := httptest.NewRequest(http.MethodPost, Path+"steps", body)
	x.ServeHTTP(w, r)
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.Less(t, body.n, 10_000, "it has read as much of the body as anybody sends")
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

// counter counts what is read.
type counter struct {
	io.Reader
	n int
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += n
	return n, err
}
