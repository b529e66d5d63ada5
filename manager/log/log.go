// Package log is where a program's logger is kept, and where code finds it.
//
// main sets the logger once, with SetLogger. A package variable takes its own from Log, maybe long
// before that; a reconciler takes the one in its context, which has the request's name in it.
//
// Neighbours: below it is only logr. Above it are all packages of the manager. Package log/zap
// makes a logger from zap; FromSlog makes one from log/slog.
package log

import (
	"context"

	"github.com/go-logr/logr"
)

// Log is the logger of the program. Use it, and the loggers that are made of it, before SetLogger
// as well: what they are told until then is lost, and from then on they write.
//
// If nobody has called SetLogger after 30 seconds, a message on standard error says so, once.
// Unlike controller-runtime, a logger that is set even later is taken.
var Log = logr.New(&delegate{root: program})

// RuntimeLog is the logger of Loopwright's own packages.
var RuntimeLog = Log.WithName("loopwright")

// program is the one place that SetLogger fills.
var program = newRoot()

// SetLogger sets the logger that Log and all loggers made of it write to. The first call counts, and
// later ones do nothing: half of a program's loggers may have been made already.
func SetLogger(l logr.Logger) { program.set(l.GetSink()) }

// FromContext returns the logger in the context, or Log if it has none, with the given values.
func FromContext(ctx context.Context, keysAndValues ...any) logr.Logger {
	log := Log
	if ctx != nil {
		if inContext, err := logr.FromContext(ctx); err == nil {
			log = inContext
		}
	}
	if len(keysAndValues) == 0 {
		return log
	}
	return log.WithValues(keysAndValues...)
}

// IntoContext returns a context with this logger in it.
func IntoContext(ctx context.Context, log logr.Logger) context.Context {
	return logr.NewContext(ctx, log)
}

// NullLogSink writes nothing.
type NullLogSink struct{}

var _ logr.LogSink = NullLogSink{}

// Init implements logr.LogSink.
func (NullLogSink) Init(logr.RuntimeInfo) {}

// Enabled implements logr.LogSink.
func (NullLogSink) Enabled(int) bool { return false }

// Info implements logr.LogSink.
func (NullLogSink) Info(int, string, ...any) {}

// Error implements logr.LogSink.
func (NullLogSink) Error(error, string, ...any) {}

// WithName implements logr.LogSink.
func (s NullLogSink) WithName(string) logr.LogSink { return s }

// WithValues implements logr.LogSink.
func (s NullLogSink) WithValues(...any) logr.LogSink { return s }
