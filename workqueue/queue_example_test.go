package workqueue_test

import (
	"context"
	"fmt"

	"github.com/loopwright/loopwright/workqueue"
)

// Three adds of two items are two pieces of work.
func ExampleQueue() {
	q := workqueue.New(workqueue.Options[string]{})
	q.AddBecause("default/web", "spec changed")
	q.Add("default/db")
	q.AddBecause("default/web", "a Pod is gone")
	q.ShutDown() // what was added is still worked on
	for {
		work, err := q.Next(context.Background())
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(work.Item, work.Causes.Count, work.Causes.Reasons())
		q.Done(work.Item)
	}
	// Output:
	// default/web 2 [spec changed a Pod is gone]
	// default/db 1 []
	// the work queue is shut down
}
