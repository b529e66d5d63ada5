package cache

import (
	"github.com/go-logr/logr"

	"github.com/loopwright/loopwright/manager/log"
)

// messages are what nobody is given as an error. They go to a logger; without one, or if this is nil, to the
// program's.
type messages struct {
	given *logr.Logger
}

func (m *messages) logger() logr.Logger {
	if m == nil || m.given == nil {
		return log.RuntimeLog.WithName("cache")
	}
	return *m.given
}
