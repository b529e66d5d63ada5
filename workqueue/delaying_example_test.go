package workqueue_test

import (
	"fmt"
	"time"

	"github.com/loopwright/loopwright/workqueue"
)

// An object that expires: look at it again when that has happened.
func ExampleDelayingQueue() {
	q := workqueue.NewDelaying(workqueue.Options[string]{})
	q.AddAfter("expires-late", 20*time.Millisecond)
	q.AddAfter("expires-soon", 10*time.Millisecond)
	q.AddAfter("was-deleted", time.Minute)
	fmt.Println("cancelled:", q.Cancel("was-deleted"))
	for range 2 {
		item, _ := q.Get()
		fmt.Println(item)
		q.Done(item)
	}
	q.AddAfter("tomorrow", 24*time.Hour)
	q.ShutDown()
	fmt.Println("dropped:", q.Dropped())
	// Output:
	// cancelled: true
	// expires-soon
	// expires-late
	// dropped: 1
}
