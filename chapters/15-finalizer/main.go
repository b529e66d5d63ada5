// Command 15-finalizer removes the page of a Website before the Website disappears.
package main

import (
	"context"

	"github.com/loopwright/loopwright/chapters/15-finalizer/closing"
	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/chapters/example/website"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() { demo.Main("Chapter 15: finalizers", closing.Story(run)) }

// run gives the parts to a manager.
func run(ctx context.Context, p website.Process) error {
	m := mini.NewManager(p.Cluster)
	m.Elector = p.Elector
	r := p.Reconciler(m.Client)
	c, err := website.New(m.Cache, r)
	if err != nil {
		return err
	}
	c.Reconciler = &mini.Finalizing[*example.Website]{
		Client: m.Client, Finalizer: "web.example.com/cdn",
		Cleanup: r.Unpublish, Next: r,
	}
	m.AddController(c)
	return m.Run(ctx)
}
