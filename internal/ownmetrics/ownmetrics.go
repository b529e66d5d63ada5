// Package ownmetrics registers the library's own metrics.
//
// A package of the library calls Register from an init function, with manager/metrics' Registry.
//
// Neighbours: below it is the Prometheus client. Above it are the packages that count something.
package ownmetrics

import (
	"fmt"
	"io"
	"os"

	"github.com/prometheus/client_golang/prometheus"
)

// Register registers metrics. If another package has registered the name of one, that package's
// metric stays, ours isn't served, and a line on standard error says so: an init function has no
// caller to return an error to.
//
// controller-runtime panics, so a program can't even be started that imports two such packages.
func Register(registry prometheus.Registerer, metrics ...prometheus.Collector) {
	register(os.Stderr, registry, metrics...)
}

func register(tell io.Writer, registry prometheus.Registerer, metrics ...prometheus.Collector) {
	for _, metric := range metrics {
		if err := registry.Register(metric); err != nil {
			_, _ = fmt.Fprintf(tell, "loopwright: the library's metric %s isn't served: %v. Another "+
				"package has registered this name in metrics.Registry: rename that metric.\n",
				nameOf(metric), err)
		}
	}
}

// nameOf returns the name of a collector's metric, or the last one, if it has more.
func nameOf(metric prometheus.Collector) (name string) {
	descriptions := make(chan *prometheus.Desc)
	go func() { metric.Describe(descriptions); close(descriptions) }()
	for described := range descriptions {
		if _, err := fmt.Sscanf(described.String(), "Desc{fqName: %q", &name); err != nil {
			name = described.String()
		}
	}
	return name
}
