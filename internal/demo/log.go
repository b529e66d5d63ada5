package demo

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// logger shows a reader what the parts of the program log, between the lines that it is about. It
// leaves out what is not about this demo: the end of a controller that the story has stopped, and
// objects in the namespace of an earlier demo, which is being deleted.
type logger struct{ demo *Demo }

func (l logger) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

func (l logger) Handle(_ context.Context, r slog.Record) error {
	said, ours := []string{}, true
	r.Attrs(func(a slog.Attr) bool {
		value, mine := strings.CutPrefix(a.Value.String(), l.demo.Namespace+"/")
		err, _ := a.Value.Any().(error)
		switch {
		case apierrors.IsConflict(err):
			value = "a conflict, because another write was faster"
		case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
			ours = false
		case a.Key == "request" && !mine && strings.HasPrefix(value, "demo-"):
			ours = false
		}
		said = append(said, value)
		return true
	})
	if ours {
		l.demo.print("  ! " + r.Message + ": " + strings.Join(said, ", ") + "\n")
	}
	return nil
}

func (l logger) WithAttrs([]slog.Attr) slog.Handler { return l }

func (l logger) WithGroup(string) slog.Handler { return l }
