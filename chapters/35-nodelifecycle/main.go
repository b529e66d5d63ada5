// Command 35-nodelifecycle runs mini's controllers of nodes.
package main

import (
	"github.com/loopwright/loopwright/chapters/35-nodelifecycle/outage"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	outage.Main("Chapter 35: nodes", prepare)
}

// prepare adds both controllers to the manager.
func prepare(m *mini.Manager) error {
	lifecycle, err := mini.NewNodeLifecycleController(m)
	if err != nil {
		return err
	}
	eviction, err := mini.NewTaintEvictionController(m)
	if err != nil {
		return err
	}
	m.AddController(lifecycle)
	m.AddController(eviction)
	return nil
}
