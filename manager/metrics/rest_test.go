package metrics

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// restMetrics are the families whose names begin with rest_client, and for one host their labels.
func restMetrics(t *testing.T, host string) (families, series []string) {
	t.Helper()
	gathered, err := Registry.Gather()
	require.NoError(t, err)
	for _, family := range gathered {
		if !strings.HasPrefix(family.GetName(), "rest_client_") {
			continue
		}
		families = append(families, family.GetName())
		for _, m := range family.GetMetric() {
			var labels []string
			for _, pair := range m.GetLabel() {
				labels = append(labels, pair.GetName()+"="+pair.GetValue())
			}
			if slices.Contains(labels, "host="+host) {
				series = append(series, family.GetName()+" "+strings.Join(labels, " "))
			}
		}
	}
	return families, series
}

func TestRequestsToTheServerAreCountedAndMoreIfAskedFor(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("{}"))
	}))
	defer server.Close()
	config := &rest.Config{Host: server.URL, APIPath: "/api"}
	config.GroupVersion, config.NegotiatedSerializer = &schema.GroupVersion{Version: "v1"}, scheme.Codecs.WithoutConversion()
	client, err := rest.RESTClientFor(config)
	require.NoError(t, err)
	host := strings.TrimPrefix(server.URL, "http://")
	ask := func() { require.NoError(t, client.Get().Resource("pods").Do(t.Context()).Error()) }

	ask()
	_, series := restMetrics(t, host)
	require.Contains(t, series, "rest_client_requests_total code=200 host="+host+" method=GET")

	RegisterRESTClientMetricsWithOptions(RESTClientMetricsOptions{DurationBuckets: []float64{1, 2}},
		MetricRequestLatency)
	RegisterRESTClientMetrics(MetricRequestLatency, MetricDNSResolutionLatency, MetricRequestSize,
		MetricResponseSize, MetricRateLimiterLatency, MetricRequestRetry, 99)
	ask()
	// an address needs no name server
	resolverLatency.Observe(context.Background(), host, time.Second)
	requestRetries.IncrementRetry(context.Background(), "429", "GET", host)
	requestLatency.Observe(context.Background(), "LIST", url.URL{Host: host}, time.Second)
	_, series = restMetrics(t, host)
	for _, want := range []string{
		"rest_client_request_duration_seconds host=" + host + " verb=GET",
		"rest_client_request_duration_seconds host=" + host + " verb=LIST",
		"rest_client_dns_resolution_duration_seconds host=" + host,
		"rest_client_request_size_bytes host=" + host + " verb=GET",
		"rest_client_response_size_bytes host=" + host + " verb=GET",
		"rest_client_rate_limiter_duration_seconds host=" + host + " verb=GET",
		"rest_client_request_retries_total code=429 host=" + host + " verb=GET",
	} {
		require.Contains(t, series, want)
	}
	require.Equal(t, []float64{1, 2}, buckets(t, "rest_client_request_duration_seconds"),
		"who comes first sets the buckets")
	// A dashboard shows ours and those of Kubernetes' components in one picture.
	require.Equal(t, []float64{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60},
		buckets(t, "rest_client_rate_limiter_duration_seconds"))
	require.Equal(t, []float64{64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304,
		16777216}, buckets(t, "rest_client_request_size_bytes"))
}

// buckets are the upper bounds of a histogram, which is also a native one, whose buckets grow by
// 2^(1/8): the most below 1.1.
func buckets(t *testing.T, name string) (bounds []float64) {
	t.Helper()
	families, err := Registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() == name {
			histogram := family.GetMetric()[0].GetHistogram()
			require.EqualValues(t, 3, histogram.GetSchema())
			for _, bucket := range histogram.GetBucket() {
				bounds = append(bounds, bucket.GetUpperBound())
			}
			return bounds
		}
	}
	t.Fatalf("there is no metric %s", name)
	return nil
}

func TestWithoutBeingAskedForAMetricIsNotThere(t *testing.T) {
	var l restLatency
	l.Observe(context.Background(), "GET", url.URL{}, time.Second)
	var r restResolverLatency
	r.Observe(context.Background(), "host", time.Second)
	var s restSize
	s.Observe(context.Background(), "GET", "host", 1)
	var c restRetries
	c.IncrementRetry(context.Background(), "429", "GET", "host")
	_, series := restMetrics(t, "host")
	require.Empty(t, series)
}

// With -count the collectors are there from the run before.
func TestRegisteringTwiceIsHarmless(t *testing.T) {
	RegisterRESTClientMetrics(MetricRequestRetry)
	RegisterRESTClientMetrics(MetricRequestRetry)
	requestRetries.IncrementRetry(context.Background(), "429", "GET", "twice")
	_, series := restMetrics(t, "twice")
	require.Equal(t, []string{"rest_client_request_retries_total code=429 host=twice verb=GET"},
		series)
}
