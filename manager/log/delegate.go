package log

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
)

// patience is how long a program may log without a logger before a message on standard error says
// so.
const patience = 30 * time.Second

// root holds the program's sink, once it's set.
type root struct {
	sink    atomic.Pointer[logr.LogSink] // nil until set
	created time.Time
	told    atomic.Bool
	tell    io.Writer
}

// newRoot drops the monotonic clock reading: the wall clock of a synctest bubble starts in the year
// 2000, so a test there seems to run before this moment, and missed doesn't report its lines.
func newRoot() *root { return &root{created: time.Now().Round(0), tell: os.Stderr} }

func (r *root) set(sink logr.LogSink) {
	if sink == nil {
		sink = NullLogSink{}
	}
	if own, is := behindSlog(sink).(*delegate); is && own.root == r { // each line would call itself
		fmt.Fprint(r.tell, "loopwright: log.SetLogger was called with log.Log, or with a logger "+
			"that was made from it. It has nowhere to write. Call SetLogger with one that has, "+
			"such as zap.New().\n")
		return
	}
	r.sink.CompareAndSwap(nil, &sink)
}

// behindSlog returns the sink that lines reach through slog: FromSlog of a handler from Slog.
func behindSlog(sink logr.LogSink) logr.LogSink {
	through, is := sink.(logr.Underlier)
	if !is {
		return sink
	}
	handler := through.GetUnderlying()
	for shown, is := handler.(*references); is; shown, is = handler.(*references) {
		handler = shown.Handler
	}
	return logr.FromSlogHandler(handler).GetSink()
}

// missed is called when a line is lost because there's no sink.
func (r *root) missed() {
	if time.Now().Round(0).Sub(r.created) < patience || !r.told.CompareAndSwap(false, true) {
		return
	}
	fmt.Fprintf(r.tell, "loopwright: log.SetLogger was never called, so log lines are lost. "+
		"Call it at the start of main.\nThe first line that was lost after %v came from:\n%s",
		patience, debug.Stack())
}

// delegate is a sink that forwards to the program's sink, which may not be set yet.
//
// It stores its parent, and the step from the parent's sink to its own. Once the program has a
// sink, it takes these steps, once. A child points to its parent and not the other way round, so
// that loggers that were dropped before SetLogger are garbage-collected. controller-runtime keeps
// them all in a tree, because there the parent hands the sink down.
type delegate struct {
	root   *root
	parent *delegate                       // nil for Log's delegate
	step   func(logr.LogSink) logr.LogSink // nil for Log's delegate
	found  atomic.Pointer[resolved]        // nil until the root has a sink
}

// resolved is a sink in two forms. derive is for making further sinks. call is for writing: it
// skips one more frame when it looks up the caller, because the delegate's own method is in
// between.
type resolved struct{ derive, call logr.LogSink }

var _ logr.CallDepthLogSink = (*delegate)(nil)

// resolve returns nil as long as the root has no sink. Goroutines that run it at the same time
// compute the same result, so it doesn't matter which one is stored.
func (d *delegate) resolve() *resolved {
	if found := d.found.Load(); found != nil {
		return found
	}
	var sink logr.LogSink
	if d.parent == nil {
		set := d.root.sink.Load()
		if set == nil {
			return nil
		}
		sink = *set
	} else {
		above := d.parent.resolve()
		if above == nil {
			return nil
		}
		sink = d.step(above.derive)
	}
	found := &resolved{derive: sink, call: deeper(sink, 1)}
	d.found.Store(found)
	return found
}

// deeper is the same sink for a caller that is this many frames further away.
func deeper(sink logr.LogSink, frames int) logr.LogSink {
	if s, ok := sink.(logr.CallDepthLogSink); ok {
		return s.WithCallDepth(frames)
	}
	return sink
}

// child returns the sink that one step leads to: the real one if it's known.
func (d *delegate) child(step func(logr.LogSink) logr.LogSink) logr.LogSink {
	if found := d.resolve(); found != nil {
		return step(found.derive)
	}
	return &delegate{root: d.root, parent: d, step: step}
}

// Init implements logr.LogSink. The real sink was initialized when its own logger was made.
func (d *delegate) Init(logr.RuntimeInfo) {}

// Enabled implements logr.LogSink.
func (d *delegate) Enabled(level int) bool {
	if found := d.resolve(); found != nil {
		return found.call.Enabled(level)
	}
	d.root.missed()
	return false
}

// Info implements logr.LogSink.
func (d *delegate) Info(level int, msg string, keysAndValues ...any) {
	if found := d.resolve(); found != nil {
		found.call.Info(level, msg, keysAndValues...)
	}
}

// Error implements logr.LogSink. Unlike Info, logr calls it without asking Enabled.
func (d *delegate) Error(err error, msg string, keysAndValues ...any) {
	if found := d.resolve(); found != nil {
		found.call.Error(err, msg, keysAndValues...)
		return
	}
	d.root.missed()
}

// WithName implements logr.LogSink.
func (d *delegate) WithName(name string) logr.LogSink {
	return d.child(func(s logr.LogSink) logr.LogSink { return s.WithName(name) })
}

// WithValues implements logr.LogSink.
func (d *delegate) WithValues(keysAndValues ...any) logr.LogSink {
	kept := slices.Clone(keysAndValues) // the slice is the caller's, and is used later
	return d.child(func(s logr.LogSink) logr.LogSink { return s.WithValues(kept...) })
}

// WithCallDepth implements logr.CallDepthLogSink. controller-runtime's delegate doesn't, so lines
// of loggers that were made before SetLogger show the file and line of a logging helper instead of
// its caller.
func (d *delegate) WithCallDepth(frames int) logr.LogSink {
	return d.child(func(s logr.LogSink) logr.LogSink { return deeper(s, frames) })
}
