package controller

import (
	"context"
	"fmt"
	"sync"

	"github.com/loopwright/loopwright/manager/config"
)

// Manager is what New needs of a manager.Manager. It is declared here so that a controller can be
// used without a manager, and this package imported without that one.
type Manager interface {
	// Add starts what it is given when it is time, and stops it.
	Add(runnable interface {
		Start(ctx context.Context) error
	}) error
	// GetControllerOptions has the settings of all controllers of the manager.
	GetControllerOptions() config.Controller
	// OverrideControllerOptions changes what a user of the program has set for the controller with
	// this name, in a file for instance. controller-runtime does not have it.
	OverrideControllerOptions(name string, options *Options)
}

// New returns a controller that the manager starts and stops. It has no sources yet: give it some
// with Watch. Package builder does both in one call, and is what most programs use.
//
// An option that's zero gets its value from the manager's Options.Controller, and if that's zero,
// too, the default in the option's documentation. Settings in a configuration file that the user of
// the program wrote come before all of these; see package configfile. The name is the one in logs
// and metrics, and no two controllers of a process may share it; see Options.SkipNameValidation.
func New(name string, mgr Manager, options Options) (Controller, error) {
	if mgr == nil {
		return nil, fmt.Errorf("controller %s: New needs a manager; NewUnmanaged does without",
			name)
	}
	options.DefaultFromConfig(mgr.GetControllerOptions())
	mgr.OverrideControllerOptions(name, &options)
	c, err := NewUnmanaged(name, options)
	if err != nil {
		return nil, err
	}
	if err := mgr.Add(c); err != nil {
		if !*c.(*controlLoop).options.SkipNameValidation {
			freeName(name)
		}
		return nil, fmt.Errorf("controller %s: %w", name, err)
	}
	return c, nil
}

// String is what a manager calls the controller in messages.
func (c *controlLoop) String() string { return "controller " + c.name }

// names are those of the controllers of this process that have been made and have not ended.
// Metrics are the reason that they must differ: two controllers of one name would count into the
// same. As in controller-runtime, a controller that is never started keeps its name.
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
