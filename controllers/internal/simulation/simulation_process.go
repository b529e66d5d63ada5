package simulation

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager"
)

// lease is how long the next process waits after a crash. What the dead one has sent has arrived then.
const lease = 15 * time.Second

// process is the controllers' process. When it has crashed, no request of it reaches the server.
type process struct {
	next    http.RoundTripper
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
	response, err := p.next.RoundTrip(r)
	if p.crashed.Load() && err == nil {
		response.Body.Close()
		return nil, errCrashed
	}
	return response, err
}

// Start starts the process. One that does not come up is started again, as a kubelet does it.
func (w *World) Start() {
	p := &process{}
	mgr, err := w.newManager(p)
	for ; err != nil; mgr, err = w.newManager(p) {
		w.Count("did not come up")
		select {
		case <-w.done:
			return
		case <-time.After(time.Second):
		}
	}
	w.mu.Lock() // nothing waits below for another goroutine, or the bubble's clock would stand still
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	var ctx context.Context
	ctx, p.stop = context.WithCancel(context.Background())
	p.running.Go(func() {
		if err := mgr.Start(ctx); err != nil && !p.crashed.Load() && ctx.Err() == nil {
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

// Restart stops the process in good order, and starts the next one. Faults of watches hit those that begin.
func (w *World) Restart() {
	w.mu.Lock()
	p := w.process
	w.mu.Unlock()
	p.stop()
	p.running.Wait()
	w.Start()
}

func (w *World) newManager(p *process) (manager.Manager, error) {
	connection := w.Server.Config()
	connection.UserAgent = Agent
	connection.WrapTransport = func(next http.RoundTripper) http.RoundTripper { p.next = next; return p }
	return w.options.Controllers(connection)
}

// CrashAfter lets the process crash after a write that matches has been carried out. Its successor starts when its
// lease has run out.
func (w *World) CrashAfter(match fakeapi.Match, skip int) {
	what := match.Verb + " " + match.Resource
	if match.Subresource != "" {
		what += "/" + match.Subresource
	}
	w.Tell("the process will crash after: %s", what)
	match.UserAgent = Agent
	w.lifts = append(w.lifts, w.Server.Inject(fakeapi.Fault{
		Match: match, Skip: skip, Times: 1, LoseResponse: true,
		OnHit: func(r fakeapi.Request) {
			w.mu.Lock()
			p := w.process
			if p.crashed.Swap(true) {
				w.mu.Unlock()
				return // two of its requests were on their way
			}
			w.options.Did["crash"]++
			w.options.Did["crash after "+what]++
			w.tellLocked("crash after: %s", r)
			w.mu.Unlock()
			p.stop()
			w.others.Go(func() {
				select {
				case <-w.done:
				case <-time.After(lease):
					w.Start()
				}
			})
		},
	}))
}
