// Command 06-queue keeps three Pods for a ConfigMap, with mini's queue.
package main

import (
	"context"

	"github.com/loopwright/loopwright/chapters/06-queue/threepods"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	demo.Main("Chapter 6: the queue", threepods.Story(work),
		demo.Predict(1,
			"there are two workers and two events. How many reconciles will there be, "+
				"and who runs them?",
			"the lines that begin with Worker"))
}

// work starts two workers that take requests from a queue.
func work(ctx context.Context, d *demo.Demo, configMaps *mini.SharedInformer) {
	queue := mini.NewQueue("queue")
	queue.Trace = d.Recorder
	configMaps.AddHandler(func(change mini.Change) {
		if key := mini.KeyOf(change.Object()); key.Name == "web" {
			queue.Add(key)
		}
	})
	context.AfterFunc(ctx, queue.ShutDown)
	for worker := range 2 {
		go func() {
			for {
				req, shutdown := queue.Get()
				if shutdown {
					return
				}
				if err := threepods.Reconcile(ctx, d, worker+1, req); err != nil {
					d.Say("%v", err)
				}
				queue.Done(req)
			}
		}()
	}
}
