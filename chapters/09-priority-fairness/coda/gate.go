package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
)

// gate is between the controller and the API server. Closed, it holds writes back,
// as a slow server does; reads pass. So the demo, and not the machine's pace, decides what
// happens while a write is under way.
type gate struct {
	mu      sync.Mutex    // guards all below
	way     chan struct{} // closed by open; nil while the gate is open
	held    int           // writes that wait
	changed chan struct{} // closed and replaced when held changes
}

func newGate() *gate { return &gate{changed: make(chan struct{})} }

// wrap is for rest.Config.Wrap.
func (g *gate) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if request.Method != http.MethodGet {
			if err := g.pass(request.Context()); err != nil {
				return nil, err
			}
		}
		return next.RoundTrip(request)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

func (g *gate) pass(ctx context.Context) error {
	g.mu.Lock()
	way := g.way
	if way != nil {
		g.countLocked(1)
	}
	g.mu.Unlock()
	if way == nil {
		return nil
	}
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.countLocked(-1)
	}()
	select {
	case <-way:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (g *gate) countLocked(more int) {
	g.held += more
	close(g.changed)
	g.changed = make(chan struct{})
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.way = make(chan struct{})
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.way)
	g.way = nil
}

// holds waits until that many writes are held back.
func (g *gate) holds(ctx context.Context, n int) error {
	for {
		g.mu.Lock()
		held, changed := g.held, g.changed
		g.mu.Unlock()
		if held >= n {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %d writes, %d are under way: %w", n, held, context.Cause(ctx))
		}
	}
}
