package endpoints_test

import (
	"fmt"
	"os"
	"time"

	ctrl "github.com/loopwright/loopwright"
	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/controllers/endpoints"
)

// A program that writes EndpointSlices, with no more than 200 endpoints in each.
func ExampleSliceSettings_Add() {
	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{})
	if err == nil {
		err = endpoints.SliceSettings{MaxPerSlice: 200, BatchPeriod: time.Second}.Add(mgr,
			controllers.Options{})
	}
	if err == nil {
		err = mgr.Start(ctrl.SetupSignalHandler())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
