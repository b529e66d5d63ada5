package manager

import (
	"context"
	"errors"
	"net/http"

	"github.com/loopwright/loopwright/manager/healthz"
	"github.com/loopwright/loopwright/manager/webhook"
)

// newWebhookServer makes the server of a manager whose options have none.
var newWebhookServer = func() webhook.Server { return &missingServer{mux: http.NewServeMux()} }

// missingServer takes webhooks and says at the start that nobody serves them.
type missingServer struct{ mux *http.ServeMux }

var errNoWebhookServer = errors.New("there are webhooks, and no server for them: set WebhookServer in the manager's options")

// NeedLeaderElection implements webhook.Server.
func (*missingServer) NeedLeaderElection() bool { return false }

// Register implements webhook.Server.
func (s *missingServer) Register(path string, hook http.Handler) { s.mux.Handle(path, hook) }

// Start implements webhook.Server.
func (*missingServer) Start(context.Context) error { return errNoWebhookServer }

// StartedChecker implements webhook.Server.
func (*missingServer) StartedChecker() healthz.Checker {
	return func(*http.Request) error { return errNoWebhookServer }
}

// WebhookMux implements webhook.Server.
func (s *missingServer) WebhookMux() *http.ServeMux { return s.mux }
