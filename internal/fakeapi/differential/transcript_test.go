package differential

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

const (
	eventually = 20 * time.Second
	pollEvery  = 50 * time.Millisecond
)

// client plays requests and writes down what came back.
type client struct {
	t       *testing.T
	ctx     context.Context
	cfg     *rest.Config
	http    *http.Client
	base    string
	ns      string
	norm    *normaliser
	lines   []string
	watches []*watching
	compact func() // makes the server forget its history
}

// response is one answer, with the JSON body decoded if it is JSON.
type response struct {
	code int
	raw  []byte
	body map[string]any
	head http.Header
}

// str digs a string out of the body.
func (r response) str(path ...string) string {
	var at any = r.body
	for _, key := range path {
		m, ok := at.(map[string]any)
		if !ok {
			return ""
		}
		at = m[key]
	}
	s, _ := at.(string)
	return s
}

func (r response) rv() string { return r.str("metadata", "resourceVersion") }

// note writes a line into the transcript.
func (c *client) note(format string, args ...any) {
	c.lines = append(c.lines, c.norm.text(fmt.Sprintf(format, args...)))
}

// expand fills in {ns} and other placeholders.
func (c *client) expand(s string) string { return strings.ReplaceAll(s, "{ns}", c.ns) }

const patchJSON, patchMerge = "application/json-patch+json", "application/merge-patch+json"
const patchStrategic, patchApply = "application/strategic-merge-patch+json", "application/apply-patch+yaml"

func (c *client) send(method, path, body string, headers ...string) response {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.ctx, method, c.base+c.expand(path), strings.NewReader(c.expand(body)))
	require.NoError(c.t, err)
	req.Header.Set("User-Agent", "scenario/1")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := c.http.Do(req)
	require.NoError(c.t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(c.t, err)
	r := response{code: resp.StatusCode, raw: raw, head: resp.Header}
	_ = json.Unmarshal(raw, &r.body)
	return r
}

// silently sends a request that is not part of the transcript.
func (c *client) silently(method, path, body string, headers ...string) response {
	return c.send(method, path, body, headers...)
}

// do sends a request and writes down the answer.
func (c *client) do(method, path, body string, headers ...string) response {
	c.t.Helper()
	r := c.send(method, path, body, headers...)
	c.note("%s %s -> %d %s", method, path, r.code, c.norm.body(r))
	for _, w := range r.head.Values("Warning") {
		c.note("warning %s", w)
	}
	return r
}

func (c *client) get(path string, headers ...string) response {
	return c.do(http.MethodGet, path, "", headers...)
}
func (c *client) post(path, body string, headers ...string) response {
	return c.do(http.MethodPost, path, body, headers...)
}
func (c *client) put(path, body string, headers ...string) response {
	return c.do(http.MethodPut, path, body, headers...)
}
func (c *client) patch(kind, path, body string) response {
	return c.do(http.MethodPatch, path, body, "Content-Type", kind)
}
func (c *client) delete(path, body string) response {
	return c.do(http.MethodDelete, path, body)
}

// edit changes an object that came back and returns it as a body.
func (r response) edit(change func(obj map[string]any)) string {
	var copied map[string]any
	_ = json.Unmarshal(r.raw, &copied)
	change(copied)
	out, _ := json.Marshal(copied)
	return string(out)
}

func child(m map[string]any, path ...string) map[string]any {
	for _, key := range path {
		next, ok := m[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			m[key] = next
		}
		m = next
	}
	return m
}

// watching is one watch; its events arrive as lines of JSON.
type watching struct {
	c      *client
	cancel context.CancelFunc
	// lines is written and closed by the reader; it has room for what a
	// scenario may leave unread.
	lines chan string
	done  chan struct{} // closed when the reader has ended
}

// watch starts a watch and writes down how it was answered.
func (c *client) watch(path string, headers ...string) *watching {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.ctx)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+c.expand(path), nil)
	require.NoError(c.t, err)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := c.http.Do(req)
	require.NoError(c.t, err)
	c.note("watch %s -> %d", path, resp.StatusCode)
	w := &watching{c: c, cancel: cancel, lines: make(chan string, 1000), done: make(chan struct{})}
	c.watches = append(c.watches, w)
	go func() {
		defer close(w.done)
		defer close(w.lines)
		defer resp.Body.Close()
		scanner := bufio.NewScanner(resp.Body)
		scanner.Buffer(nil, 1<<20)
		for scanner.Scan() {
			w.lines <- scanner.Text()
		}
	}()
	return w
}

// next writes down the next event, or that the watch ended.
func (w *watching) next() map[string]any {
	w.c.t.Helper()
	select {
	case line, ok := <-w.lines:
		if !ok {
			w.c.note("  watch ended")
			return nil
		}
		var e map[string]any
		require.NoError(w.c.t, json.Unmarshal([]byte(line), &e), line)
		object, _ := e["object"].(map[string]any)
		w.c.note("  %v %s", e["type"], w.c.norm.object(object, e["type"] == "BOOKMARK"))
		return e
	case <-time.After(eventually):
		w.c.note("  no event")
		return nil
	}
}

// events writes down the next n events.
func (w *watching) events(n int) {
	for range n {
		w.next()
	}
}

// quiet writes down whether something came within d.
func (w *watching) quiet(d time.Duration) {
	select {
	case line, ok := <-w.lines:
		if ok {
			w.c.note("  not quiet: %s", line)
		} else {
			w.c.note("  watch ended")
		}
	case <-time.After(d):
		w.c.note("  quiet")
	}
}

func (w *watching) stop() { w.cancel(); <-w.done }

// until asks again until the answer is as wanted, and writes that down.
func (c *client) until(path string, want func(response) bool) {
	c.t.Helper()
	deadline := time.Now().Add(3 * eventually)
	for time.Now().Before(deadline) {
		if r := c.silently(http.MethodGet, path, ""); want(r) {
			c.note("reached: %s %d", path, r.code)
			return
		}
		time.Sleep(pollEvery)
	}
	c.note("never reached: %s", path)
}
