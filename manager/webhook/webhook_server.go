// Package webhook is where the API server asks before it stores an object.
//
// A manager runs a Server, which serves the handlers that were registered with it. A program may bring its own.
//
// Neighbours: below it are the health checks. Above it is the manager, which starts a Server before
// any cache.
package webhook

import (
	"context"
	"net/http"

	"github.com/loopwright/loopwright/manager/healthz"
)

// Server serves webhooks.
type Server interface {
	// NeedLeaderElection returns false: each replica serves webhooks.
	NeedLeaderElection() bool
	// Register serves a path. It panics if the path is served already.
	Register(path string, hook http.Handler)
	// Start serves until the context ends.
	Start(ctx context.Context) error
	// StartedChecker returns a health check that fails until the server answers.
	StartedChecker() healthz.Checker
	// WebhookMux has the handlers that were registered.
	WebhookMux() *http.ServeMux
}
