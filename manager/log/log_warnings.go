package log

import (
	"context"
	"sync"

	"k8s.io/client-go/rest"
)

// rememberedWarnings bounds what a warning logger that deduplicates keeps in memory. A server warns
// about fields and API versions, so that a program meets a few dozen.
const rememberedWarnings = 1000

// KubeAPIWarningLoggerOptions are the options of NewKubeAPIWarningLogger.
type KubeAPIWarningLoggerOptions struct {
	// Deduplicate logs a message only once. A message may appear again after 1000 others.
	Deduplicate bool
}

// KubeAPIWarningLogger logs what the API server warns of, with the logger in the request's context.
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
func (l *KubeAPIWarningLogger) HandleWarningHeaderWithContext(ctx context.Context, code int, _ string, message string) {
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
