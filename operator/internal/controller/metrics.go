package controller

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var (
	registrations = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "site_registrar_calls_total",
		Help: "Calls of the registrar, by what they are for and how they end.",
	}, []string{"call", "result"})

	sitePages = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "site_pages",
		Help: "Published pages of each site.",
	}, []string{"namespace", "site"})
)

func init() {
	metrics.Registry.MustRegister(registrations, sitePages)
}

func result(err error) string {
	if err != nil {
		return "error"
	}
	return "success"
}
