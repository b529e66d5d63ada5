// Package log holds a program's logger, and gives it to the code that logs.
//
// main sets the logger once, with SetLogger. A package variable takes its logger from Log, maybe
// long before that; a reconciler takes the one in its context, which has the request's name in it.
//
// Neighbours: below it is only logr. Above it are all packages of the manager. Package log/zap
// makes a logger from zap; FromSlog makes one from log/slog.
package log

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager/log/internal/reference"
)

// Log is the logger of the program. You can use it, and loggers made from it, before SetLogger:
// lines are dropped until then, and written from then on.
//
// If SetLogger wasn't called within 30 seconds, the next lost line causes a message on standard
// error, once. A later SetLogger still takes effect, unlike in controller-runtime.
var Log = logr.New(&delegate{root: program})

// RuntimeLog is the logger of Loopwright's own packages.
var RuntimeLog = Log.WithName("loopwright")

// program is the root that SetLogger fills.
var program = newRoot()

// SetLogger sets the logger that Log and all loggers made from it write to. Only the first call
// counts: half of a program's loggers may use its sink already. Log itself, and a logger made from
// it, also by way of Slog and FromSlog, has nowhere to write: such a call doesn't count, and says so
// on standard error.
//
// Caveats: A logger that leads to Log in another way, such as through a handler of your own, isn't
// noticed: its first line overflows the stack. If you set slog.Default's first handler, and later
// call slog.SetDefault(log.Slog(log.Log)), the first line hangs in package log of Go.
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

// rememberedWarnings bounds what a warning logger that deduplicates keeps in memory. A server warns
// about fields and API versions, so a program meets a few dozen.
const rememberedWarnings = 1000

// KubeAPIWarningLoggerOptions are the options of NewKubeAPIWarningLogger.
type KubeAPIWarningLoggerOptions struct {
	// Deduplicate logs a message only once, until 1000 different ones were logged. Then it forgets
	// them all, and each may appear once more.
	Deduplicate bool
}

// KubeAPIWarningLogger logs the API server's warnings, with the logger in the request's context.
// Set it as WarningHandlerWithContext of a rest.Config.
type KubeAPIWarningLogger struct {
	opts KubeAPIWarningLoggerOptions

	mu      sync.Mutex // guards written
	written map[string]struct{}
}

var _ rest.WarningHandlerWithContext = (*KubeAPIWarningLogger)(nil)

// NewKubeAPIWarningLogger makes a KubeAPIWarningLogger.
func NewKubeAPIWarningLogger(opts KubeAPIWarningLoggerOptions) *KubeAPIWarningLogger {
	return &KubeAPIWarningLogger{opts: opts, written: map[string]struct{}{}}
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (l *KubeAPIWarningLogger) HandleWarningHeaderWithContext(
	ctx context.Context, code int, _ string, message string,
) {
	const kubernetes = 299 // the only code that Kubernetes uses for its warnings
	if code != kubernetes || message == "" || l.opts.Deduplicate && !l.first(message) {
		return
	}
	FromContext(ctx).Info(message)
}

func (l *KubeAPIWarningLogger) first(message string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.written[message]; known {
		return false
	}
	if len(l.written) >= rememberedWarnings {
		clear(l.written)
	}
	l.written[message] = struct{}{}
	return true
}

// FromSlog makes a logger that writes to slog's handler.
//
// logr's V(0) is slog's Info, V(4) is Debug, and each V in between is one level less. A Kubernetes
// object is logged as a reference to it: apiVersion, kind, namespace and name. An object that is a
// part of something else, such as a list, is logged in full; one in a slog group isn't.
//
//	log.SetLogger(log.FromSlog(slog.NewJSONHandler(os.Stderr, nil)))
func FromSlog(handler slog.Handler) logr.Logger {
	return logr.FromSlogHandler(&references{handler})
}

// Slog is the other direction: a slog.Logger that writes to the logger, for code that takes one.
// slog.SetDefault(log.Slog(log.Log)) sends the lines of slog's own functions there, too.
func Slog(log logr.Logger) *slog.Logger { return slog.New(logr.ToSlogHandler(log)) }

// references is a handler that replaces objects by references to them.
type references struct{ slog.Handler }

// Handle implements slog.Handler.
func (h *references) Handle(ctx context.Context, record slog.Record) error {
	found := false
	record.Attrs(func(a slog.Attr) bool {
		_, found = replaced(a)
		return !found
	})
	if !found {
		return h.Handler.Handle(ctx, record)
	}
	shown := slog.NewRecord(record.Time, record.Level, record.Message, record.PC)
	record.Attrs(func(a slog.Attr) bool {
		a, _ = replaced(a)
		shown.AddAttrs(a)
		return true
	})
	return h.Handler.Handle(ctx, shown)
}

// WithAttrs implements slog.Handler.
func (h *references) WithAttrs(attrs []slog.Attr) slog.Handler {
	shown := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		shown[i], _ = replaced(a)
	}
	return &references{h.Handler.WithAttrs(shown)}
}

// WithGroup implements slog.Handler.
func (h *references) WithGroup(name string) slog.Handler {
	return &references{h.Handler.WithGroup(name)}
}

// replaced returns the attribute with a reference in place of each object, and whether it differs.
func replaced(a slog.Attr) (slog.Attr, bool) {
	switch a.Value.Kind() {
	case slog.KindLogValuer:
		a.Value = a.Value.Resolve()
		a, _ = replaced(a)
		return a, true
	case slog.KindGroup:
		members, differ := slices.Clone(a.Value.Group()), false
		for i, member := range members {
			var differs bool
			members[i], differs = replaced(member)
			differ = differ || differs
		}
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(members...)}, differ
	case slog.KindAny:
		return replacedValue(a)
	}
	return a, false
}

func replacedValue(a slog.Attr) (slog.Attr, bool) {
	fields, ok := reference.Of(a.Value.Any())
	if !ok {
		if m, ok := a.Value.Any().(logr.Marshaler); ok { // slog doesn't call logr's interface
			a.Value = slog.AnyValue(m.MarshalLog())
			_, isMarshaler := a.Value.Any().(logr.Marshaler)
			_, isObject := reference.Of(a.Value.Any())
			if isObject || !isMarshaler { // one is often itself, without its password
				a, _ = replaced(a)
			}
			return a, true
		}
		return a, false
	}
	if fields == nil {
		return slog.Any(a.Key, nil), true
	}
	group := make([]slog.Attr, len(fields))
	for i, field := range fields {
		group[i] = slog.String(field.Key, field.Value)
	}
	return slog.Attr{Key: a.Key, Value: slog.GroupValue(group...)}, true
}
