package metrics_test

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/loopwright/loopwright/manager/metrics"
	"github.com/loopwright/loopwright/workqueue"
)

// Metrics of your own are served together with those of the controllers.
func Example() {
	renewed := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "certificates_renewed_total", Help: "Certificates that were renewed.",
	})
	metrics.Registry.MustRegister(renewed)
	renewed.Inc()
	families, _ := metrics.Registry.Gather()
	for _, family := range families {
		if family.GetName() == "certificates_renewed_total" {
			fmt.Println(family.GetMetric()[0].GetCounter().GetValue())
		}
	}
	// Output: 1
}

// A queue that no controller owns can be measured as well.
func ExampleWorkqueueMetricsProvider() {
	q := workqueue.New(workqueue.Options[string]{
		Name: "letters", Metrics: metrics.WorkqueueMetricsProvider{},
	})
	q.Add("hello")
	fmt.Println(q.Len())
	// Output: 1
}
