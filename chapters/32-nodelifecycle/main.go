// Command 32-nodelifecycle runs mini's controllers of nodes.
package main

import (
	"errors"

	"github.com/loopwright/loopwright/chapters/32-nodelifecycle/outage"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	outage.Main("Chapter 32: nodes", prepare)
}

// prepare adds both controllers to the manager.
func prepare(m *mini.Manager) error {
	lifecycle, err1 := mini.NewNodeLifecycleController(m)
	eviction, err2 := mini.NewTaintEvictionController(m)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	m.AddController(lifecycle)
	m.AddController(eviction)
	return nil
}
