// Package metrics counts how often certificates are read.
//
// Neighbours: below it is the registry in manager/metrics. Above it is package certwatcher.
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/loopwright/loopwright/internal/ownmetrics"
	"github.com/loopwright/loopwright/manager/metrics"
)

var (
	// ReadCertificateTotal counts reads of a certificate and its key, including those that failed.
	ReadCertificateTotal = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "certwatcher_read_certificate_total",
		Help: "Reads of a certificate and its key.",
	})
	// ReadCertificateErrors counts the reads that failed.
	ReadCertificateErrors = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "certwatcher_read_certificate_errors_total",
		Help: "Reads of a certificate and its key that failed.",
	})
)

func init() { ownmetrics.Register(metrics.Registry, ReadCertificateTotal, ReadCertificateErrors) }
