// Command 07-delay retries what has failed, with mini's queue.
package main

import (
	"context"
	"errors"
	"time"

	"github.com/loopwright/loopwright/chapters/07-delay/retries"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

func main() {
	demo.Main("Chapter 7: delay and back-off", story,
		demo.Predict(1,
			"how often are red and blue tried in the first second? The Secret of red "+
				"comes after one second. When is red reconciled?",
			"the last two lines above"))
}

func story(ctx context.Context, d *demo.Demo) error {
	d.Show(func(e trace.Event) bool { return e.Kind == trace.Delay && e.Name == "red" })
	backoff := mini.Backoff{Base: 5 * time.Millisecond, Max: 1000 * time.Second}
	half := mini.Backoff{Base: 500 * time.Millisecond, Max: 500 * time.Millisecond}
	return errors.Join(
		retries.Missing(ctx, d, "1. Back off", worker(d, backoff)),
		retries.Changes(ctx, d, "2. One alarm for each request", worker(d, half)),
	)
}

// worker reconciles the requests in a new queue. Failures come back later each time.
func worker(d *demo.Demo, backoff mini.Backoff) retries.Way {
	queue := mini.NewRetryQueue("queue")
	queue.Backoff, queue.Trace = backoff, d.Recorder
	return retries.Way{Queue: queue, Work: func(reconcile func(mini.Request) error) {
		for {
			req, shutdown := queue.Get()
			if shutdown {
				return
			}
			if err := reconcile(req); err != nil {
				queue.AddRateLimited(req)
			} else {
				queue.Forget(req)
			}
			queue.Done(req)
		}
	}}
}
