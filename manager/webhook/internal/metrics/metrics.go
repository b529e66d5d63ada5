// Package metrics measures webhooks: the number of requests, their duration, and their status
// codes.
//
// Neighbours: below it is the registry of package manager/metrics. Above it are the webhook server
// and admission.StandaloneWebhook, which wrap their handlers.
package metrics

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/loopwright/loopwright/internal/ownmetrics"
	"github.com/loopwright/loopwright/manager/metrics"
)

// The names, labels and buckets are controller-runtime's. The label webhook is the path.
var (
	latency = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:                            "controller_runtime_webhook_latency_seconds",
		Help:                            "Histogram of the latency of processing admission requests",
		Buckets:                         prometheus.ExponentialBuckets(10e-9, 10, 12),
		NativeHistogramBucketFactor:     1.1,
		NativeHistogramMaxBucketNumber:  100,
		NativeHistogramMinResetDuration: time.Hour,
	}, []string{"webhook"})
	total = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "controller_runtime_webhook_requests_total",
		Help: "Total number of admission requests by HTTP status code.",
	}, []string{"webhook", "code"})
	inFlight = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "controller_runtime_webhook_requests_in_flight",
		Help: "Current number of admission requests being served.",
	}, []string{"webhook"})
)

func init() { ownmetrics.Register(metrics.Registry, latency, total, inFlight) }

// InstrumentedHook measures a handler that is served at this path.
func InstrumentedHook(path string, hook http.Handler) http.Handler {
	label := prometheus.Labels{"webhook": path}
	codes := total.MustCurryWith(label)
	// with the value 0, so that a rate can be computed from the first error on
	for _, code := range []string{"200", "500"} {
		codes.WithLabelValues(code)
	}
	return promhttp.InstrumentHandlerDuration(latency.MustCurryWith(label),
		promhttp.InstrumentHandlerCounter(codes,
			promhttp.InstrumentHandlerInFlight(inFlight.With(label), hook)))
}
