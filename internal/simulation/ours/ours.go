// Package ours plays Loopwright's controllers in a simulation: each process has a manager.
//
//	replicaset.Add -> Process -> simulation.New, simulation.Story
//
// Neighbours: below it are manager and package simulation, which knows no manager, so that others'
// controllers can be played, too. Above it are the tests of controllers.
package ours

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/simulation"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/metrics/server"
	"github.com/loopwright/loopwright/trace"
)

// Add adds controllers to the manager of their process.
type Add func(manager.Manager, controllers.Options) error

// Process makes processes with these controllers.
func Process(add Add) simulation.Process {
	return func(
		connection *rest.Config, recorder *trace.Recorder,
	) (run func(context.Context) error, err error) {
		mgr, err := newManager(connection, recorder)
		if err != nil {
			return nil, err
		}
		return mgr.Start, add(mgr, options())
	}
}

// newManager makes the manager of a process, without controllers.
func newManager(connection *rest.Config, recorder *trace.Recorder) (manager.Manager, error) {
	return manager.New(connection, manager.Options{
		Logger: logr.Discard(), Recorder: recorder, Metrics: server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
}

func options() controllers.Options {
	return controllers.Options{
		Controller: controller.Options{GracePeriod: -1},
		Probe:      controllers.ProbeOptions{Skip: true},
	}
}

// RefusesMisuse checks that Add returns an error that says what it was doing if its controller
// couldn't work: in a manager that has the controller already, in one whose cache can't wait for
// the controller's writes, and if it would probe before its process is the leader. name is the
// controller's name in errors, and index the text if the cache refuses its index.
func RefusesMisuse(t *testing.T, add Add, name, index string) {
	synctest.Test(t, func(t *testing.T) {
		api := fakeapi.New(fakeapi.Options{})
		defer api.Close()
		mgr, err := newManager(api.Config(), nil)
		require.NoError(t, err)
		require.NoError(t, add(mgr, options()))
		require.ErrorContains(t, add(mgr, options()), index+": ")

		mgr, err = newManager(api.Config(), nil)
		require.NoError(t, err)
		require.ErrorContains(t, add(hasty{mgr}, options()),
			name+": a controller that reads what it has written needs a cache")
		warm := controllers.Options{Controller: controller.Options{EnableWarmup: new(true)}}
		require.ErrorContains(t, add(mgr, warm), name+": EnableWarmup")
	})
}

// hasty is a manager whose cache can't wait.
type hasty struct{ manager.Manager }

func (h hasty) GetCache() cache.Cache { return struct{ cache.Cache }{h.Manager.GetCache()} }
