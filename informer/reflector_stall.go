package informer

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// stallDetector cuts a request that has stalled. A connection whose other end has vanished sends
// nothing, and neither does a watch of a quiet collection: only a time limit can tell them apart.
type stallDetector struct {
	ctx    context.Context // of the request; its cause is errStalled if that is why it ended
	cancel context.CancelCauseFunc
	timer  *time.Timer
	steps  atomic.Uint64 // how many steps of progress there were
	ended  atomic.Bool   // no progress is expected any more
}

// errStalled is the cause of a request that was cut.
var errStalled = errors.New("cut by the reflector")

func isStalled(err error) bool { return errors.Is(err, errStalled) }

const (
	// maxLimits is how many times its limit a stream may take if it doesn't stall.
	maxLimits = 15
	// checksPerLimit is how often per limit the counter is read. So a stream is cut
	// at the latest a limit and a quarter after its last event.
	checksPerLimit = 4
)

// newStallDetector limits the time until the server answers at all.
func newStallDetector(parent context.Context, limit time.Duration) *stallDetector {
	d := &stallDetector{}
	d.ctx, d.cancel = context.WithCancelCause(parent)
	d.timer = time.AfterFunc(limit, func() {
		d.cancel(fmt.Errorf("%w: no answer within %s", errStalled, limit))
	})
	return d
}

// expectProgress cuts the request after a whole limit without progress, or when it takes too long
// in all. Resetting a timer for each of 50,000 events would cost more than some of the decoding;
// checking a counter now and then costs nothing.
func (d *stallDetector) expectProgress(limit time.Duration) {
	d.timer.Stop()
	before, stalled, all := uint64(0), 0, 0
	var timer *time.Timer
	made := make(chan struct{}) // closed below, when timer is set
	timer = time.AfterFunc(limit/checksPerLimit, func() {
		<-made
		if d.ended.Load() {
			return
		}
		stalled, all = stalled+1, all+1
		if moved := d.steps.Load(); moved != before {
			before, stalled = moved, 0
		}
		if stalled == checksPerLimit || all == checksPerLimit*maxLimits {
			d.cancel(fmt.Errorf("%w: the initial events of a WatchList did not end", errStalled))
			return
		}
		timer.Reset(limit / checksPerLimit)
	})
	d.timer = timer
	close(made)
}

func (d *stallDetector) step() { d.steps.Add(1) }

// expectEnd cuts the request if it hasn't ended by itself within the limit.
func (d *stallDetector) expectEnd(limit time.Duration) {
	d.ended.Store(true)
	d.timer.Stop()
	d.timer = time.AfterFunc(limit, func() {
		d.cancel(fmt.Errorf("%w: the server did not end the watch when it should have", errStalled))
	})
}

// explain adds that the request was cut, if that's why it failed.
func (d *stallDetector) explain(err error) error {
	if cause := context.Cause(d.ctx); isStalled(cause) && !isStalled(err) {
		return fmt.Errorf("%w (%w)", cause, err)
	}
	return err
}

// release ends the request and stops the timer.
func (d *stallDetector) release() {
	d.ended.Store(true)
	d.timer.Stop()
	d.cancel(nil)
}
