package workqueue_test

import (
	"fmt"
	"time"

	"github.com/loopwright/loopwright/workqueue"
)

// A program that was written for client-go's queue works when it imports this package instead.
func ExampleNewTypedRateLimitingQueueWithConfig() {
	var queue workqueue.TypedRateLimitingInterface[string] = workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Millisecond, time.Second),
		workqueue.TypedRateLimitingQueueConfig[string]{Name: "letters"},
	)
	defer queue.ShutDown()
	queue.AddRateLimited("to Anna")
	item, _ := queue.Get()
	defer queue.Done(item)
	fmt.Println(item, queue.NumRequeues(item))
	// Output: to Anna 1
}

// Some failures are over in a moment, others last for hours.
func ExampleNewTypedItemFastSlowRateLimiter() {
	limiter := workqueue.NewTypedItemFastSlowRateLimiter[string](5*time.Millisecond, time.Minute, 2)
	for range 4 {
		fmt.Println(limiter.When("to Anna"))
	}
	// Output:
	// 5ms
	// 5ms
	// 1m0s
	// 1m0s
}
