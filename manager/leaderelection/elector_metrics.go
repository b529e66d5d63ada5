package leaderelection

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/loopwright/loopwright/manager/metrics"
)

// The metrics of all electors, with client-go's names. controller-runtime v0.25.2 counts the second one
// and never registers it, so that nobody can read it.
var (
	masterStatus = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "leader_election_master_status",
		Help: "1 if this process leads, 0 if not, by the name of the election.",
	}, []string{"name"})
	slowpathTotal = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "leader_election_slowpath_total",
		Help: "Renewals for which the leader had to read the lock first, because it could not rely on what it knew.",
	}, []string{"name"})
)

func init() { metrics.Registry.MustRegister(masterStatus, slowpathTotal) }

// meter measures the elector of a name.
type meter struct{ name string }

// begin makes both metrics visible, with zero: an alert cannot count what is not there.
func (m meter) begin() {
	m.leads(false)
	slowpathTotal.WithLabelValues(m.name).Add(0)
}

func (m meter) leads(yes bool) {
	value := 0.0
	if yes {
		value = 1
	}
	masterStatus.WithLabelValues(m.name).Set(value)
}

func (m meter) slowPath() { slowpathTotal.WithLabelValues(m.name).Inc() }
