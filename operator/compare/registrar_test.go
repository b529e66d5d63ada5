package compare

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
)

// token is the one that the registrar accepts.
const token = "correct"

// desk is the registrar that the operator talks to, with faults on demand. The mutex guards all fields below it.
type desk struct {
	server *httptest.Server

	mu    sync.Mutex
	hosts map[string]string
	calls map[string]bool // what it was asked, and what it answered
	down  bool
	held  *held
}

// held is a method whose next request is not answered before somebody says so.
type held struct {
	method  string
	arrived chan struct{} // closed by the first request
	release chan struct{} // closed by release
	once    sync.Once
}

func newDesk() *desk {
	d := &desk{hosts: map[string]string{}, calls: map[string]bool{}}
	d.server = httptest.NewServer(d)
	return d
}

// hold makes requests of a method wait. It returns a function that waits for the first one, and another one
// that lets all of them go on.
func (d *desk) hold(method string) (arrived func(context.Context) error, release func()) {
	h := &held{method: method, arrived: make(chan struct{}), release: make(chan struct{})}
	d.mu.Lock()
	d.held = h
	d.mu.Unlock()
	arrived = func(ctx context.Context) error {
		select {
		case <-h.arrived:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("nobody has called the registrar with %s: %w", method, context.Cause(ctx))
		}
	}
	return arrived, sync.OnceFunc(func() {
		d.mu.Lock()
		d.held = nil
		d.mu.Unlock()
		close(h.release)
	})
}

func (d *desk) setDown(down bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.down = down
}

func (d *desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	d.mu.Lock()
	waiting := d.held
	d.mu.Unlock()
	if waiting != nil && waiting.method == r.Method {
		waiting.once.Do(func() { close(waiting.arrived) })
		select {
		case <-waiting.release:
		case <-r.Context().Done():
			return // the client has gone, and was not answered: nothing has happened
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	status := d.answer(r.Method, strings.TrimPrefix(r.URL.Path, "/hosts/"), string(body), r.Header.Get("Authorization"))
	call := fmt.Sprintf("%s %s %q", r.Method, r.URL.Path, body)
	if status != http.StatusNotFound || !d.calls[told(call, http.StatusNoContent)] {
		d.calls[told(call, status)] = true // else a host is given back again, by a cache that was late or a new leader
	}
	w.WriteHeader(status)
}

func told(call string, status int) string { return fmt.Sprintf("%s: %d", call, status) }

func (d *desk) answer(method, host, site, authorization string) int {
	switch {
	case d.down:
		return http.StatusServiceUnavailable
	case authorization != "Bearer "+token:
		return http.StatusForbidden
	case method == http.MethodPut:
		d.hosts[host] = site
		return http.StatusNoContent
	case method == http.MethodDelete && d.hosts[host] == "":
		return http.StatusNotFound
	case method == http.MethodDelete:
		delete(d.hosts, host)
		return http.StatusNoContent
	}
	return http.StatusMethodNotAllowed
}

// registered lists hosts and their sites.
func (d *desk) registered() (lines []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for host, site := range d.hosts {
		lines = append(lines, host+" -> "+site)
	}
	slices.Sort(lines)
	return lines
}

// asked lists what the registrar was asked, each once: how often something is tried is not compared.
func (d *desk) asked() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.calls))
}
