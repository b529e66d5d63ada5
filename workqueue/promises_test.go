package workqueue

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// These tests try to break sentences under "Guarantees" and in the docs of the methods, with real
// goroutines and real timers.

// workers take all items until the queue is shut down, and count how often they got each.
func workers(q interface {
	Next(context.Context) (Work[int], error)
	Done(int)
}) (wait func() map[int]int) {
	var mu sync.Mutex // guards got
	got := map[int]int{}
	var working sync.WaitGroup
	for range 4 {
		working.Go(func() {
			for {
				work, err := q.Next(context.Background())
				if err != nil {
					return
				}
				mu.Lock()
				got[work.Item]++
				mu.Unlock()
				q.Done(work.Item)
			}
		})
	}
	return func() map[int]int { working.Wait(); return got }
}

// An alarm is due, dropped by the shutdown and counted, or it's lost.
func TestAnAlarmIsWorkedOnOrCountedAsDroppedWheneverTheShutdownComes(t *testing.T) {
	for round := range 50 {
		q := NewDelaying(Options[int]{})
		wait := workers(q)
		const count = 300
		var adding sync.WaitGroup
		for part := range 3 {
			adding.Go(func() {
				for n := part; n < count; n += 3 {
					q.AddAfter(n, time.Duration(rand.IntN(300))*time.Microsecond)
				}
			})
		}
		adding.Wait()
		for range round * 20 {
			runtime.Gosched()
		}
		q.ShutDown()
		got := wait()
		require.Equal(t, count, len(got)+q.Dropped(), "worked on and dropped, of %d alarms", count)
		for item, times := range got {
			require.Equal(t, 1, times, "item %d had one alarm", item)
		}
	}
}

// Cancel's answer decides: true, and nobody gets the item; false, and somebody does.
func TestCancelSaysWhetherTheItemComesAllTheSame(t *testing.T) {
	q := NewDelaying(Options[int]{})
	wait := workers(q)
	const count = 5000
	cancelled := make([]bool, count)
	var cancelling sync.WaitGroup
	for part := range 2 {
		cancelling.Go(func() {
			for n := part; n < count; n += 2 {
				q.AddAfter(n, time.Duration(1+rand.IntN(20))*time.Microsecond)
				for range rand.IntN(10) {
					runtime.Gosched()
				}
				cancelled[n] = q.Cancel(n)
			}
		})
	}
	cancelling.Wait()
	require.NoError(t, q.Drain(context.Background()))
	got := wait()
	for item, is := range cancelled {
		want := 1
		if is {
			want = 0
		}
		require.Equal(t, want, got[item], "Cancel said %v of item %d", is, item)
	}
}

// Workers whose contexts end, in the moment in which they're woken, must not take the wake-up with
// them: "after an Add, some worker begins to work on the item".
func TestAWorkerThatGivesUpTakesNoWakeUpWithIt(t *testing.T) {
	q := New(Options[int]{})
	const count = 3000
	var mu sync.Mutex // guards got
	got := map[int]int{}
	take := func(ctx context.Context) bool {
		work, err := q.Next(ctx)
		if err != nil {
			return false
		}
		mu.Lock()
		got[work.Item]++
		mu.Unlock()
		q.Done(work.Item)
		return true
	}
	var working sync.WaitGroup
	stop := make(chan struct{})
	for range 4 { // these give up all the time
		working.Go(func() {
			for {
				ctx, cancel := context.WithCancel(context.Background())
				go cancel()
				take(ctx)
				cancel()
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	steady := make(chan struct{})
	go func() {
		defer close(steady)
		for take(context.Background()) {
		}
	}()
	for n := range count {
		q.Add(n)
	}
	require.NoError(t, q.Drain(context.Background()))
	close(stop)
	working.Wait()
	<-steady
	require.Len(t, got, count)
	for item, times := range got {
		require.Equal(t, 1, times, "item %d", item)
	}
}

// "An item that cannot be compared makes Add panic, and leaves the queue as it was": and so do all
// other methods, and the limiter.
func TestAnItemThatCannotBeComparedLocksNobodyOut(t *testing.T) {
	q := NewPriority(PriorityOptions[any]{Limiter: DefaultLimiter[any]()})
	bad := any([]int{1})
	for name, call := range map[string]func(){
		"Add":            func() { q.Add(bad) },
		"AddAfter":       func() { q.AddAfter(bad, time.Hour) },
		"ReplaceAfter":   func() { q.ReplaceAfter(bad, time.Hour) },
		"Cancel":         func() { q.AddAfter("x", time.Hour); q.Cancel(bad) },
		"AddRateLimited": func() { q.AddRateLimited(bad) },
		"AddWithOpts":    func() { q.AddWithOpts(AddOpts{RateLimited: true}, bad) },
		"NumRequeues":    func() { q.NumRequeues(bad) },
		"Done":           func() { q.Add("x"); _, _ = q.Get(); defer q.Done("x"); q.Done(bad) },
	} {
		func() {
			defer func() { _ = recover() }() // a method may not need to compare it
			call()
		}()
		q.Cancel("x")
		require.Zero(t, q.Len(), "%s left something in the queue", name)
		require.Zero(t, q.Delayed(), "%s left an alarm", name)
		q.Add("good")
		item, shutdown := q.Get()
		require.False(t, shutdown)
		require.Equal(t, "good", item, "after %s", name)
		q.Done("good")
		q.AddRateLimited("good")
		q.Forget("good")
		require.True(t, q.Cancel("good"))
	}
}

// "ShutDown ends a Drain", and a second Drain waits for what's left.
func TestADrainAfterAnotherOneWasEndedWaitsForTheRest(t *testing.T) {
	q := New(Options[int]{})
	q.Add(1)
	q.Add(2)
	first, _ := q.Get()
	ended := make(chan error)
	go func() { ended <- q.Drain(context.Background()) }()
	for !q.ShuttingDown() {
		runtime.Gosched()
	}
	// The Drain may not wait yet; then ShutDown has nothing to end. So until it has ended:
	for err := error(nil); err == nil; {
		q.ShutDown()
		select {
		case err = <-ended:
			require.ErrorIs(t, err, ErrNotDrained)
		default:
			runtime.Gosched()
		}
	}
	q.Add(3)
	go func() { ended <- q.Drain(context.Background()) }()
	q.Done(first)
	second, shutdown := q.Get()
	require.False(t, shutdown)
	require.Equal(t, 2, second)
	q.Done(second)
	require.NoError(t, <-ended)
	_, shutdown = q.Get()
	require.True(t, shutdown, "an item that was added after the shutdown")
}
