package controller

import (
	"context"
	"fmt"
	"sync"

	"github.com/loopwright/loopwright/manager/config"
)

// Manager is the part of a manager.Manager that New needs. It's declared here so that you can use a
// controller without a manager, and import this package without that one.
type Manager interface {
	// Add starts the runnable when it's time, and stops it.
	Add(runnable interface {
		Start(ctx context.Context) error
	}) error
	// GetControllerOptions returns the settings that all controllers of the manager share.
	GetControllerOptions() config.Controller
}

// New is NewTyped for requests that are the names of objects.
func New(name string, mgr Manager, options Options) (Controller, error) {
	return NewTyped(name, mgr, options)
}

// NewTyped returns a controller that the manager starts and stops. It has no sources yet: add them
// with Watch. Package builder does both in one call, and most programs use that.
//
// An option that's zero gets its value from the manager's Options.Controller. If that's zero, too,
// it gets the default in the option's documentation. A configuration file that the program's user
// wrote wins over all of these; see package configfile. The name appears in logs and metrics, and
// no two controllers of a process may share it; see Options.SkipNameValidation.
func NewTyped[request comparable](
	name string, mgr Manager, options TypedOptions[request],
) (TypedController[request], error) {
	if mgr == nil {
		return nil, fmt.Errorf("controller %s: New needs a manager; NewUnmanaged does without",
			name)
	}
	settings := mgr.GetControllerOptions()
	options.DefaultFromConfig(settings)
	if settings.Override != nil {
		options.Override(settings.Override(name))
	}
	c, err := newUnmanaged(name, options)
	if err != nil {
		return nil, err
	}
	if err := mgr.Add(c); err != nil {
		if !*c.options.SkipNameValidation {
			freeName(name)
		}
		return nil, fmt.Errorf("controller %s: %w", name, err)
	}
	return c, nil
}

// String is the controller's name in a manager's messages.
func (c *controlLoop[request]) String() string { return "controller " + c.name }

// names are the names of this process's controllers that have been made and haven't ended. They
// must differ because of the metrics: two controllers with the same name would count into the same
// series. As in controller-runtime, a controller that is never started keeps its name.
var names = struct {
	mu    sync.Mutex // guards taken
	taken map[string]bool
}{taken: map[string]bool{}}

func claimName(name string) error {
	names.mu.Lock()
	defer names.mu.Unlock()
	if names.taken[name] {
		return fmt.Errorf("a controller with the name %q exists: their metrics could not be "+
			"told apart; give it another name, or set SkipNameValidation", name)
	}
	names.taken[name] = true
	return nil
}

// freeName is called when a controller has ended, so that its successor can have the name.
func freeName(name string) {
	names.mu.Lock()
	defer names.mu.Unlock()
	delete(names.taken, name)
}
