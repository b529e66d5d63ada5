package manager

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/metrics"
)

// requestsCounted are the requests of this process so far, by the verb and the code of the answer,
// and how many of those that end were measured.
func requestsCounted(t *testing.T) (counted map[string]float64, took, sizes uint64) {
	t.Helper()
	counted = map[string]float64{}
	families, err := metrics.Registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			labels := map[string]string{}
			for _, label := range m.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			switch family.GetName() {
			case "rest_client_requests_total":
				require.Equal(t, "fakeapi", labels["host"])
				counted[labels["method"]+" "+labels["code"]] = m.GetCounter().GetValue()
			case "rest_client_request_duration_seconds":
				took += m.GetHistogram().GetSampleCount()
			case "rest_client_response_size_bytes":
				sizes += m.GetHistogram().GetSampleCount()
			}
		}
	}
	return counted, took, sizes
}

// An alert on rest_client_requests_total{code="403"} is how people hear of a right that is missing.
// Most requests of an operator, and most that are refused, are those of its informers.
func TestTheRequestsOfInformersAreCounted(t *testing.T) {
	metrics.RegisterRESTClientMetrics(metrics.MetricRequestLatency, metrics.MetricResponseSize)
	forbidden := metav1.Status{Status: "Failure", Code: 403, Reason: metav1.StatusReasonForbidden,
		Message: "you may not"}
	inWorld(t, func(t *testing.T, w *world) {
		m := w.manager(Options{})
		r := w.start(m)
		before, tookBefore, sizesBefore := requestsCounted(t)
		w.server.ForgetRequests()

		require.NoError(t, m.GetClient().List(t.Context(), &corev1.ConfigMapList{},
			client.InNamespace("default")))
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "secrets"},
			Status: &forbidden})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.Error(t, m.GetClient().List(ctx, &corev1.SecretList{}))
		synctest.Wait()

		want, ended := map[string]float64{}, 0
		for _, request := range w.server.Requests(fakeapi.Match{}) {
			if request.Resource == "secrets" {
				want["GET 403"]++
			} else {
				want["GET 200"]++
			}
			if request.Verb != "watch" {
				ended++
			}
		}
		require.Contains(t, want, "GET 403")
		after, tookAfter, sizesAfter := requestsCounted(t)
		for code, n := range before {
			if after[code] -= n; after[code] == 0 {
				delete(after, code)
			}
		}
		require.Equal(t, want, after)
		require.EqualValues(t, ended, tookAfter-tookBefore,
			"a watch goes on for minutes; how long is no news")
		require.EqualValues(t, ended, sizesAfter-sizesBefore)

		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "pods"}, Refuse: true})
		require.Error(t, m.GetClient().List(ctx, &corev1.PodList{}))
		after, _, _ = requestsCounted(t)
		require.Greater(t, after["GET <error>"], before["GET <error>"],
			"a server that cannot be reached")
		require.NoError(t, r.end())
	})
}
