package metrics

import (
	"context"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/metrics"

	"github.com/loopwright/loopwright/internal/ownmetrics"
)

// RESTClientMetric is an optional metric of the requests to the API server. They are optional
// because each has a series for each verb and host, and a histogram one for each bucket.
type RESTClientMetric int

// The metrics of RegisterRESTClientMetrics. One more, rest_client_requests_total, is always
// registered.
const (
	// MetricRequestLatency is rest_client_request_duration_seconds.
	MetricRequestLatency = iota + 1
	// MetricDNSResolutionLatency is rest_client_dns_resolution_duration_seconds.
	MetricDNSResolutionLatency
	// MetricRequestSize is rest_client_request_size_bytes.
	MetricRequestSize
	// MetricResponseSize is rest_client_response_size_bytes.
	MetricResponseSize
	// MetricRateLimiterLatency is rest_client_rate_limiter_duration_seconds.
	MetricRateLimiterLatency
	// MetricRequestRetry is rest_client_request_retries_total.
	MetricRequestRetry
)

// RESTClientMetricsOptions are the options of RegisterRESTClientMetricsWithOptions.
type RESTClientMetricsOptions struct {
	// DurationBuckets are the buckets of the metrics of durations, in seconds; by default 5 ms to 1
	// minute. They take effect when a metric is registered for the first time, and not later.
	DurationBuckets []float64
}

// RegisterRESTClientMetrics registers metrics in the Registry. A metric that is registered already
// stays unchanged. If another package has registered one of the same name, that one is served.
func RegisterRESTClientMetrics(metrics ...RESTClientMetric) {
	RegisterRESTClientMetricsWithOptions(RESTClientMetricsOptions{}, metrics...)
}

// RegisterRESTClientMetricsWithOptions is RegisterRESTClientMetrics with options.
func RegisterRESTClientMetricsWithOptions(
	opts RESTClientMetricsOptions, metrics ...RESTClientMetric,
) {
	durations := opts.DurationBuckets
	if len(durations) == 0 {
		durations = restDurations
	}
	for _, metric := range metrics {
		switch metric {
		case MetricRequestLatency:
			requestLatency.register(func() *prometheus.HistogramVec {
				return restHistogram("request_duration_seconds",
					"How long requests took, in seconds.", durations, "verb", "host")
			})
		case MetricDNSResolutionLatency:
			resolverLatency.register(func() *prometheus.HistogramVec {
				return restHistogram("dns_resolution_duration_seconds",
					"How long it took to resolve the host's name, in seconds.", durations, "host")
			})
		case MetricRequestSize:
			requestSize.register(func() *prometheus.HistogramVec {
				return restHistogram("request_size_bytes", "The size of requests, in bytes.",
					restSizes, "verb", "host")
			})
		case MetricResponseSize:
			responseSize.register(func() *prometheus.HistogramVec {
				return restHistogram("response_size_bytes", "The size of answers, in bytes.",
					restSizes, "verb", "host")
			})
		case MetricRateLimiterLatency:
			limiterLatency.register(func() *prometheus.HistogramVec {
				return restHistogram("rate_limiter_duration_seconds",
					"How long requests waited for the client's own rate limiter, in seconds.",
					durations, "verb", "host")
			})
		case MetricRequestRetry:
			requestRetries.register(func() *prometheus.CounterVec {
				return restCounter("request_retries_total",
					"Requests that were tried again, by the code of the answer before.",
					"code", "verb", "host")
			})
		}
	}
}

// The buckets are those of Kubernetes' own components.
var (
	restDurations = []float64{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60}
	restSizes     = []float64{64, 256, 512, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10,
		1 << 20, 4 << 20, 16 << 20}
)

var (
	requestResults = restCounter("requests_total",
		"Requests to the API server, by the code of the answer.", "code", "method", "host")

	requestLatency, limiterLatency restLatency
	resolverLatency                restResolverLatency
	requestSize, responseSize      restSize
	requestRetries                 restRetries
)

// client-go takes metrics once for the process: the first package that registers wins.
func init() {
	Registry.MustRegister(requestResults)
	metrics.Register(metrics.RegisterOpts{
		RequestResult: restResults{}, RequestLatency: &requestLatency,
		ResolverLatency: &resolverLatency, RateLimiterLatency: &limiterLatency,
		RequestSize: &requestSize, ResponseSize: &responseSize, RequestRetry: &requestRetries,
	})
}

func restCounter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(
		prometheus.CounterOpts{Subsystem: "rest_client", Name: name, Help: help}, labels)
}

func restHistogram(
	name, help string, buckets []float64, labels ...string,
) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Subsystem: "rest_client", Name: name, Help: help,
		Buckets:                         buckets,
		NativeHistogramBucketFactor:     1.1,
		NativeHistogramMaxBucketNumber:  100,
		NativeHistogramMinResetDuration: time.Hour,
	}, labels)
}

// onDemand is a collector that is nil until it's registered, once.
type onDemand[C prometheus.Collector] struct {
	once      sync.Once
	collector atomic.Pointer[C]
}

func (o *onDemand[C]) register(make func() C) {
	o.once.Do(func() {
		c := make()
		ownmetrics.Register(Registry, c)
		o.collector.Store(&c)
	})
}

// These have the methods that client-go calls with each request.
type (
	restResults struct{}
	restLatency struct {
		onDemand[*prometheus.HistogramVec]
	}
	restResolverLatency struct {
		onDemand[*prometheus.HistogramVec]
	}
	restSize struct {
		onDemand[*prometheus.HistogramVec]
	}
	restRetries struct {
		onDemand[*prometheus.CounterVec]
	}
)

func (restResults) Increment(_ context.Context, code, method, host string) {
	requestResults.WithLabelValues(code, method, host).Inc()
}

func (m *restLatency) Observe(_ context.Context, verb string, u url.URL, latency time.Duration) {
	if h := m.collector.Load(); h != nil {
		(*h).WithLabelValues(verb, u.Host).Observe(latency.Seconds())
	}
}

func (m *restResolverLatency) Observe(_ context.Context, host string, latency time.Duration) {
	if h := m.collector.Load(); h != nil {
		(*h).WithLabelValues(host).Observe(latency.Seconds())
	}
}

func (m *restSize) Observe(_ context.Context, verb, host string, size float64) {
	if h := m.collector.Load(); h != nil {
		(*h).WithLabelValues(verb, host).Observe(size)
	}
}

func (m *restRetries) IncrementRetry(_ context.Context, code, verb, host string) {
	if c := m.collector.Load(); c != nil {
		(*c).WithLabelValues(code, verb, host).Inc()
	}
}
