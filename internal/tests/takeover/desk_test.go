package takeover

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"sync"
	"testing"
	"time"
)

// desk is the only address that a process knows: it takes the process's reports, and leads its other
// requests to the API server. The test can let the reports wait, and cut the rest off.
type desk struct {
	process string
	checker *checker
	api     *httputil.ReverseProxy
	server  *httptest.Server
	over    chan struct{} // closed when the test is

	mu     sync.Mutex         // guards what follows
	visits map[string]*visit  // the process's, by object
	holds  chan struct{}      // closed when answers to begin needn't wait any more; nil if they needn't
	way    way                // to the API server
	cut    context.Context    // ends with the connection
	cutOff context.CancelFunc // ends cut
}

// reports is the beginning of the paths that aren't the API server's.
const reports = "/report/"

// way is what becomes of requests to the API server.
type way int

const (
	open   way = iota
	silent     // nobody answers, and nobody hangs up either
	closed     // connections end at once
)

// work is how long a reconcile takes.
const work = 100 * time.Millisecond

func newDesk(t *testing.T, process string, c *checker, api *httputil.ReverseProxy) *desk {
	d := &desk{process: process, checker: c, api: api, visits: map[string]*visit{},
		over: make(chan struct{})}
	d.cut, d.cutOff = context.WithCancel(context.Background())
	d.server = httptest.NewServer(d)
	t.Cleanup(func() {
		close(d.over)
		d.cutOff()
		d.server.CloseClientConnections()
		d.server.Close()
	})
	return d
}

// ServeHTTP implements http.Handler.
func (d *desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch object, how := r.URL.Query().Get("object"), r.URL.Query().Get("how"); {
	case r.URL.Path == reports+"begin":
		at, err := time.Parse(time.RFC3339Nano, how)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		d.begin(r.Context(), object, at)
	case r.URL.Path == reports+"end":
		d.end(object, how)
	default:
		d.lead(w, r)
	}
}

// begin returns when the process may go on.
func (d *desk) begin(ctx context.Context, object string, at time.Time) {
	v := d.checker.begins(d.process, object, at)
	d.mu.Lock()
	d.visits[object] = v
	d.mu.Unlock()
	select {
	case <-time.After(work):
	case <-ctx.Done():
		return
	}
	for {
		d.mu.Lock()
		holds := d.holds
		if holds == nil {
			d.checker.goesOn(v)
		}
		d.mu.Unlock()
		if holds == nil {
			return
		}
		select {
		case <-holds:
		case <-ctx.Done():
			return
		}
	}
}

func (d *desk) end(object, result string) {
	d.mu.Lock()
	v := d.visits[object]
	delete(d.visits, object)
	d.mu.Unlock()
	if v != nil {
		d.checker.ends(v, result)
	}
}

// hold lets all reconciles wait that haven't been told to go on yet, until release is called.
func (d *desk) hold() (release func()) {
	holds := make(chan struct{})
	d.mu.Lock()
	defer d.mu.Unlock()
	d.holds = holds
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.holds = nil
		close(holds)
	}
}

// lead passes a request on to the API server.
func (d *desk) lead(w http.ResponseWriter, r *http.Request) {
	if object := configMapOf(r); object != "" {
		d.checker.writes(d.process, object)
	}
	d.mu.Lock()
	at, cut := d.way, d.cut
	d.mu.Unlock()
	if at == open {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(cut, cancel)()
		d.pass(w, r.WithContext(ctx))
		if cut.Err() == nil {
			return
		}
		d.mu.Lock()
		at = d.way
		d.mu.Unlock()
	}
	if at == silent {
		select {
		case <-r.Context().Done(): // which doesn't come if the body wasn't read
		case <-d.over:
		}
	}
	panic(http.ErrAbortHandler)
}

// pass passes it on, and returns when the answer has ended, in whatever way.
func (d *desk) pass(w http.ResponseWriter, r *http.Request) {
	defer func() {
		if err := recover(); err != nil && err != http.ErrAbortHandler {
			panic(err)
		}
	}()
	d.api.ServeHTTP(w, r)
}

// cuts ends all requests to the API server, and lets no other one pass.
func (d *desk) cuts(way way) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.way = way
	d.cutOff()
}

// configMapOf is the ConfigMap that a request writes; "" if it writes none.
func configMapOf(r *http.Request) string {
	parts := strings.Split(r.URL.Path, "/") // "" api v1 namespaces N configmaps M
	if r.Method != http.MethodPut || len(parts) != 7 || parts[5] != "configmaps" {
		return ""
	}
	return parts[4] + "/" + parts[6]
}
