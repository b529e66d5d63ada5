// Command naive is a controller that is a loop over the queue.
package main

import (
	"context"

	"github.com/loopwright/loopwright/chapters/08-controller/opening"
	"github.com/loopwright/loopwright/chapters/08-controller/website"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() { demo.Main("Chapter 8, naive: a loop over the queue", opening.Story(run)) }

// run reconciles the requests in the queue.
func run(ctx context.Context, d *demo.Demo, r *website.Reconciler) error {
	queue := mini.NewQueue("queue")
	context.AfterFunc(ctx, queue.ShutDown)
	r.Websites.AddHandler(func(change mini.Change) {
		queue.Add(mini.KeyOf(change.Object()))
	})
	defer func() { // a panic must not end the program
		if p := recover(); p != nil {
			d.Say("panic: %v", p)
		}
	}()
	for {
		req, shutdown := queue.Get()
		if shutdown {
			return nil
		}
		if _, err := r.Reconcile(ctx, req); err != nil {
			d.Say("error: %v", err)
			continue
		}
		queue.Done(req)
	}
}
