package config_test

import (
	"fmt"
	"time"

	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/controller"
)

// What is set for all controllers holds for those that do not say otherwise.
func ExampleController() {
	all := config.Controller{MaxConcurrentReconciles: 4, ReconciliationTimeout: time.Minute}
	options := controller.Options{MaxConcurrentReconciles: 1}
	options.DefaultFromConfig(all)
	fmt.Println(options.MaxConcurrentReconciles, options.ReconciliationTimeout)
	// Output: 1 1m0s
}
