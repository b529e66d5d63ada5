package main

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// progress waits until each object that has changed was reconciled.
type progress struct {
	reconciles atomic.Int64  // since the epoch began, those in vain included
	first      chan struct{} // closed by the first reconcile of all

	mu    sync.Mutex // guards what follows
	world world
	open  []bool // by number: it's waited for
	left  int
	done  chan struct{} // closed when none is left; a new one in each epoch
}

// newProgress expects all objects.
func newProgress(objects int) *progress {
	p := &progress{world: world{objects: objects, epoch: nothing}, first: make(chan struct{})}
	p.open = make([]bool, world{objects, hourLater}.end())
	p.expect()
	return p
}

// expect begins the next epoch, and expects what's different in it.
func (p *progress) expect() {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.world
	p.world.epoch++
	for number := range p.world.end() {
		p.open[number] = before.version(number) != p.world.version(number)
		if p.open[number] {
			p.left++
		}
	}
	p.done = make(chan struct{})
	p.reconciles.Store(0)
}

// see notes a reconcile.
func (p *progress) see(name string) {
	number := numberOf(name)
	p.reconciles.Add(1)
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.first:
	default:
		close(p.first)
	}
	if p.open[number] {
		p.open[number] = false
		if p.left--; p.left == 0 {
			close(p.done)
		}
	}
}

// rest waits until there have been no reconciles for a second.
func (p *progress) rest() {
	for last := int64(-1); last != p.reconciles.Load(); {
		last = p.reconciles.Load()
		time.Sleep(time.Second)
	}
}

// requests notices when the program asks for all objects.
type requests struct {
	next  http.RoundTripper
	asked chan struct{} // sent to by RoundTrip; one, because only the first request of an epoch counts
}

// RoundTrip implements http.RoundTripper.
func (r *requests) RoundTrip(request *http.Request) (*http.Response, error) {
	query := request.URL.Query()
	if query.Get("sendInitialEvents") == "true" {
		select {
		case r.asked <- struct{}{}:
		default:
		}
	}
	return r.next.RoundTrip(request)
}

func (r *requests) forget() {
	select {
	case <-r.asked:
	default:
	}
}
