// Command 14-manager has a manager that starts and stops the parts of the program.
package main

import (
	"context"

	"github.com/loopwright/loopwright/chapters/14-manager/handover"
	"github.com/loopwright/loopwright/chapters/example/website"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() { demo.Main("Chapter 14: the manager", handover.Story(run)) }

// run gives the parts to a manager.
func run(ctx context.Context, p website.Process) error {
	m := mini.NewManager(p.Cluster)
	m.Elector = p.Elector
	c, err := website.New(m.Cache, p.Reconciler(m.Client))
	if err != nil {
		return err
	}
	m.AddController(c)
	return m.Run(ctx)
}
