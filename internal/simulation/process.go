package simulation

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/trace"
)

// lease is how long the next process waits after a crash. By then all requests of the crashed one
// have arrived.
const lease = 15 * time.Second

// Process makes the process of some controllers. It connects to the API server as the configuration
// says, and writes to the recorder if that isn't nil. run blocks until its context ends, and leaves
// no goroutine behind. Nothing may run before run is called: it isn't if the World ends first.
type Process func(*rest.Config, *trace.Recorder) (run func(context.Context) error, err error)

// process is a Process that runs. After a crash none of its requests reaches the server.
type process struct {
	direct  bool // there are no connections
	crashed atomic.Bool
	stop    context.CancelFunc
	running sync.WaitGroup
}

var errCrashed = errors.New("the process has crashed")

// crossing is the transport of a process: a process may have several clients.
type crossing struct {
	*process
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (p crossing) RoundTrip(r *http.Request) (*http.Response, error) {
	if p.crashed.Load() {
		return nil, errCrashed
	}
	send := p.next.RoundTrip
	if p.direct && r.Method != http.MethodGet {
		send = p.write
	}
	response, err := send(r)
	if p.crashed.Load() && err == nil {
		response.Body.Close()
		return nil, errCrashed
	}
	return response, err
}

// write sends a write, which arrives even if its sender waits no longer.
func (p crossing) write(r *http.Request) (*http.Response, error) {
	type answer struct {
		response *http.Response
		err      error
	}
	answers := make(chan answer, 1) // the sender may have gone
	go func() {
		response, err := p.next.RoundTrip(r.WithContext(context.WithoutCancel(r.Context())))
		answers <- answer{response, err}
	}()
	select {
	case a := <-answers:
		return a.response, a.err
	case <-r.Context().Done():
		return nil, context.Cause(r.Context())
	}
}

// end stops the process, and waits for its end.
func (p *process) end() {
	p.stop()
	p.running.Wait()
}

// Start starts the process. In a wild World, it tries again if the process doesn't come up, as a
// kubelet does.
func (w *World) Start() {
	w.mu.Lock()
	before := w.process
	w.mu.Unlock()
	p := &process{}
	connection := w.connect(p, Agent)
	run, err := w.controllers(connection, w.trace)
	for ; err != nil; run, err = w.controllers(connection, w.trace) {
		if !w.wild {
			w.T.Errorf("the process does not come up: %v", err)
			return
		}
		w.Count("did not come up")
		select {
		case <-w.done:
			return
		case <-time.After(time.Second):
		}
	}
	// nothing waits below for another goroutine, or the bubble's clock would stand still
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended || w.halted || w.process != before { // somebody else has started one meanwhile
		return
	}
	var ctx context.Context
	ctx, p.stop = context.WithCancel(context.Background())
	p.running.Go(func() {
		switch err := run(ctx); {
		case err == nil || p.crashed.Load() || !w.isNewest(p):
		case !w.wild:
			w.T.Errorf("the process has ended: %v", err)
		case ctx.Err() == nil:
			w.Count("ended")
			w.Tell("the process has ended: %v", err)
			w.others.Go(w.Start)
		}
	})
	if w.process != nil {
		w.old = append(w.old, w.process)
	}
	w.process = p
}

func (w *World) isNewest(p *process) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.process == p
}

// halt ends all processes for good, at once.
func (w *World) halt() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.halted = true
	for _, p := range append(slices.Clone(w.old), w.process) { // only tellWrites halts, so it's there
		p.crashed.Store(true)
		p.stop()
	}
}

// isDown reports whether a process has crashed, and the next one doesn't run yet.
func (w *World) isDown() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.process.crashed.Load()
}

// Stop shuts the process down gracefully.
func (w *World) Stop() {
	w.mu.Lock()
	p := w.process
	w.mu.Unlock()
	p.end()
}

// Restart stops the process, and starts the next one. A fault of watches hits only watches that
// start after it.
func (w *World) Restart() {
	w.Stop()
	w.Start()
}

// connect is the way of a process to the server.
func (w *World) connect(p *process, agent string) *rest.Config {
	p.direct = w.network != nil
	connection := w.connection()
	connection.UserAgent = agent
	connection.WrapTransport = func(next http.RoundTripper) http.RoundTripper {
		return crossing{p, way{w, next}}
	}
	return connection
}

// Connect connects a process that a Cast plays. After kill, none of its requests reaches the server.
func (w *World) Connect(name string) (connection *rest.Config, kill func()) {
	p := &process{}
	return w.connect(p, Agent+"-"+name), func() { p.crashed.Store(true) }
}

// KnowsTerminating sets whether the server knows status.terminatingReplicas, as those from 1.35 on
// do. Others drop the field from the controllers' writes.
func (w *World) KnowsTerminating(does bool) { w.dropsTerminating.Store(!does) }

var terminatingReplicas = regexp.MustCompile(`"terminatingReplicas":\d+`)

// Proxy puts a proxy between the controllers and the server, in place of the one before. It's called
// for each request, and answers it, or returns nil to pass it on. A nil proxy passes everything on.
func (w *World) Proxy(proxy func(*http.Request) *http.Response) {
	if proxy == nil {
		w.proxy.Store(nil)
		return
	}
	w.proxy.Store(&proxy)
}

// way is the transport to the server of w.
type way struct {
	w    *World
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (y way) RoundTrip(r *http.Request) (*http.Response, error) {
	if proxy := y.w.proxy.Load(); proxy != nil {
		if answer := (*proxy)(r); answer != nil {
			if r.Body != nil {
				r.Body.Close()
			}
			return answer, nil
		}
	}
	if !y.w.dropsTerminating.Load() || r.Method != http.MethodPatch ||
		!strings.HasSuffix(r.URL.Path, "/status") {
		return y.roundTrip(r)
	}
	defer r.Body.Close()
	patch, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	patch = terminatingReplicas.ReplaceAll(patch, []byte(`"terminatingReplicas":null`))
	r = r.Clone(r.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(patch)), int64(len(patch))
	return y.next.RoundTrip(r)
}

// roundTrip takes some time, even if a proxy answers at once: a client that tries again at once would
// stop the bubble's clock.
func (y way) roundTrip(r *http.Request) (*http.Response, error) {
	begun := time.Now()
	response, err := y.next.RoundTrip(r)
	if strings.HasPrefix(r.UserAgent(), Agent) && time.Since(begun) < y.w.latency {
		time.Sleep(y.w.latency)
	}
	return response, err
}

// CrashAfter makes the process crash after the server has carried out a matching write. The next
// process starts when the lease has expired.
func (w *World) CrashAfter(match fakeapi.Match, skip int) { w.crashAfter(match, skip, 1) }

// crashAfter is CrashAfter for several writes: a process dies after each. It returns what ends it.
func (w *World) crashAfter(match fakeapi.Match, skip, times int) (end func()) {
	match.UserAgent = Agent
	return w.Server.Inject(fakeapi.Fault{
		Match: match, Skip: skip, Times: times, LoseResponse: true,
		OnHit: func(r fakeapi.Request) {
			w.mu.Lock()
			p := w.process
			if p.crashed.Swap(true) {
				w.mu.Unlock()
				return // another request has crashed it already
			}
			w.counts["crash"]++
			w.counts["crash after "+nameOf(r.Verb, r.Resource, r.Subresource)]++
			w.tellLocked(time.Now(), "crash after: %s", r)
			w.mu.Unlock()
			p.stop()
			w.others.Go(func() {
				select {
				case <-w.done:
				case <-time.After(lease):
					if w.isNewest(p) {
						w.Start()
					}
				}
			})
		},
	})
}

// startBeside starts the next process, and stops the old one a while later. It returns what stops it
// earlier.
func (w *World) startBeside(while time.Duration) (end func()) {
	if w.isDown() {
		return nil
	}
	w.mu.Lock()
	old := w.process
	w.mu.Unlock()
	w.Start()
	w.beside.Add(1)
	var stopped atomic.Bool
	stop := func() {
		old.end()
		if !stopped.Swap(true) {
			w.beside.Add(-1)
		}
	}
	w.Go(func() {
		select {
		case <-w.done:
		case <-time.After(while):
			stop()
			w.Tell("the old process has ended")
		}
	})
	return stop
}
