// Command naive keeps three Pods for a ConfigMap. Its queue is a Go channel.
package main

import (
	"context"

	"github.com/loopwright/loopwright/chapters/06-queue/threepods"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	demo.Main("Chapter 6, naive: the queue is a channel", threepods.Story(work),
		demo.Predict(1, "how many Pods does web have in the end?", "the last line above"))
}

// work starts two workers that take requests from a channel.
func work(ctx context.Context, d *demo.Demo, configMaps *mini.SharedInformer) {
	queue := make(chan mini.Request, 100)
	configMaps.AddHandler(func(change mini.Change) {
		if key := mini.KeyOf(change.Object()); key.Name == "web" {
			queue <- key
		}
	})
	for worker := range 2 {
		go func() {
			for {
				select {
				case req := <-queue:
					if err := threepods.Reconcile(ctx, d, worker+1, req); err != nil {
						d.Say("%v", err)
					}
				case <-ctx.Done():
					return
				}
			}
		}()
	}
}
