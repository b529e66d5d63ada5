package cache_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/cache"
)

// proxy stands between a cache and the API server, and may answer in the server's place.
type proxy struct {
	next http.RoundTripper

	mu     sync.Mutex // guards what follows
	answer func(*http.Request) *http.Response
	open   []context.CancelFunc
}

// turn cuts all connections. From now on answer is asked first; nil passes a request on.
func (p *proxy) turn(answer func(*http.Request) *http.Response) {
	p.mu.Lock()
	p.answer = answer
	for _, cut := range p.open {
		cut()
	}
	p.open = nil
	p.mu.Unlock()
	synctest.Wait() // what the server sends from now on is sent to nobody
}

// RoundTrip implements http.RoundTripper.
func (p *proxy) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	if p.answer != nil {
		if answer := p.answer(r); answer != nil {
			p.mu.Unlock()
			answer.Request = r
			return answer, nil
		}
	}
	ctx, cut := context.WithCancel(r.Context())
	p.open = append(p.open, cut)
	p.mu.Unlock()
	return p.next.RoundTrip(r.WithContext(ctx))
}

func says(code int, contentType, body string) *http.Response {
	return fakeapi.Answer(nil, code, contentType, body)
}

func plain404() *http.Response {
	return says(http.StatusNotFound, "text/plain; charset=utf-8", "404 page not found\n")
}

// isDiscovery reports whether a path is one of /api, /apis, a group's or a version's.
func isDiscovery(path string) bool {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	return parts[0] == "api" && len(parts) <= 2 || parts[0] == "apis" && len(parts) <= 3
}

// behindProxy runs a test with a cache whose requests go through a proxy.
func behindProxy(t *testing.T, options cache.Options, test func(t *testing.T, w *world, p *proxy)) {
	t.Helper()
	inServer(t, func(t *testing.T, server *fakeapi.Server) {
		w, p := newWorld(t, server, options), &proxy{}
		config := server.Config()
		config.UserAgent = "the-cache"
		p.next = config.Transport
		config.Transport = p
		var err error
		w.Cache, err = cache.New(config, options)
		require.NoError(t, err)
		test(t, w, p)
	})
}
