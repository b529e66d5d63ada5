// Package xray shows in a browser what a program's flight recorder sees: watches, caches, queues,
// workers and writes, while they work.
//
// The page is one file. It gets the recorder's events, and makes the picture of them itself: of
// the live ones, of those that the ring still holds, and of a file that somebody has saved.
//
// Neighbours: below it is only trace. Above it are the manager, which serves it next to pprof, and
// the demos.
package xray

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/loopwright/loopwright/trace"
)

// Path is where a manager serves the page.
const Path = "/debug/xray/"

//go:generate go run ./internal/build

//go:embed page.html
var page []byte

// maxViewers bounds how many pages are open at a time.
const maxViewers = 16

// XRay serves the page and what it needs, at and below the path that it is registered for:
//
//	(nothing)   the page
//	events      the events as they are recorded, as server-sent events
//	recording   the events that there are, as JSON lines: see trace.WriteJSON
//	timeline    the same as text; ?controller=, ?namespace= and ?name= choose
//
// Guarantees: a viewer never blocks the program, however slowly it reads. One for which the ring was
// too small, or that comes back too late, is told how many events it missed. A server that shuts
// down ends its own viewers, and not those of another one. A client that stops reading is dropped
// after 10 seconds, and no more than 16 viewers and 4 downloads are served at a time.
//
// Caveats: whoever can reach it sees the names of objects, and the texts of errors. It has no
// data of objects. Where the listener is a loopback address, it answers only requests for such a
// host, so that no web site can read it through a browser on the same machine.
type XRay struct {
	recorder *trace.Recorder
	program  string
	steps    *Steps // nil: the page has no buttons

	mu        sync.Mutex // guards all below
	open      *openEvents
	viewers   int
	downloads int
	servers   map[*http.Server]chan struct{} // closed when that server shuts down
}

// New returns an XRay of a recorder. With a nil one, it says how to switch it on.
func New(recorder *trace.Recorder) *XRay {
	return &XRay{
		recorder: recorder, program: filepath.Base(os.Args[0]), open: newOpenEvents(),
		servers: map[*http.Server]chan struct{}{},
	}
}

// followEvery bounds what Start costs: at most one ring full of events is copied in this time.
const followEvery = 100 * time.Millisecond

// Start remembers what is still so when the ring has forgotten the event that said so: the state
// of watches, what waits and what runs. It ends with ctx. Without it, a viewer sees what the ring
// holds.
func (x *XRay) Start(ctx context.Context) error {
	for cursor := x.recorder.Cursor(); cursor.Wait(ctx) == nil; {
		events, lost := cursor.Read()
		x.mu.Lock()
		if lost > 0 {
			x.open.forgetRequests() // their ends may be among the lost ones
		}
		x.open.note(events...)
		x.mu.Unlock()
		select {
		case <-time.After(followEvery):
		case <-ctx.Done():
		}
	}
	return nil
}

// NeedLeaderElection makes a manager start it in every replica.
func (x *XRay) NeedLeaderElection() bool { return false }

// ServeHTTP implements http.Handler.
func (x *XRay) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	switch {
	case !hostIsExpected(r):
		http.Error(w, "open it as localhost", http.StatusForbidden)
	case x.steps != nil && r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/steps"):
		x.serveSteps(w, r)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "only GET is possible here", http.StatusMethodNotAllowed)
	case !x.recorder.On():
		http.Error(w, "The flight recorder is off. Set Recorder in the manager's options to "+
			"trace.New(0).", http.StatusServiceUnavailable)
	default:
		x.serve(w, r)
	}
}

func (x *XRay) serve(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:] {
	case "":
		servePage(w)
	case "events":
		if r.Method == http.MethodHead {
			return // the answer has no end, and nobody reads it
		}
		x.serveEvents(w, r)
	case "recording":
		name := fmt.Sprintf("%s-%s.jsonl", x.program, time.Now().UTC().Format("20060102-150405"))
		x.serveDownload(w, "application/jsonl", func(out io.Writer) error {
			w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name))
			return trace.WriteJSON(out, x.recorder.Started(), x.events(x.recorder.Events()))
		})
	case "timeline":
		query := r.URL.Query()
		line := trace.Timeline{Filter: trace.Filter{
			Layer: query.Get("controller"), Namespace: query.Get("namespace"),
			Name: query.Get("name"),
		}}
		x.serveDownload(w, "text/plain; charset=utf-8", func(out io.Writer) error {
			return line.Write(out, x.recorder.Events())
		})
	default:
		http.NotFound(w, r)
	}
}

// servePage sends the page. It has its script and its style in it, and may load nothing else.
func servePage(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'unsafe-inline'; "+
		"style-src 'unsafe-inline'; img-src data:; connect-src 'self'; base-uri 'none'; "+
		"form-action 'none'; frame-ancestors 'self'")
	_, _ = newLimited(w).Write(page)
}

// events adds what is still so to the events of the ring, which has forgotten it.
func (x *XRay) events(ring []trace.Event) []trace.Event {
	if len(ring) == 0 {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return append(x.open.before(ring[0].Seq), ring...)
}

// hostIsExpected is false if a name leads to this machine's loopback address that should not: a
// web site can change where its name leads, and its script could then read the answer.
func hostIsExpected(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok || !local.IP.IsLoopback() {
		return true
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// enter counts a viewer, until leave. The channel is closed when its server shuts down: a shutdown
// waits for all answers, and this one has no end of its own. It's nil if there is no server.
func (x *XRay) enter(r *http.Request) (ended <-chan struct{}, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.viewers == maxViewers {
		return nil, fmt.Errorf("%d pages are open already; close one of them", maxViewers)
	}
	x.viewers++
	server, ok := r.Context().Value(http.ServerContextKey).(*http.Server)
	if !ok {
		return nil, nil
	}
	shutdown, known := x.servers[server]
	if !known {
		shutdown = make(chan struct{})
		x.servers[server] = shutdown
		server.RegisterOnShutdown(sync.OnceFunc(func() { close(shutdown) }))
	}
	return shutdown, nil
}

func (x *XRay) leave() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.viewers--
}
