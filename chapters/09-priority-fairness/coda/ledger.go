package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/loopwright/loopwright/trace"
)

// ledger reads the controller's flight recorder. It counts events, shows the important ones,
// and knows when the controller has nothing left to do.
type ledger struct {
	show *trace.Recorder // the demo's: what is recorded there is printed

	mu      sync.Mutex // guards all below
	counts  counts     // of this step
	events  []trace.Event
	quiet   bool // this step is not shown
	asked   int  // handlers that were called and have not added their key yet
	open    int  // pieces of work that were added and are not done
	failed  map[string]bool
	told    map[object]string // the version of each object at its last handler call, or gone
	awaited map[object]string // what a handler has yet to be called for: a version or gone
	lost    uint64            // events that were overwritten before they were read
	changed chan struct{}     // closed and replaced at each event
}

// object names an object in the recorder.
type object struct{ kind, namespace, name string }

// counts are what the table shows. An add that was merged is not work of its own: once all
// work is done, reconciles = adds - merged.
type counts struct{ events, adds, merged, reconciles, writes int }

func (c counts) row(title string) []string {
	row := []string{title}
	for _, n := range []int{c.events, c.adds, c.merged, c.reconciles, c.writes} {
		row = append(row, strconv.Itoa(n))
	}
	return row
}

func newLedger(show *trace.Recorder) *ledger {
	return &ledger{show: show, failed: map[string]bool{}, told: map[object]string{}, awaited: map[object]string{}, changed: make(chan struct{})}
}

// follow reads until the context ends, and then what was recorded before that.
func (l *ledger) follow(ctx context.Context, recorder *trace.Recorder) {
	cursor := recorder.Cursor()
	for ended := false; !ended; {
		ended = cursor.Wait(ctx) != nil
		events, lost := cursor.Read()
		l.mu.Lock()
		l.lost += lost
		for _, event := range events {
			l.takeLocked(event)
		}
		close(l.changed)
		l.changed = make(chan struct{})
		l.mu.Unlock()
	}
}

func (l *ledger) takeLocked(event trace.Event) {
	l.events = append(l.events, event)
	about := object{event.Object, event.Namespace, event.Name}
	switch event.Kind {
	case trace.WatchEvent:
		l.counts.events++
	case trace.Handler:
		l.asked++
		l.told[about] = event.Version
		if event.Op == "deleted" {
			l.told[about] = gone
		}
		l.checkLocked(about)
	case trace.Enqueue:
		l.counts.adds++
		if event.Reason != failedBefore {
			l.asked--
		}
		if event.Outcome == trace.Deduplicated {
			l.counts.merged++
		} else {
			l.open++
		}
	case trace.ReconcileEnd:
		l.counts.reconciles++
		l.failed[event.Name] = event.Outcome == trace.Failed
	case trace.Done:
		l.open--
	case trace.Write:
		if event.Outcome == trace.Succeeded {
			l.counts.writes++
			l.awaited[about] = event.Version // a deletion has none
			l.checkLocked(about)
		}
	}
	if !l.quiet && slices.Contains(shown, event.Kind) {
		l.show.Record(event)
	}
}

// shown are the kinds of events in the live timeline. The last step shows all.
var shown = []trace.Kind{trace.WatchStart, trace.WatchEvent, trace.WatchEnd, trace.Expired, trace.Error, trace.Backoff, trace.Enqueue, trace.Delay, trace.Write}

// gone stands for the version of an object that is not there any more.
const gone = ""

// checkLocked forgets what is awaited of an object once a handler was called for it.
func (l *ledger) checkLocked(about object) {
	awaited, waits := l.awaited[about]
	told, heard := l.told[about]
	if !waits || !heard {
		return
	}
	order, err := resourceversion.CompareResourceVersion(told, awaited)
	if told == awaited || err == nil && order >= 0 {
		delete(l.awaited, about)
	}
}

// expect keeps the controller from counting as idle until a handler has been called for a
// version of an object.
func (l *ledger) expect(about object, version string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.awaited[about] = version
	l.checkLocked(about)
}

// idleLocked is true when the handlers were called for all changes, the controller's own
// writes included, and everything has been worked on.
func (l *ledger) idleLocked() bool {
	for _, failed := range l.failed {
		if failed {
			return false
		}
	}
	return l.asked == 0 && l.open == 0 && len(l.awaited) == 0
}

// until waits for something. met is called with the lock held.
func (l *ledger) until(ctx context.Context, what string, met func() bool) error {
	for {
		l.mu.Lock()
		is, changed, counts, lost := met(), l.changed, l.counts, l.lost
		l.mu.Unlock()
		if lost > 0 {
			return fmt.Errorf("waiting for %s: %d events were lost, so nothing can be counted", what, lost)
		}
		if is {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s, at %+v: %w", what, counts, context.Cause(ctx))
		}
	}
}

// wrote waits until the step has made so many writes, and the controller is idle.
func (l *ledger) wrote(ctx context.Context, writes int) error {
	return l.until(ctx, fmt.Sprintf("%d writes and an idle controller", writes), func() bool {
		return l.counts.writes >= writes && l.idleLocked()
	})
}

// looked waits until the step has had so many adds, and the controller is idle.
func (l *ledger) looked(ctx context.Context, adds int) error {
	return l.until(ctx, fmt.Sprintf("%d adds and an idle controller", adds), func() bool {
		return l.counts.adds >= adds && l.idleLocked()
	})
}

// heard waits until the handlers have been called for all that is expected.
func (l *ledger) heard(ctx context.Context) error {
	return l.until(ctx, "the handlers to be called for all changes", func() bool { return len(l.awaited) == 0 })
}

// begin starts a step: it forgets what happened before, and counts from zero.
func (l *ledger) begin(shown bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts, l.events, l.quiet = counts{}, nil, !shown
}

// step is what happened since begin.
func (l *ledger) step() (counts, []trace.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts, slices.Clone(l.events)
}
