package configfile_test

import (
	"flag"
	"fmt"
	"time"

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
	settings := configfile.Config{Manager: configfile.Manager{MetricsBindAddress: "127.0.0.1:8080"}} // the program's defaults
	if err := configfile.Parse("config.yaml", file, &settings); err != nil {
		fmt.Println(err)
	}
	options := controller.Options{ReconciliationTimeout: time.Minute}
	settings.Controller("website").ApplyTo(&options)
	fmt.Println(settings.Manager.MetricsBindAddress, options.MaxConcurrentReconciles, options.ReconciliationTimeout)

	err := configfile.Parse("config.yaml", []byte("apiVersion: config.loopwright.dev/v1\nkind: ManagerConfiguration\ncontrollers:\n  website:\n    workers: many\n"), &settings)
	fmt.Println(err)
	// Output:
	// :8080 4 1m0s
	// config.yaml:5: controllers.website.workers: want a whole number of at least 1, have "many"
}

// main binds the flags, parses them, and then loads the file and what the flags say.
func ExampleBindFlags() {
	fs := flag.NewFlagSet("website", flag.ExitOnError)
	flags := configfile.BindFlags(fs)
	_ = fs.Parse([]string{"--leader-elect", "--leader-election-id=website.example.com", "--set=controllers.website.workers=4"})
	var settings configfile.Config
	if err := flags.Load(&settings); err != nil {
		fmt.Println(err)
	}
	fmt.Println(settings.Manager.LeaderElection.ID, *settings.Controller("website").Workers)
	// Output: website.example.com 4
}
