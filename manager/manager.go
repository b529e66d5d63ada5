// Package manager starts and stops the parts of a program in the right order: servers, caches,
// controllers, and any other runnable.
//
//	New   -> a cluster: client, cache, events
//	Add   -> each Runnable goes into one of seven groups
//	Start -> HTTP servers, webhooks, caches, others, warm-up, leader election, leader-elected
//	stop  -> the reverse order, each group when those after it have ended; then the last events
//
// The first runnable that fails stops the manager, and Start returns its error.
//
// Neighbours: below it are cluster, leaderelection, healthz, the metrics server and the interface
// of a webhook server. It treats controllers like any other runnable. Above it is the builder, and
// the user's main.
package manager

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager/cluster"
	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/healthz"
	"github.com/loopwright/loopwright/manager/metrics/server"
	"github.com/loopwright/loopwright/manager/webhook"
	"github.com/loopwright/loopwright/manager/webhook/conversion"
)

// Manager runs a program's controllers, and gives them what they share: a client, a cache, events.
//
// Guarantees: a group starts when those before it are ready, and ends when those after it have
// ended; see group_order.go for the order and its reasons. When Start returns, no goroutine of the
// manager or of a runnable is left, unless the graceful shutdown timeout has passed; the error then
// names the runnables that are left, or there's none if the timeout is 0. A leader-only runnable
// never runs in a replica that does not lead, and has ended before the lease is released.
//
// Caveats: a manager runs once.
type Manager interface {
	// Cluster is the cluster that the controllers work with.
	cluster.Cluster

	// Add adds a runnable, which starts with its group, or at once if the group runs. A manager
	// that stops or has stopped returns an error.
	//
	// A Server that does not wait for leadership is an HTTP server; a webhook.Server is a webhook;
	// a runnable that has a cache, such as a Cluster, is a cache; a LeaderElectionRunnable that
	// does not need leadership is one of the others; all other runnables run in the leader only.
	Add(Runnable) error

	// Elected is closed when the leader-only runnables have started: this replica leads, or there
	// is no leader election.
	Elected() <-chan struct{}

	// AddMetricsServerExtraHandler serves a path next to the metrics. Call it before Start.
	AddMetricsServerExtraHandler(path string, handler http.Handler) error
	// AddHealthzCheck adds a check to the liveness probe: if it fails, the kubelet restarts the
	// container. Call it before Start.
	AddHealthzCheck(name string, check healthz.Checker) error
	// AddReadyzCheck adds a check to the readiness probe: while it fails, Services send no requests
	// to the Pod. Without any check, the path answers 404. See CacheSyncCheck. Call it before
	// Start.
	AddReadyzCheck(name string, check healthz.Checker) error

	// Start runs everything until the context ends or a runnable fails; it returns that error then.
	// If the lease was lost, end the process at once.
	Start(ctx context.Context) error

	// GetWebhookServer returns the server from the options. The first call adds it to the manager.
	GetWebhookServer() webhook.Server
	GetLogger() logr.Logger
	// GetControllerOptions returns the settings for all controllers.
	GetControllerOptions() config.Controller
	// OverrideControllerOptions calls the options' function of this name, if there is one.
	OverrideControllerOptions(name string, options *controller.Options)
	// GetConverterRegistry returns the converters that the conversion webhook uses.
	GetConverterRegistry() conversion.Registry
}

type controllerManager struct {
	ownCluster
	options    Options // with its defaults filled in
	groups     *groups
	election   *electionRunnable // nil without leader election
	metrics    server.Server     // nil if it is switched off
	converters conversion.Registry
	elected    chan struct{} // closed once, by startElected

	mu       sync.Mutex // guards what follows
	started  bool
	healthz  map[string]healthz.Checker
	readyz   map[string]healthz.Checker
	webhooks webhook.Server // added to the groups; nil before the first call of GetWebhookServer
}

// New returns a manager. It starts nothing and opens no port.
func New(config *rest.Config, options Options) (Manager, error) {
	if err := options.complete(); err != nil {
		return nil, err
	}
	made, err := cluster.New(config, options.ofCluster)
	if err != nil {
		return nil, err
	}
	m := &controllerManager{
		ownCluster: made.(ownCluster), options: options,
		groups:     newGroups(options.Logger, options.syncTimeout(), options.Recorder),
		converters: conversion.NewRegistry(), elected: make(chan struct{}),
		healthz: map[string]healthz.Checker{}, readyz: map[string]healthz.Checker{},
	}
	if m.metrics, err = server.NewServer(options.Metrics, config,
		made.GetHTTPClient()); err != nil {
		return nil, fmt.Errorf("making the metrics server: %w", err)
	}
	if err := errors.Join(m.makeElection(config),
		m.groups.add(ownCache{m.ownCluster})); err != nil {
		return nil, err
	}
	return m, nil
}

// Add implements Manager.
func (m *controllerManager) Add(r Runnable) error { return m.groups.add(r) }

// Elected implements Manager.
func (m *controllerManager) Elected() <-chan struct{} { return m.elected }

// AddHealthzCheck implements Manager.
func (m *controllerManager) AddHealthzCheck(name string, check healthz.Checker) error {
	return m.addCheck(m.healthz, "health", name, check)
}

// AddReadyzCheck implements Manager.
func (m *controllerManager) AddReadyzCheck(name string, check healthz.Checker) error {
	return m.addCheck(m.readyz, "readiness", name, check)
}

func (m *controllerManager) addCheck(
	to map[string]healthz.Checker, kind, name string, check healthz.Checker,
) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.started:
		return fmt.Errorf("the %s check %s comes too late: add it before Start", kind, name)
	case check == nil:
		return fmt.Errorf("the %s check %s is nil", kind, name)
	case path.Clean("/"+name) == "/": // which is the path of all checks together
		return fmt.Errorf("the %s check %q has no path of its own: "+
			"name it after what it checks, such as disk", kind, name)
	}
	to[name] = check
	return nil
}

// AddMetricsServerExtraHandler implements Manager.
func (m *controllerManager) AddMetricsServerExtraHandler(path string, handler http.Handler) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.started:
		return fmt.Errorf("the handler of %s comes too late: add it before Start", path)
	case m.metrics == nil:
		m.options.Logger.Info("A handler is not served, because the metrics server is switched off",
			"path", path)
		return nil
	}
	return m.metrics.AddExtraHandler(path, handler)
}

// GetWebhookServer implements Manager.
func (m *controllerManager) GetWebhookServer() webhook.Server {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.webhooks != nil {
		return m.webhooks
	}
	m.webhooks = m.options.WebhookServer
	if err := m.groups.add(m.webhooks); err != nil {
		m.options.Logger.Error(err,
			"The webhook server will not run: ask for it while the manager runs, or before")
	}
	return m.webhooks
}

// GetLogger implements Manager.
func (m *controllerManager) GetLogger() logr.Logger { return m.options.Logger }

// GetControllerOptions implements Manager.
func (m *controllerManager) GetControllerOptions() config.Controller { return m.options.Controller }

// OverrideControllerOptions implements Manager.
func (m *controllerManager) OverrideControllerOptions(name string, options *controller.Options) {
	if m.options.OverrideControllerOptions != nil {
		m.options.OverrideControllerOptions(name, options)
	}
}

// GetConverterRegistry implements Manager.
func (m *controllerManager) GetConverterRegistry() conversion.Registry { return m.converters }
