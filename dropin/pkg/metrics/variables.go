package metrics

import (
	loopwright "github.com/loopwright/loopwright/manager/metrics"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Registry has the metrics that a manager serves. A program may assign a different one.
var Registry = loopwright.Registry

// From here on, the library's variable leads to this one, so a manager serves the registry that the
// program has assigned.
func init() { loopwright.Registry = assigned{} }

type assigned struct{}

func (assigned) Register(c prometheus.Collector) error    { return Registry.Register(c) }
func (assigned) MustRegister(all ...prometheus.Collector) { Registry.MustRegister(all...) }
func (assigned) Unregister(c prometheus.Collector) bool   { return Registry.Unregister(c) }
func (assigned) Gather() ([]*dto.MetricFamily, error)     { return Registry.Gather() }
