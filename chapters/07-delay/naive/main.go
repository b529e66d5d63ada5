// Command naive retries what has failed, in three ways that don't work.
package main

import (
	"context"
	"errors"
	"time"

	"github.com/loopwright/loopwright/chapters/07-delay/retries"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	demo.Main("Chapter 7, naive: retries without a memory", story,
		demo.Predict(1,
			"the worker tries again at once. How many requests does the API server get "+
				"in a second for two objects that cannot succeed?",
			"the number of tries above"),
		demo.Predict(2,
			"the worker sleeps for two seconds after a failure. shop lacks nothing. "+
				"When is it reconciled?",
			"the line about shop"),
		demo.Predict(3,
			"each failure sets an alarm for half a second later. How often is red tried "+
				"per second, long after the last edit?",
			"the line above"))
}

func story(ctx context.Context, d *demo.Demo) error {
	return errors.Join(
		retries.Missing(ctx, d, "1. Try again at once", worker(atOnce)),
		retries.Missing(ctx, d, "2. Sleep for two seconds, and try again", worker(sleep)),
		retries.Changes(ctx, d, "3. Set an alarm for each failure", worker(alarm)),
	)
}

// worker reconciles the requests in a new queue. Failures go to retry.
func worker(retry func(*mini.Queue, mini.Request)) retries.Way {
	queue := mini.NewQueue("queue")
	return retries.Way{Queue: queue, Work: func(reconcile func(mini.Request) error) {
		for {
			req, shutdown := queue.Get()
			if shutdown {
				return
			}
			if err := reconcile(req); err != nil {
				retry(queue, req)
			}
			queue.Done(req)
		}
	}}
}

func atOnce(queue *mini.Queue, req mini.Request) { queue.Add(req) }

func sleep(queue *mini.Queue, req mini.Request) {
	time.Sleep(2 * time.Second)
	queue.Add(req)
}

func alarm(queue *mini.Queue, req mini.Request) {
	time.AfterFunc(500*time.Millisecond, func() { queue.Add(req) })
}
