package cache

import (
	"log/slog"

	"github.com/go-logr/logr"
)

// messages are what nobody is given as an error. They go to a logger; without one, or if this is nil, to
// slog's default, as it is when the message is written: a program may set that after it has made its cache.
type messages struct {
	given *logr.Logger
}

func (m *messages) logger() logr.Logger {
	if m == nil || m.given == nil {
		return logr.FromSlogHandler(slog.Default().Handler())
	}
	return *m.given
}
