package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/loopwright/loopwright/trace"
)

// traffic is between a client or cache and the API server. It counts the requests and shows them in the
// timeline, and it can make watches late, as a server does that has much to do.
type traffic struct {
	recorder *trace.Recorder

	mu    sync.Mutex // guards what follows
	count requests
	late  time.Duration
}

// requests are numbers of requests.
type requests struct{ discovery, reads, watches, writes int }

func (r requests) String() string {
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{{r.discovery, "discovery"}, {r.reads, "get or list"}, {r.watches, "watch"}, {r.writes, "write"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// since returns the requests since the last call.
func (t *traffic) since() requests {
	t.mu.Lock()
	defer t.mu.Unlock()
	count := t.count
	t.count = requests{}
	return count
}

// delay makes what watches say late from now on.
func (t *traffic) delay(late time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.late = late
}

func (t *traffic) lateness() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.late
}

// wrap is for rest.Config.Wrap.
func (t *traffic) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		isWatch := t.saw(request)
		response, err := next.RoundTrip(request)
		if err == nil && isWatch {
			response.Body = &lateBody{response.Body, t}
		}
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

func (t *traffic) saw(request *http.Request) (isWatch bool) {
	query, what := request.URL.Query(), ""
	t.mu.Lock()
	switch {
	case request.Method != http.MethodGet:
		t.count.writes++
		what = strings.TrimSuffix(strings.TrimPrefix(request.Header.Get("Content-Type"), "application/"), "; charset=UTF-8")
	case query.Get("watch") == "true":
		t.count.watches++
		isWatch, what = true, "a watch"
		if query.Get("sendInitialEvents") == "true" {
			what = "a watch, which begins with all objects"
		}
		if strings.Contains(request.Header.Get("Accept"), "as=PartialObjectMetadata") {
			what += "; metadata only"
		}
	case isDiscovery(request.URL.Path):
		t.count.discovery++
		what = "which kinds are there?"
	default:
		t.count.reads++
	}
	t.mu.Unlock()
	if what != "" {
		what = "  (" + what + ")"
	}
	t.recorder.Record(trace.Event{Kind: trace.Note, Layer: "request", Reason: request.Method + " " + request.URL.Path + what})
	return isWatch
}

// isDiscovery is for /api and /apis, and for one version of one group.
func isDiscovery(path string) bool {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	return len(parts) == 1 || len(parts) == 2 && parts[0] == "api" || len(parts) == 3 && parts[0] == "apis"
}

// lateBody is what a watch says, a little later.
type lateBody struct {
	io.ReadCloser
	traffic *traffic
}

func (b *lateBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if late := b.traffic.lateness(); late > 0 {
		time.Sleep(late)
	}
	return n, err
}
