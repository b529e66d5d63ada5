package workqueue

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/tests/inorder"
	"github.com/loopwright/loopwright/trace"
)

// A worker that gives an item back may have other things to do, and another one sleeps.
func TestAnItemThatComesBackWakesAnotherWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[string]{})
		q.Add("a")
		q.Get()
		got := ""
		go func() { got, _ = q.Get() }()
		synctest.Wait()
		q.Add("a")
		synctest.Wait()
		require.Empty(t, got, "the first worker still holds the item")
		q.Done("a")
		synctest.Wait()
		require.Equal(t, "a", got, "the item waits again, and the other worker sleeps")
		q.ShutDown()
	})
}

// An add wakes one worker at most, so each one that arrives has to wake the next.
func TestWorkersInNextAreWokenAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[int]{})
		for round := range 5 {
			var workers sync.WaitGroup
			for range 4 {
				workers.Go(func() {
					work, err := q.Next(t.Context())
					require.NoError(t, err)
					q.Done(work.Item)
				})
			}
			synctest.Wait()
			for i := range 4 {
				q.Add(i)
			}
			synctest.Wait()
			require.Zero(t, q.Len(), "round %d: items wait, and workers sleep", round)
			workers.Wait()
		}
		q.ShutDown()
		_, err := q.Next(t.Context())
		require.ErrorIs(t, err, ErrShutDown)
		require.True(t, q.ShuttingDown())
		require.Zero(t, q.Len(), "and the queue's lock is free")
	})
}

// A worker whose context ends may be chosen to be woken in the same moment. Whichever comes
// first, nothing of it may stay behind.
func TestAWorkerThatLeavesLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[int]{})
		left, served := 0, 0
		for round := range 200 {
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				if work, err := q.Next(ctx); err == nil {
					served++
					q.Done(work.Item)
				} else {
					left++
				}
			}()
			synctest.Wait()
			switch round % 3 {
			case 0: // the item first
				q.Add(round)
				cancel()
			case 1: // the end of the context first; the worker is to be woken, and on its way out
				cancel()
				q.Add(round)
			case 2: // the worker has left
				cancel()
				synctest.Wait()
				q.Add(round)
			}
			cancel()
			synctest.Wait()
			for q.Len() > 0 {
				item, _ := q.Get()
				q.Done(item)
			}
		}
		require.Greater(t, left, 100, "in two of three rounds the context ends first")
		require.Greater(t, served, 30, "in one of three rounds the item comes first")
	})
}

// A worker that is on its way out is chosen for an item. It will not take it, so it has to
// wake another one.
func TestAWorkerThatLeavesPassesItsWakeUpOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[string]{})
		got := ""
		go func() { got, _ = q.Get() }()
		synctest.Wait() // the one that leaves comes last, and so is woken first
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _, _ = q.Next(ctx) }()
		synctest.Wait()
		cancel()
		q.Add("a")
		synctest.Wait()
		require.Equal(t, "a", got, "the item waits, and a worker sleeps")
		q.ShutDown()
	})
}

// Two parts of a program may wait for the end of the same queue.
func TestAllDrainsEnd(t *testing.T) {
	for name, end := range inorder.Map(map[string]func(q *Queue[string]){
		"with the last item": func(q *Queue[string]) { q.Done("a") },
		"with a ShutDown":    (*Queue[string]).ShutDown,
	}) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := New(Options[string]{})
				q.Add("a")
				q.Get()
				var drains sync.WaitGroup
				for range 3 {
					drains.Go(q.ShutDownWithDrain)
				}
				synctest.Wait()
				end(q)
				drains.Wait()
			})
		})
	}
}

// Reading the clock costs as much as the rest of an Add.
func TestWithoutMetricsOrRecorderNothingIsMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[string]{})
		q.Add("a")
		time.Sleep(time.Second)
		work, err := q.Next(t.Context())
		require.NoError(t, err)
		require.Zero(t, work.Waited)
	})
}

// Waited, and the moments in the timeline, are there with a recorder alone, without metrics.
func TestARecorderMeasuresWithoutMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := trace.New(0)
		q := New(Options[int]{Recorder: rec})
		time.Sleep(time.Hour)
		q.Add(7)
		time.Sleep(3 * time.Second)
		work, err := q.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, 3*time.Second, work.Waited)
		time.Sleep(2 * time.Second)
		q.Done(7)
		events := rec.Events()
		require.Equal(t, []time.Duration{0, 3 * time.Second, 2 * time.Second}, []time.Duration{events[0].Took, events[1].Took, events[2].Took})
		require.Equal(t, "queue", events[0].Layer, "a queue without a name is called so")
		require.Equal(t, "7", events[0].Name, "an item without a key is named as fmt prints it")
		q.ShutDown()
	})
}
