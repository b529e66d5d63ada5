package controller

import (
	"fmt"
	"runtime"
	"sync"
	"weak"
)

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
