package workqueue_test

import (
	"fmt"
	"time"

	"golang.org/x/time/rate"

	"github.com/loopwright/loopwright/workqueue"
)

// A worker that fails three times.
func ExampleRateLimitingQueue() {
	q := workqueue.NewRateLimiting(&workqueue.Exponential[string]{Base: time.Millisecond}, workqueue.Options[string]{})
	q.Add("default/web")
	for range 4 { // a worker goes on forever
		item, _ := q.Get()
		if q.NumRequeues(item) < 3 {
			fmt.Println("failed")
			q.AddRateLimited(item)
		} else {
			fmt.Println("succeeded after", q.NumRequeues(item), "failures")
			q.Forget(item)
		}
		q.Done(item)
	}
	// Output:
	// failed
	// failed
	// failed
	// succeeded after 3 failures
}

func ExampleExponential() {
	limiter := &workqueue.Exponential[string]{Base: 10 * time.Millisecond, Limit: time.Second}
	var ladder []time.Duration
	for range 9 {
		ladder = append(ladder, limiter.When("default/web"))
	}
	fmt.Println(ladder)
	limiter.Forget("default/web")
	fmt.Println(limiter.When("default/web"))
	// Output:
	// [10ms 20ms 40ms 80ms 160ms 320ms 640ms 1s 1s]
	// 10ms
}

// Each item waits longer and longer, and all of them together retry at most once an
// hour, after the first three.
func ExampleMaxOf() {
	limiter := workqueue.MaxOf[string]{
		&workqueue.Exponential[string]{Base: time.Millisecond},
		workqueue.Bucket[string]{Limiter: rate.NewLimiter(rate.Every(time.Hour), 3)},
	}
	for _, item := range []string{"a", "b", "c", "d"} {
		fmt.Println(item, limiter.When(item).Round(time.Minute))
	}
	// Output:
	// a 0s
	// b 0s
	// c 0s
	// d 1h0m0s
}

// One retry an hour, whichever item it is; three of them may come at once.
func ExampleBucket() {
	limiter := workqueue.Bucket[string]{Limiter: rate.NewLimiter(rate.Every(time.Hour), 3)}
	for range 5 {
		fmt.Print(limiter.When("default/web").Round(time.Minute), " ")
	}
	// Output: 0s 0s 0s 1h0m0s 2h0m0s
}

func ExampleJitter() {
	limiter := workqueue.Jitter[string]{
		RateLimiter: &workqueue.Exponential[string]{Base: time.Second},
		Fraction:    0.2,
		Random:      func() float64 { return 0.5 },
	}
	fmt.Println(limiter.When("a"), limiter.When("a"))
	// Output: 1.1s 2.2s
}
