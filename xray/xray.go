// Package xray shows in a browser what a program's flight recorder sees: watches, caches, queues,
// workers and writes, while they work.
//
// The page is one file. It gets the recorder's events, and draws the picture itself: from live
// events, from those that the ring still holds, or from a saved file.
//
// Neighbours: below it is only trace. Above it are the manager, which serves it next to pprof, and
// the demos.
package xray

import (
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

// XRay serves the page and its data, at and below the path that it's registered for:
//
//	(nothing)   the page
//	events      the events as they're recorded, as server-sent events
//	recording   everything in the recorder, as JSON lines: see trace.WriteRecording
//	timeline    the same as text; ?controller=, ?namespace= and ?name= choose
//
// Guarantees: a viewer never blocks the program, however slowly it reads. What the ring no longer
// holds comes first, as a state: see trace.State. A viewer for which the ring was too small, or
// that comes back too late, is told how many events it missed, and gets the state again. A server
// that shuts down ends its own viewers, and not another one's. A client that stops reading is
// dropped after 10 seconds, and no more than 16 viewers and 4 downloads are served at a time.
//
// Caveats: anybody who can reach it sees the names of objects, the texts of errors, and the
// conditions in status. It has no other data of objects. If the listener is a loopback address, it
// answers only requests for such a host, so that no web site can read it through a browser on the
// same machine.
type XRay struct {
	recorder *trace.Recorder
	program  string
	steps    *Steps // nil: the page has no buttons

	mu        sync.Mutex // guards all below
	viewers   int
	downloads int
	servers   map[*http.Server]chan struct{} // closed when that server shuts down
}

// New returns an XRay of a recorder. With a nil recorder, it says how to switch it on.
func New(recorder *trace.Recorder) *XRay {
	return &XRay{
		recorder: recorder, program: filepath.Base(os.Args[0]),
		servers: map[*http.Server]chan struct{}{},
	}
}

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
			return trace.WriteRecording(out, x.recorder)
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

// servePage sends the page. It includes its script and its style, and may load nothing else.
func servePage(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'unsafe-inline'; "+
		"style-src 'unsafe-inline'; img-src data:; connect-src 'self'; base-uri 'none'; "+
		"form-action 'none'; frame-ancestors 'self'")
	_, _ = newLimited(w).Write(page)
}

// hostIsExpected returns false for a foreign name that leads to this machine's loopback address: a
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
// waits for all answers, and this one wouldn't end by itself. It's nil if there's no server.
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
