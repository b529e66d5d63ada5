package log

import (
	"context"

	"github.com/go-logr/logr"
	loopwright "github.com/loopwright/loopwright/manager/log"
)

// Log is the logger of the program. If a program assigns it, FromContext uses the new one, too.
var Log = loopwright.Log

// FromContext returns the logger in the context, or Log if it has none, with the given values.
func FromContext(ctx context.Context, keysAndValues ...any) logr.Logger {
	if ctx != nil {
		if _, err := logr.FromContext(ctx); err == nil {
			return loopwright.FromContext(ctx, keysAndValues...)
		}
	}
	return loopwright.FromContext(logr.NewContext(context.Background(), Log), keysAndValues...)
}
