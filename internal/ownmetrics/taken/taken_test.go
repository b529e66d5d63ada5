package taken_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/loopwright/loopwright/controllers/replicaset"
	"github.com/loopwright/loopwright/internal/ownmetrics/taken"
	_ "github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/metrics"
)

// If one of our packages panicked, this program couldn't be started.
func TestAProgramStartsAlthoughAnotherLibraryHasTakenNamesOfOurMetrics(t *testing.T) {
	metrics.RegisterRESTClientMetrics(metrics.MetricRequestRetry)
	families, err := metrics.Registry.Gather()
	require.NoError(t, err)
	help := map[string]string{}
	for _, family := range families {
		help[family.GetName()] = family.GetHelp()
	}
	for _, name := range taken.Names {
		require.Equal(t, "Not ours.", help[name], "%s: our package came first, so this test "+
			"shows nothing", name)
	}
	require.Contains(t, help, "certwatcher_read_certificate_errors_total", "the others are served")
}
