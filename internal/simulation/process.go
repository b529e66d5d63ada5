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
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/metrics/server"
)

// lease is how long the next process waits after a crash. By then all requests of the crashed one
// have arrived.
const lease = 15 * time.Second

// process is the process of the controllers. After a crash none of its requests reaches the server.
type process struct {
	next    http.RoundTripper
	direct  bool // there are no connections
	crashed atomic.Bool
	stop    context.CancelFunc
	running sync.WaitGroup
}

var errCrashed = errors.New("the process has crashed")

// RoundTrip implements http.RoundTripper.
func (p *process) RoundTrip(r *http.Request) (*http.Response, error) {
	if p.crashed.Load() {
		return nil, errCrashed
	}
	if p.direct && r.Method != http.MethodGet {
		// A write that was sent arrives, whatever has become of its sender.
		r = r.WithContext(context.WithoutCancel(r.Context()))
	}
	response, err := p.next.RoundTrip(r)
	if p.crashed.Load() && err == nil {
		response.Body.Close()
		return nil, errCrashed
	}
	return response, err
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
	mgr, err := w.newManager(p)
	for ; err != nil; mgr, err = w.newManager(p) {
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
		switch err := mgr.Start(ctx); {
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

func (w *World) newManager(p *process) (manager.Manager, error) {
	mgr, err := w.emptyManager(p)
	if err != nil {
		return nil, err
	}
	return mgr, w.add(mgr, controllers.Options{
		Controller: controller.Options{GracePeriod: -1},
		Probe:      controllers.ProbeOptions{Skip: true},
	})
}

// emptyManager is the manager of a process, without controllers.
func (w *World) emptyManager(p *process) (manager.Manager, error) {
	return manager.New(w.connect(p, Agent), manager.Options{
		Logger: logr.Discard(), Recorder: w.trace, Metrics: server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
}

// connect is the way of a process to the server.
func (w *World) connect(p *process, agent string) *rest.Config {
	connection := w.connection()
	connection.UserAgent = agent
	connection.WrapTransport = func(next http.RoundTripper) http.RoundTripper {
		p.next, p.direct = way{w, next}, w.network != nil
		return p
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

// Answer is what a proxy sends: with this content type, it's never the API server's Status.
func Answer(r *http.Request, code int, contentType, body string) *http.Response {
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Request: r,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {contentType}},
		Body:   io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
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
		return y.next.RoundTrip(r)
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

// RefusesMisuse checks that Add returns an error that says what it was doing if its controller
// couldn't work: in a manager that has the controller already, in one whose cache can't wait for
// the controller's writes, and if it would probe before its process is the leader. name is the
// controller's name in errors, and index the text if the cache refuses its index.
func RefusesMisuse(t *testing.T, add Add, name, index string) {
	synctest.Test(t, func(t *testing.T) {
		w := New(t, add)
		mgr, err := w.newManager(&process{})
		require.NoError(t, err)
		skip := controllers.Options{Probe: controllers.ProbeOptions{Skip: true}}
		require.ErrorContains(t, add(mgr, skip), index+": ")

		mgr, err = w.emptyManager(&process{})
		require.NoError(t, err)
		require.ErrorContains(t, add(hasty{mgr}, skip),
			name+": a controller that reads what it has written needs a cache")
		warm := controllers.Options{Controller: controller.Options{EnableWarmup: new(true)}}
		require.ErrorContains(t, add(mgr, warm), name+": EnableWarmup")
	})
}

// hasty is a manager whose cache can't wait.
type hasty struct{ manager.Manager }

func (h hasty) GetCache() cache.Cache { return struct{ cache.Cache }{h.Manager.GetCache()} }

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
	stop := sync.OnceFunc(old.end)
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
