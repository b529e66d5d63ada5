// Command 08-controller is the controller of Websites.
package main

import (
	"context"

	"github.com/loopwright/loopwright/chapters/08-controller/opening"
	"github.com/loopwright/loopwright/chapters/08-controller/website"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/trace"
)

func main() { demo.Main("Chapter 8: the controller", opening.Story(run)) }

func run(ctx context.Context, d *demo.Demo, r *website.Reconciler) error {
	d.Show(func(e trace.Event) bool { return e.Kind == trace.Delay })
	return website.New(r, d.Recorder).Run(ctx)
}
