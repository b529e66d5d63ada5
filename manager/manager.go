// Package manager starts and stops what a program is made of, in the right order: servers, caches,
// controllers, and whatever else it is given.
//
//	New  -> a cluster: client, cache, events
//	Add  -> each Runnable goes into one of seven groups
//	Start -> HTTP servers, webhooks, caches, others, warm-up, leader election, leader-elected
//	stop -> the same way back, each group when those that need it have ended; then the last events are written
//
// The first runnable that fails stops the manager, and its error is what Start returns.
//
// Neighbours: below it are cluster, leaderelection, healthz, the metrics server and the interface of a webhook
// server. Controllers are runnables like any others: this package does not know what they do. Above it is the builder,
// and the user's main.
package manager

import (
	"context"
	"errors"
	"fmt"
	"net/http"
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
// ended; see group_order.go for the order and its reasons. When Start returns, no
// goroutine of the manager or of a runnable is left, unless the graceful shutdown timeout has passed;
// the error then names what is left. What needs the lead never runs without it, and has ended before
// the lease is released.
//
// Caveats: a manager runs once.
type Manager interface {
	// Cluster is the one that the controllers work with.
	cluster.Cluster

	// Add starts a runnable when it is time: at once, if its group runs. Stopped managers refuse.
	//
	// A Server that does not wait for the lead is an HTTP server; a webhook.Server is a webhook; what
	// has a cache, such as a Cluster, is a cache; a LeaderElectionRunnable that says so is one of the
	// others; and all else waits for the lead.
	Add(Runnable) error

	// Elected is closed when what needs the lead has been started: this replica leads, or there is no
	// leader election.
	Elected() <-chan struct{}

	// AddMetricsServerExtraHandler serves a path next to the metrics. Call it before Start.
	AddMetricsServerExtraHandler(path string, handler http.Handler) error
	// AddHealthzCheck adds a check to the liveness probe: if it fails, the kubelet restarts the
	// container. Call it before Start.
	AddHealthzCheck(name string, check healthz.Checker) error
	// AddReadyzCheck adds a check to the readiness probe: while it fails, Services leave the Pod out.
	// Without any, the path answers 404. See CacheSyncCheck. Call it before Start.
	AddReadyzCheck(name string, check healthz.Checker) error

	// Start runs everything until the context ends, or until something fails; it returns that error
	// then. If it was the lease that was lost, end the process at once.
	Start(ctx context.Context) error

	// GetWebhookServer returns the server of the options. The first call adds it to the manager.
	GetWebhookServer() webhook.Server
	GetLogger() logr.Logger
	// GetControllerOptions returns the settings for all controllers.
	GetControllerOptions() config.Controller
	// OverrideControllerOptions calls the function of the options with this name, if there is one.
	OverrideControllerOptions(name string, options *controller.Options)
	// GetConverterRegistry returns what the conversion webhook asks.
	GetConverterRegistry() conversion.Registry
}

// controllerManager is what New returns.
type controllerManager struct {
	ownCluster
	options    Options // complete
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
		ownCluster: made.(ownCluster), options: options, groups: newGroups(options.Logger, options.syncTimeout(), options.Recorder),
		converters: conversion.NewRegistry(), elected: make(chan struct{}),
		healthz: map[string]healthz.Checker{}, readyz: map[string]healthz.Checker{},
	}
	if m.metrics, err = server.NewServer(options.Metrics, config, made.GetHTTPClient()); err != nil {
		return nil, fmt.Errorf("making the metrics server: %w", err)
	}
	if err := errors.Join(m.makeElection(config), m.groups.add(ownCache{m.ownCluster})); err != nil {
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

func (m *controllerManager) addCheck(to map[string]healthz.Checker, kind, name string, check healthz.Checker) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.started:
		return fmt.Errorf("the %s check %s comes too late: add it before Start", kind, name)
	case check == nil:
		return fmt.Errorf("the %s check %s is nil", kind, name)
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
		m.options.Logger.Info("A handler is not served, because the metrics server is switched off", "path", path)
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
		m.options.Logger.Error(err, "The webhook server will not run: ask for it while the manager runs, or before")
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
