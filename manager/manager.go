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
	"github.com/loopwright/loopwright/manager/healthz"
	"github.com/loopwright/loopwright/manager/metrics/server"
	"github.com/loopwright/loopwright/manager/webhook"
	"github.com/loopwright/loopwright/manager/webhook/conversion"
)

// Manager runs a program's controllers and gives them what they share: a client, a cache and a way
// to record events.
//
// Guarantees: a group starts when the groups before it are ready, and ends when the groups after it
// have ended; group_order.go gives the order and its reasons. When Start returns, no goroutine of
// the manager or of a runnable is left, unless the graceful shutdown timeout has passed. In that
// case the error names the runnables that are left; with a timeout of 0 there's no error. A
// leader-only runnable never runs in a replica that isn't the leader, and has ended before the
// lease is released.
//
// Caveats: a manager runs once.
type Manager interface {
	// Cluster is the cluster that the controllers work with.
	cluster.Cluster

	// Add adds a runnable. It starts with its group, or at once if the group is already running.
	// Once the manager is stopping, Add returns an error.
	//
	// The runnable's type decides on its group:
	//
	//   - HTTP servers: a Server, unless OnlyServeWhenLeader is set
	//   - webhooks: a webhook.Server
	//   - caches: a runnable that has a cache, such as a Cluster
	//   - others: a LeaderElectionRunnable that doesn't need leadership
	//   - leader-elected: all other runnables
	Add(Runnable) error

	// Elected is closed when the leader-only runnables have started, because this replica leads or
	// because there's no leader election.
	Elected() <-chan struct{}

	// AddMetricsServerExtraHandler serves another path on the metrics server. Call it before Start.
	AddMetricsServerExtraHandler(path string, handler http.Handler) error
	// AddHealthzCheck adds a check to the liveness probe. If it fails, the kubelet restarts the
	// container. Call it before Start.
	AddHealthzCheck(name string, check healthz.Checker) error
	// AddReadyzCheck adds a check to the readiness probe. While it fails, Services send no requests
	// to the Pod. If there are no checks, the path answers 404. See CacheSyncCheck. Call it before
	// Start.
	AddReadyzCheck(name string, check healthz.Checker) error

	// Start runs everything until the context ends or a runnable fails, and returns that runnable's
	// error. If the lease was lost, exit the process at once.
	Start(ctx context.Context) error

	// GetWebhookServer returns the server from the options. The first call adds it to the manager.
	GetWebhookServer() webhook.Server
	GetLogger() logr.Logger
	// GetControllerOptions returns the settings for all controllers.
	GetControllerOptions() config.Controller
	// GetConverterRegistry returns the converters that the conversion webhook uses.
	GetConverterRegistry() conversion.Registry
}

type controllerManager struct {
	ownCluster
	options    Options // with its defaults filled in
	groups     *groups
	election   *electionRunnable // nil without leader election
	sharing    *sharingRunnable  // nil without Sharding
	metrics    server.Server     // nil if it's switched off
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
	late := &lateWrites{}
	made, err := cluster.New(late.refusing(config, &options), options.ofCluster)
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
	var ofElection, ofSharing error
	if m.election, ofElection = newElection(config, &options, m.groups); m.election != nil {
		watchDog := m.election.config.WatchDog
		m.healthz[watchDog.Name()] = watchDog.Check
	}
	if m.sharing, ofSharing = newSharing(config, &options, made, m.groups); m.sharing != nil {
		late.of = m.sharing.member
		m.options.Controller.Shards = m.sharing.member.Gate()
	}
	if err := errors.Join(ofElection, ofSharing, m.groups.add(ownCache{m.ownCluster})); err != nil {
		return nil, err
	}
	return m, nil
}

// Add implements Manager.
func (m *controllerManager) Add(r Runnable) error {
	if m.sharing != nil && m.election == nil {
		if err := checkShared(r); err != nil {
			return err
		}
	}
	return m.groups.add(r)
}

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

// GetConverterRegistry implements Manager.
func (m *controllerManager) GetConverterRegistry() conversion.Registry { return m.converters }
