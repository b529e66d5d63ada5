// Package metrics holds the metrics of controllers and of their queues, in one Prometheus
// registry.
//
// A controller and its queue count into it; the manager's metrics server, or a server of the
// user's, reads from it.
//
// Names and labels are those of controller-runtime and client-go, so that dashboards and alerts
// made for them go on working.
//
// Neighbours: below it are the Prometheus client and the queue's MetricsProvider. Above it are
// the controller and the manager.
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// RegistererGatherer is a registry: one registers metrics, and reads them.
type RegistererGatherer interface {
	prometheus.Registerer
	prometheus.Gatherer
}

// Registry has the metrics of all controllers of the process. Register your own here, and they
// are served with the others.
var Registry RegistererGatherer = prometheus.NewRegistry()

// What a package variable needs is registered when the package is loaded, as in
// controller-runtime: there is one registry for the process.
func init() {
	Registry.MustRegister(
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(collectors.MetricsAll)),
		queueMetrics.adds, queueMetrics.retries, queueMetrics.latency, queueMetrics.workDuration,
		queueMetrics.gauges,
	)
}
