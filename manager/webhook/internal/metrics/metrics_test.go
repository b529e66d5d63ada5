package metrics

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/metrics"
)

// Dashboards and alerts that were made for controller-runtime go on working.
func TestEachWebhookIsMeasuredUnderItsPath(t *testing.T) {
	total.Reset() // with -count, the run before has counted, too
	latency.Reset()
	var serving float64
	hook := InstrumentedHook("/hook",
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			serving = testutil.ToFloat64(inFlight.WithLabelValues("/hook"))
			if r.Method != http.MethodPost {
				w.WriteHeader(http.StatusInternalServerError)
			}
		}))
	InstrumentedHook("/other", http.NotFoundHandler())
	codes := func(path string) (ok, failed float64) {
		return testutil.ToFloat64(total.WithLabelValues(path,
			"200")), testutil.ToFloat64(total.WithLabelValues(path, "500"))
	}
	require.Equal(t, 4, testutil.CollectAndCount(total),
		"a rate of errors can be computed from the first one on only if there was a zero before it")

	for _, method := range []string{http.MethodPost, http.MethodPost, http.MethodGet} {
		hook.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(method, "/hook", nil))
		require.EqualValues(t, 1, serving)
	}
	ok, failed := codes("/hook")
	require.Equal(t, []float64{2, 1}, []float64{ok, failed})
	ok, failed = codes("/other")
	require.Equal(t, []float64{0, 0}, []float64{ok, failed})
	require.Zero(t, testutil.ToFloat64(inFlight.WithLabelValues("/hook")))

	families, err := metrics.Registry.Gather()
	require.NoError(t, err)
	measured, buckets, schema := map[string]uint64{}, []string(nil), int32(0)
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "webhook" && label.GetValue() == "/hook" {
					measured[family.GetName()] += metric.GetHistogram().GetSampleCount()
					for _, bucket := range metric.GetHistogram().GetBucket() {
						buckets = append(buckets, fmt.Sprintf("%.0e", bucket.GetUpperBound()))
					}
					schema += metric.GetHistogram().GetSchema()
				}
			}
		}
	}
	require.Equal(t, map[string]uint64{
		"controller_runtime_webhook_latency_seconds":    3,
		"controller_runtime_webhook_requests_total":     0,
		"controller_runtime_webhook_requests_in_flight": 0,
	}, measured)
	require.Equal(t, []string{"1e-08", "1e-07", "1e-06", "1e-05", "1e-04", "1e-03", "1e-02",
		"1e-01", "1e+00", "1e+01", "1e+02", "1e+03"}, buckets)
	require.EqualValues(t, 3, schema,
		"a native histogram's buckets grow by 2^(1/8), which is the most below 1.1")
}
