package workqueue

import (
	"context"
	"errors"
	"log"
	"log/slog"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/tests/inorder"
	"github.com/loopwright/loopwright/trace"
)

func TestAWorkerThatWaitsGetsAnItemWhenItComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[string]{})
		got := make(chan string)
		go func() {
			item, _ := q.Get()
			got <- item
		}()
		synctest.Wait()
		q.Add("a")
		require.Equal(t, "a", <-got)
	})
}

// Ten workers, ten items, one wake-up at a time: all of them must get something,
// or work waits while workers sleep.
func TestAsManyWorkersWakeAsThereIsWorkFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[int]{})
		var workers sync.WaitGroup
		for range 10 {
			workers.Go(func() {
				_, shutdown := q.Get()
				require.False(t, shutdown)
			})
		}
		synctest.Wait()
		for i := range 10 {
			q.Add(i)
		}
		workers.Wait()
		require.Zero(t, q.Len())
	})
}

func TestShutDownLetsWorkersFinishWhatWaits(t *testing.T) {
	q := New(Options[string]{})
	q.Add("a")
	q.ShutDown()
	q.Add("too late")
	item, shutdown := q.Get()
	require.Equal(t, "a", item)
	require.False(t, shutdown, "an item that was added before the shutdown is worked on")
	q.Done(item)
	_, shutdown = q.Get()
	require.True(t, shutdown)
	require.True(t, q.ShuttingDown())
}

// controller-runtime's priority queue panics at the second ShutDown.
func TestShutDownMayBeCalledAgainAndFromAnywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[int]{})
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for {
					item, shutdown := q.Get()
					if shutdown {
						return
					}
					q.ShutDown() // from a worker that holds an item
					q.Done(item)
				}
			})
		}
		synctest.Wait()
		q.Add(1)
		for range 4 {
			all.Go(q.ShutDown)
			all.Go(q.ShutDownWithDrain)
		}
		all.Wait()
		q.ShutDown()
	})
}

func TestDrainWaitsForWhatWaitsForWhatIsHeldAndForWhatCameDuringWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[string]{})
		q.Add("held")
		q.Get()
		q.Add("held")
		q.Add("waiting")
		begin := time.Now()
		var worked []string
		go func() {
			time.Sleep(time.Second)
			q.Done("held")
			for {
				item, shutdown := q.Get()
				if shutdown {
					return
				}
				time.Sleep(time.Second)
				worked = append(worked, item)
				q.Done(item)
			}
		}()
		q.ShutDownWithDrain()
		require.Equal(t, []string{"waiting", "held"}, worked)
		require.Equal(t, 3*time.Second, time.Since(begin))
	})
}

func TestDrainEndsWithItsContextAndWithShutDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[string]{})
		q.Add("a")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("no patience"))
		defer cancel()
		require.EqualError(t, q.Drain(ctx), "no patience")
		time.AfterFunc(time.Second, q.ShutDown)
		require.ErrorIs(t, q.Drain(t.Context()), ErrNotDrained)
		item, _ := q.Get()
		q.Done(item)
		require.NoError(t, q.Drain(t.Context()))
	})
}

func TestNextEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options[string]{})
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errors.New("enough")) })
		_, err := q.Next(ctx)
		require.EqualError(t, err, "enough")

		q.AddBecause("a", "first")
		q.Add("a")
		work, err := q.Next(ctx)
		require.NoError(t, err, "what is ready is handed out, whatever the context says")
		require.Equal(t, Work[string]{Item: "a", Causes: Causes{Count: 2, first: reason{text: "first"}}}, work)
		q.Done("a")

		q.ShutDown()
		_, err = q.Next(t.Context())
		require.ErrorIs(t, err, ErrShutDown)
	})
}

// The worker that was woken gives up in the same moment: the wake-up must go on
// to the other, or the item waits while a worker sleeps.
func TestAWakeUpIsNotLostWithAWorkerThatLeaves(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			q := New(Options[string]{})
			ctx, cancel := context.WithCancel(t.Context())
			var workers sync.WaitGroup
			workers.Go(func() {
				if item, shutdown := q.Get(); !shutdown {
					q.Done(item)
				}
			})
			synctest.Wait() // the leaver comes last, and so is woken first
			workers.Go(func() {
				if work, err := q.Next(ctx); err == nil {
					q.Done(work.Item)
				}
			})
			synctest.Wait()
			go cancel()
			q.Add("a")
			synctest.Wait()
			require.Zero(t, q.Len(), "the item waits, and a worker sleeps")
			q.ShutDown()
			workers.Wait()
		})
	}
}

func TestDoneForWhatNobodyHoldsIsReported(t *testing.T) {
	var reported []error
	q := New(Options[string]{Report: func(err error) { reported = append(reported, err) }})
	q.Add("a")
	q.Done("a")
	q.Done("b")
	require.Len(t, reported, 2)
	require.EqualError(t, reported[0], "done called for a, which no worker holds")
	require.Equal(t, 1, q.Len())
}

// A worker that calls Done once too often may one day give back what another one holds. Without
// a Report, the log has to say so, with the name of the queue.
func TestMisuseIsLoggedUnlessAReportIsGiven(t *testing.T) {
	var logged strings.Builder
	before, writer, flags := slog.Default(), log.Writer(), log.Flags()
	defer func() {
		slog.SetDefault(before)
		log.SetOutput(writer) // SetDefault changed it, and does not change it back
		log.SetFlags(flags)
	}()
	slog.SetDefault(slog.New(slog.NewTextHandler(&logged, nil)))
	New(Options[string]{Name: "fruit", Report: func(error) {}}).Done("a")
	require.Empty(t, logged.String(), "Report is called instead")
	New(Options[string]{Name: "fruit"}).Done("b")
	require.Contains(t, logged.String(), `msg="misused work queue" queue=fruit error="done called for b, which no worker holds"`)
}

// A caller that recovers from the panic has a queue that still works.
func TestAnItemThatCannotBeComparedLeavesTheQueueAsItWas(t *testing.T) {
	q := New(Options[any]{})
	require.Panics(t, func() { q.Add([]int{1}) })
	require.Panics(t, func() { q.Done([]int{1}) })
	q.Add("a")
	item, _ := q.Get()
	require.Equal(t, "a", item)
	q.Done(item)
	require.True(t, q.dedup.empty(), "nothing is left of what could not be added")
	q.ShutDownWithDrain()
}

func TestAnItemThatIsNotEqualToItselfIsReported(t *testing.T) {
	var reported []error
	q := New(Options[float64]{Report: func(err error) { reported = append(reported, err) }})
	for range 2 {
		q.Add(math.NaN())
		q.Add(math.Inf(1))
	}
	require.Equal(t, 3, q.Len(), "infinity is an item like others; no NaN is the same as another")
	for range 3 {
		item, _ := q.Get()
		q.Done(item)
	}
	require.Len(t, reported, 2)
	require.EqualError(t, reported[0], "done called for NaN, which no worker holds")
}

// A worker may hang for a week. What came after its item, and is done, must not stay in memory.
func TestAnItemThatIsHeldKeepsNoOtherInMemory(t *testing.T) {
	type item struct{ _ *int } // with a pointer: small ones without share their memory
	for name, q := range inorder.Map(map[string]TypedInterface[*item]{
		"first-in first-out": New(Options[*item]{}),
		"by priority":        NewPriority(PriorityOptions[*item]{}),
	}) {
		var items []weak.Pointer[item]
		add := func() {
			i := new(item)
			items = append(items, weak.Make(i))
			q.Add(i)
		}
		take := func(done bool) {
			i, _ := q.Get()
			if done {
				q.Done(i)
			}
		}
		for range 3 {
			add()
		}
		take(false)
		take(true)
		take(true)
		runtime.GC()
		require.NotNil(t, items[0].Value(), "%s: a worker holds it", name)
		require.Nil(t, items[1].Value(), "%s: it is done", name)
		require.Nil(t, items[2].Value(), "%s: it is done", name)
		q.ShutDown()
	}
}

func TestAQueueHasNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	q := New(Options[int]{})
	for i := range 100 {
		q.Add(i)
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), before)
	q.ShutDown()
}

func TestReasonsSurviveDeduplication(t *testing.T) {
	q := New(Options[string]{})
	for _, reason := range []string{"spec changed", "", "pod gone", "spec changed", "resync", "retry", "one too many"} {
		q.AddBecause("a", reason)
	}
	work, err := q.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"spec changed", "pod gone", "resync", "retry"}, work.Causes.Reasons())
	require.Equal(t, "spec changed, pod gone, resync, retry (7 adds)", work.Causes.String())
	q.AddBecause("a", "later")
	require.NotContains(t, work.Causes.Reasons(), "later", "what was handed out does not change any more")
}

// unnamed are the options of a queue without a recorder, whose items must not be named: names take
// longer than all the rest of the queue, and the lock is held.
func unnamed(t *testing.T) Options[string] {
	return Options[string]{Key: func(item string) (string, string) {
		t.Errorf("%s is named, and there is no recorder", item)
		return "", item
	}}
}

func TestWithoutARecorderNobodyNamesItems(t *testing.T) {
	q := New(unnamed(t))
	q.Add("a")
	q.Get()
	q.Done("a")
	q.ShutDown()
}

func TestTheRecorderTellsWhatHappenedToAnItem(t *testing.T) {
	rec := trace.New(0)
	q := New(Options[string]{Name: "fruit", Kind: "Fruit", Recorder: rec, Key: func(item string) (string, string) { return "default", item }})
	q.AddBecause("apple", "ripe")
	q.Add("apple")
	q.Get()
	q.Add("apple")
	q.Done("apple")
	q.ShutDown()
	var kinds []string
	for _, e := range rec.Events() {
		require.Equal(t, "fruit", e.Layer)
		if e.Kind != trace.Stop {
			require.Equal(t, "Fruit", e.Object, "or else a Deployment and a Service of one name look alike")
		}
		kinds = append(kinds, e.Kind.String()+" "+e.Outcome.String())
	}
	require.Equal(t, []string{"enqueue ", "enqueue deduplicated", "dequeue ", "enqueue deferred", "done ", "stop "}, kinds)
	require.Equal(t, "ripe", rec.Events()[0].Reason)
	require.Equal(t, "default", rec.Events()[2].Namespace)
	require.Equal(t, 2, rec.Events()[2].Count)
}
