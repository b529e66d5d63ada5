package workqueue_test

import (
	"fmt"
	"strings"

	"github.com/loopwright/loopwright/workqueue"
)

// A resync queues everything. A user's change overtakes it, and among the users
// each namespace has its turn.
func ExamplePriorityQueue() {
	q := workqueue.NewPriority(workqueue.PriorityOptions[string]{
		Group: func(item string) string { return strings.Split(item, "/")[0] },
	})
	low := workqueue.LowPriority
	q.AddWithOpts(workqueue.AddOpts{Priority: &low, Reason: "resync"}, "shop/web", "shop/db", "blog/web")
	q.AddWithOpts(workqueue.AddOpts{Reason: "changed"}, "shop/a", "shop/b", "shop/db", "blog/a")
	q.ShutDown()
	for {
		item, priority, shutdown := q.GetWithPriority()
		if shutdown {
			return
		}
		fmt.Println(priority, item)
		q.Done(item)
	}
	// Output:
	// 0 shop/a
	// 0 blog/a
	// 0 shop/b
	// 0 shop/db
	// -100 shop/web
	// -100 blog/web
}
