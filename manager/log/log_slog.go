package log

import (
	"context"
	"log/slog"

	"github.com/go-logr/logr"

	"github.com/loopwright/loopwright/manager/log/internal/reference"
)

// FromSlog makes a logger that writes to slog's handler.
//
// logr's V(0) is slog's Info, V(4) is Debug, and each V in between is one level less. An object of
// Kubernetes is logged as a reference to it: apiVersion, kind, namespace and name.
//
//	log.SetLogger(log.FromSlog(slog.NewJSONHandler(os.Stderr, nil)))
func FromSlog(handler slog.Handler) logr.Logger {
	return logr.FromSlogHandler(&references{handler})
}

// Slog returns the other direction: a slog.Logger that writes to the logger, for code that wants one.
// slog.SetDefault(log.Slog(log.Log)) sends what slog itself is told there, too.
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

// replaced returns the attribute with a reference in place of an object, and whether there was one.
func replaced(a slog.Attr) (slog.Attr, bool) {
	if a.Value.Kind() != slog.KindAny {
		return a, false
	}
	fields, ok := reference.Of(a.Value.Any())
	if !ok {
		if m, ok := a.Value.Any().(logr.Marshaler); ok { // slog knows nothing of logr's interface
			return slog.Any(a.Key, m.MarshalLog()), true
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
