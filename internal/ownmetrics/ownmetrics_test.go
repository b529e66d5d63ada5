package ownmetrics

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

func TestAMetricThatIsNotServedIsNamed(t *testing.T) {
	registry := prometheus.NewRegistry()
	gauge := func(name, help string) prometheus.Collector {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	registry.MustRegister(gauge("same", "ours"), gauge("other", "theirs"))
	var told strings.Builder
	register(&told, registry, gauge("same", "ours"), gauge("other", "ours"), gauge("free", "ours"))
	require.Regexp(t, `^loopwright: the library's metric same isn't served: [^\n]*: rename that metric.
loopwright: the library's metric other isn't served: [^\n]*: rename that metric.
$`, told.String())
	none := prometheus.CollectorFunc(func(chan<- prometheus.Metric) {})
	require.Empty(t, nameOf(none))
	require.Equal(t, "two", nameOf(both{gauge("one", ""), gauge("two", "")}))

	families, err := registry.Gather()
	require.NoError(t, err)
	var served []string
	for _, family := range families {
		served = append(served, family.GetName()+" "+family.GetHelp())
	}
	require.Equal(t, []string{"free ours", "other theirs", "same ours"}, served)
}

// both is a collector of two metrics.
type both struct{ first, second prometheus.Collector }

func (b both) Describe(to chan<- *prometheus.Desc) { b.first.Describe(to); b.second.Describe(to) }
func (b both) Collect(chan<- prometheus.Metric)    {}
