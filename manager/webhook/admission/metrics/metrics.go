// Package metrics counts the panics in admission webhooks.
//
// Neighbours: below it is the registry of package manager/metrics. Above it is package admission,
// which counts.
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/loopwright/loopwright/internal/ownmetrics"
	"github.com/loopwright/loopwright/manager/metrics"
)

// WebhookPanics counts how often an admission webhook panicked, recovered or not. It has no labels.
var WebhookPanics = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "controller_runtime_webhook_panics_total",
	Help: "Total number of webhook panics",
}, nil)

func init() {
	ownmetrics.Register(metrics.Registry, WebhookPanics)
	WebhookPanics.WithLabelValues() // so that it is 0 and not absent before the first panic
}
