// Package taken plays another library, whose metrics have the names of ours. Go initializes it
// before the packages of ours that count something.
package taken

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/loopwright/loopwright/manager/metrics"
)

// Names has one metric of each package of ours that registers some.
var Names = []string{
	"certwatcher_read_certificate_total",
	"controller_runtime_client_consistency_wait_duration_seconds",
	"controller_runtime_conversion_webhook_panics_total",
	"controller_runtime_reconcile_total",
	"controller_runtime_webhook_latency_seconds",
	"controller_runtime_webhook_panics_total",
	"leader_election_master_status",
	"loopwright_events_lost_total",
	"replicaset_controller_sorting_deletion_age_ratio",
	"rest_client_request_retries_total",
}

func init() {
	for _, name := range Names {
		taken := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: "Not ours."})
		metrics.Registry.MustRegister(taken)
	}
}
