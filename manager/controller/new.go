package controller

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"weak"

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

// New returns a controller that the manager starts and stops. What the options do not say, the
// manager's settings do, and what a user of the program has set counts more than both. For the name see
// NewUnmanaged.
func New(name string, mgr Manager, options Options) (Controller, error) {
	if mgr == nil {
		return nil, fmt.Errorf("controller %s: New needs a manager; NewUnmanaged does without", name)
	}
	options.DefaultFromConfig(mgr.GetControllerOptions())
	mgr.OverrideControllerOptions(name, &options)
	c, err := NewUnmanaged(name, options)
	if err != nil {
		return nil, err
	}
	if err := mgr.Add(c); err != nil {
		// Nobody has c now, which frees its name.
		return nil, fmt.Errorf("controller %s: %w", name, err)
	}
	return c, nil
}

// String is what a manager calls the controller in messages.
func (c *controlLoop) String() string { return "controller " + c.name }

// names are those of the controllers of this process that run, or may still be started. Metrics are the
// reason that they must differ: two controllers of one name would count into the same.
//
// The pointers are weak: a controller that nobody has any more cannot be started, and needs no name.
var names = struct {
	mu    sync.Mutex // guards taken
	taken map[string]weak.Pointer[controlLoop]
}{taken: map[string]weak.Pointer[controlLoop]{}}

func claimName(name string, c *controlLoop) error {
	names.mu.Lock()
	defer names.mu.Unlock()
	other := names.taken[name].Value()
	if other != nil && !other.isStarted() {
		// Has somebody dropped it? Only a collection tells. That takes time, but happens once or never
		// in the life of a program: otherwise an error follows, or this is a test.
		runtime.GC()
		other = names.taken[name].Value()
	}
	switch {
	case other == nil:
		names.taken[name] = weak.Make(c)
		return nil
	case other.isStarted():
		return fmt.Errorf("a controller with the name %q exists: their metrics could not be told apart; give it another name, or set SkipNameValidation", name)
	default:
		return fmt.Errorf("a controller with the name %q exists, and has not been started yet: their metrics could not be told apart; "+
			"give it another name, or set SkipNameValidation; or drop the other one, with its manager, if it will never start", name)
	}
}

// freeName is called when a controller has ended, so that its successor can have the name.
func freeName(name string) {
	names.mu.Lock()
	defer names.mu.Unlock()
	delete(names.taken, name)
}

func (c *controlLoop) isStarted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.started
}
