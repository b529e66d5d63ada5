package priorityqueue_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/controller/priorityqueue"
	"github.com/loopwright/loopwright/workqueue"
)

func ExampleNew() {
	queue := priorityqueue.New[string]("letters")
	low := workqueue.LowPriority
	queue.AddWithOpts(priorityqueue.AddOpts{Priority: &low}, "an old one")
	queue.Add("a new one")
	item, priority, _ := queue.GetWithPriority()
	fmt.Println(item, priority)
	// Output: a new one 0
}

func TestTheQueueAsksTheRateLimiterThatItIsGiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := priorityqueue.New("letters", func(o *priorityqueue.Opts[string]) {
			o.RateLimiter = &workqueue.Exponential[string]{Base: time.Minute}
		})
		queue.AddRateLimited("a")
		time.Sleep(time.Minute - 1)
		require.Zero(t, queue.Len())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.Equal(t, 1, queue.Len())
		queue.ShutDown()
	})
}

// A worker that calls Done twice will next take an item from another worker's hands.
func TestMisuseIsLogged(t *testing.T) {
	var lines []string
	queue := priorityqueue.New("letters", func(o *priorityqueue.Opts[string]) {
		o.Log = funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
	})
	queue.Done("a")
	require.Len(t, lines, 1)
	require.Contains(t, lines[0], "letters")
}
