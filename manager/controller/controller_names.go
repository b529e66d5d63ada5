package controller

import (
	"fmt"
	"sync"
)

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
		return fmt.Errorf("a controller with the name %q exists: their metrics could not be told apart; "+
			"give it another name, or set SkipNameValidation", name)
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
