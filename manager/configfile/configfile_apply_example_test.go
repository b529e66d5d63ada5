package configfile_test

import (
	"flag"
	"fmt"
	"maps"
	"slices"

	ctrl "github.com/loopwright/loopwright"
	"github.com/loopwright/loopwright/manager/configfile"
	"github.com/loopwright/loopwright/manager/controller"
)

// The options are the program's, the file changes some of them, and a flag counts more than the file.
func ExampleFlags_ApplyTo() {
	fs := flag.NewFlagSet("website", flag.ExitOnError)
	flags := configfile.BindFlags(fs)
	_ = fs.Parse([]string{"--config=testdata/website.yaml", "--metrics-bind-address=:8443", "--set=controllers.website.workers=8"})

	options := ctrl.Options{LeaderElectionID: "website.example.com", HealthProbeBindAddress: ":8081"}
	if err := flags.ApplyTo(&options); err != nil {
		fmt.Println(err)
	}
	fmt.Println("options:", options.LeaderElectionID, options.HealthProbeBindAddress)
	fmt.Println("file:   ", options.LeaderElection, slices.Sorted(maps.Keys(options.Cache.DefaultNamespaces)))
	fmt.Println("flag:   ", options.Metrics.BindAddress)

	website := controller.Options{MaxConcurrentReconciles: 1, MaxRetries: 5} // what the program says
	options.OverrideControllerOptions("website", &website)                   // what controller.New does
	fmt.Println("website:", website.MaxConcurrentReconciles, website.MaxRetries, website.ReconciliationTimeout)
	// Output:
	// options: website.example.com :8081
	// file:    true [bank shop]
	// flag:    :8443
	// website: 8 5 1m0s
}

// All mistakes are reported at once, with their lines.
func ExampleLoad_mistakes() {
	var settings configfile.Config
	fmt.Println(configfile.Load("testdata/typing-errors.yaml", &settings))
	// Output:
	// testdata/typing-errors.yaml:4: manager.metricBindAddress: there is no such setting; there are gracefulShutdownTimeout, healthProbeBindAddress, leaderElection, metricsBindAddress, namespaces, pprofBindAddress, strict, syncPeriod
	// testdata/typing-errors.yaml:5: manager.syncPeriod: want a duration with its unit, such as "30s" or "5m", have "30"
	// testdata/typing-errors.yaml:9: controllers.website.retryDelay: want a duration with its unit, such as "30s" or "5m", have "soon"
	// testdata/typing-errors.yaml:10: controllers.website: it is in line 7 already
}
