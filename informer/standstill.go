package informer

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// guard cuts a request that has come to a standstill. A connection whose other
// end has vanished is silent, and so is a watch on which nothing happens: only a
// time limit can tell them apart.
type guard struct {
	ctx    context.Context // of the request; its cause is a standstill if there was one
	cancel context.CancelCauseFunc
	timer  *time.Timer
	moved  atomic.Uint64 // how many steps forward there were
	ended  atomic.Bool   // no progress is expected any more
}

// errStandstill is the cause of a request that was cut.
var errStandstill = errors.New("cut by the reflector")

func isStandstill(err error) bool { return errors.Is(err, errStandstill) }

const (
	// mostLimits is how many times its limit a stream may take that does move.
	mostLimits = 15
	// looks is how often per limit we look whether it moved. So it is cut after
	// the limit and a quarter of it at the latest.
	looks = 4
)

// newGuard gives the server time to answer at all.
func newGuard(parent context.Context, limit time.Duration) *guard {
	g := &guard{}
	g.ctx, g.cancel = context.WithCancelCause(parent)
	g.timer = time.AfterFunc(limit, func() {
		g.cancel(fmt.Errorf("%w: no answer within %s", errStandstill, limit))
	})
	return g
}

// expectProgress cuts the request when there was no progress for a whole limit,
// or when it takes too long in all. A timer that is reset by each of 50,000
// events would cost more than some of the decoding; one that looks at a counter
// now and then costs nothing.
func (g *guard) expectProgress(limit time.Duration) {
	g.timer.Stop()
	before, still, all := uint64(0), 0, 0
	var timer *time.Timer
	made := make(chan struct{}) // closed below, when timer is set
	timer = time.AfterFunc(limit/looks, func() {
		<-made
		if g.ended.Load() {
			return
		}
		still, all = still+1, all+1
		if moved := g.moved.Load(); moved != before {
			before, still = moved, 0
		}
		if still == looks || all == looks*mostLimits {
			g.cancel(fmt.Errorf("%w: the initial events of a WatchList did not end", errStandstill))
			return
		}
		timer.Reset(limit / looks)
	})
	g.timer = timer
	close(made)
}

func (g *guard) progress() { g.moved.Add(1) }

// expectEnd cuts the request if it has not ended by itself within the limit.
func (g *guard) expectEnd(limit time.Duration) {
	g.ended.Store(true)
	g.timer.Stop()
	g.timer = time.AfterFunc(limit, func() {
		g.cancel(fmt.Errorf("%w: the server did not end the watch when it should have", errStandstill))
	})
}

// explain returns the standstill, if that was what broke the request.
func (g *guard) explain(err error) error {
	if cause := context.Cause(g.ctx); isStandstill(cause) && !isStandstill(err) {
		return fmt.Errorf("%w (%w)", cause, err)
	}
	return err
}

// release ends the request and lets go of what the guard holds.
func (g *guard) release() {
	g.ended.Store(true)
	g.timer.Stop()
	g.cancel(nil)
}
