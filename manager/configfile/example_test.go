package configfile_test

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"time"

	ctrl "github.com/loopwright/loopwright"
	"github.com/loopwright/loopwright/manager/configfile"
	"github.com/loopwright/loopwright/manager/controller"
)

func Example() {
	file := []byte(`
apiVersion: config.loopwright.dev/v1
kind: ManagerConfiguration
manager:
  metricsBindAddress: ":8080"
controllers:
  website:
    workers: 4
`)
	// the program's defaults
	settings := configfile.Config{Manager: configfile.Manager{MetricsBindAddress: "127.0.0.1:8080"}}
	if err := configfile.Parse("config.yaml", file, &settings); err != nil {
		fmt.Println(err)
	}
	options := controller.Options{ReconciliationTimeout: time.Minute}
	settings.Controller("website").ApplyTo(&options)
	fmt.Println(settings.Manager.MetricsBindAddress, options.MaxConcurrentReconciles,
		options.ReconciliationTimeout)

	content := "apiVersion: config.loopwright.dev/v1\nkind: ManagerConfiguration\n" +
		"controllers:\n  website:\n    workers: many\n"
	err := configfile.Parse("config.yaml", []byte(content), &settings)
	fmt.Println(err)
	// Output:
	// :8080 4 1m0s
	// config.yaml:5: controllers.website.workers: want a whole number of at least 1, have "many"
}

// main binds the flags, parses them, and then loads the file and what the flags say.
func ExampleBindFlags() {
	fs := flag.NewFlagSet("website", flag.ExitOnError)
	flags := configfile.BindFlags(fs)
	_ = fs.Parse([]string{"--leader-elect", "--leader-election-id=website.example.com",
		"--set=controllers.website.workers=4"})
	var settings configfile.Config
	if err := flags.Load(&settings); err != nil {
		fmt.Println(err)
	}
	fmt.Println(settings.Manager.LeaderElection.ID, *settings.Controller("website").Workers)
	// Output: website.example.com 4
}

// The options are the program's, the file changes some of them, and a flag counts more than the
// file.
func ExampleFlags_ApplyTo() {
	fs := flag.NewFlagSet("website", flag.ExitOnError)
	flags := configfile.BindFlags(fs)
	_ = fs.Parse([]string{"--config=testdata/website.yaml", "--metrics-bind-address=:8443",
		"--set=controllers.website.workers=8"})

	options := ctrl.Options{
		LeaderElectionID: "website.example.com", HealthProbeBindAddress: ":8081",
	}
	if err := flags.ApplyTo(&options); err != nil {
		fmt.Println(err)
	}
	fmt.Println("options:", options.LeaderElectionID, options.HealthProbeBindAddress)
	fmt.Println("file:   ", options.LeaderElection,
		slices.Sorted(maps.Keys(options.Cache.DefaultNamespaces)))
	fmt.Println("flag:   ", options.Metrics.BindAddress)

	// the program's own options
	website := controller.Options{MaxConcurrentReconciles: 1, MaxRetries: 5}
	// what controller.New does
	website.Override(options.Controller.Override("website"))
	fmt.Println("website:",
		website.MaxConcurrentReconciles, website.MaxRetries, website.ReconciliationTimeout)
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
