package mini_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

// request names an object in the namespace "default".
func request(name string) mini.Request {
	return mini.Request{Namespace: "default", Name: name}
}

// getter is what takes requests from a queue.
type getter interface {
	Get() (mini.Request, bool)
}

// take returns the name of the next request. A Get that blocks fails the test.
func take(t *testing.T, q getter) string {
	t.Helper()
	name, ok := "", false
	got := make(chan struct{})
	go func() {
		defer close(got)
		req, shutdown := q.Get()
		name, ok = req.Name, !shutdown
	}()
	synctest.Wait()
	select {
	case <-got:
	default:
		t.Fatal("Get blocks, though a request is in the queue")
	}
	require.True(t, ok, "Get says that the queue is shut down")
	return name
}

// kinds names the kinds of events that the recorder has, in order.
func kinds(recorder *trace.Recorder) (all []string) {
	for _, e := range recorder.Events() {
		all = append(all, e.Kind.String())
	}
	return all
}

// Otherwise a request may wait forever behind newer ones.
func TestRequestsComeOutInTheOrderTheyWentIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := mini.NewQueue("test")
		for _, name := range []string{"b", "a", "c"} {
			q.Add(request(name))
		}
		require.Equal(t, 3, q.Len(), "each of three requests waits")
		require.Equal(t, []string{"b", "a", "c"}, []string{take(t, q), take(t, q), take(t, q)})
		require.Zero(t, q.Len(), "requests that workers have are not in the queue")
	})
}

func TestARequestKeepsItsNamespace(t *testing.T) {
	q := mini.NewQueue("test")
	want := mini.Request{Namespace: "kube-system", Name: "a"}
	q.Add(want)
	q.Add(mini.Request{Namespace: "default", Name: "a"})
	got, shutdown := q.Get()
	require.Equal(t, want, got)
	require.False(t, shutdown)
	require.Equal(t, 1, q.Len(), "two objects with one name in two namespaces are two requests")
}

// Ten changes of one object are one reconcile.
func TestARequestThatIsAddedTwiceIsHandedOutOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := mini.NewQueue("test")
		q.Add(request("a"))
		q.Add(request("b"))
		q.Add(request("a"))
		require.Equal(t, 2, q.Len())
		require.Equal(t, "a", take(t, q), "a keeps its place")
		require.Equal(t, "b", take(t, q))
		q.Done(request("a"))
		q.Done(request("b"))
		require.Zero(t, q.Len())
	})
}

// Function: Queue.Done
func TestARequestThatIsDoneCanBeAddedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := mini.NewQueue("test")
		for range 3 {
			q.Add(request("a"))
			require.Equal(t, "a", take(t, q))
			q.Done(request("a"))
		}
		require.Zero(t, q.Len())
	})
}

func TestAnAddDuringTheWorkIsNotLostAndNotHandedOutBeforeDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := mini.NewQueue("test")
		q.Add(request("a"))
		require.Equal(t, "a", take(t, q))
		q.Add(request("a"))
		q.Add(request("a"))
		require.Zero(t, q.Len(), "a second worker would get what the first one still has")
		q.Add(request("b"))
		q.Done(request("a"))
		require.Equal(t, 2, q.Len(), "the change during the work is lost")
		require.Equal(t, []string{"b", "a"}, []string{take(t, q), take(t, q)})
		q.Done(request("a"))
		require.Zero(t, q.Len(), "two Adds during the work are one more turn")
	})
}

// Function: Queue.Done
func TestDoneOfARequestThatNoWorkerHasDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := mini.NewQueue("test")
		q.Done(request("a"))
		require.Zero(t, q.Len())
		q.Add(request("a"))
		q.Done(request("a"))
		require.Equal(t, 1, q.Len(), "a is in the queue twice: two workers would get it")
		require.Equal(t, "a", take(t, q))
		q.Done(request("a"))
		q.Done(request("a"))
		require.Zero(t, q.Len())
	})
}

// You count what your workers have done, and the recorder shows more than they had.
//
// Function: Queue.Done
func TestDoneOfARequestThatNoWorkerHasIsNotRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := mini.NewQueue("test")
		q.Trace = trace.New(0)
		q.Add(request("a"))
		q.Done(request("a"))
		require.Equal(t, []string{"enqueue"}, kinds(q.Trace), "it's still waiting")
		require.Equal(t, "a", take(t, q))
		q.Done(request("a"))
		q.Done(request("a"))
		require.Equal(t, []string{"enqueue", "dequeue", "done"}, kinds(q.Trace))
	})
}

func TestGetBlocksUntilARequestIsAdded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := mini.NewQueue("test")
		got := make(chan mini.Request, 3)
		worker := func() {
			req, _ := q.Get()
			got <- req
		}
		go worker()
		go worker()
		go worker()
		synctest.Wait()
		require.Empty(t, got, "Get returned, but there was nothing in the queue")
		q.Add(request("a"))
		synctest.Wait()
		require.Len(t, got, 1, "one request is for one worker")
		require.Equal(t, request("a"), <-got)
		q.Add(request("a")) // while the worker has it
		q.Add(request("b"))
		synctest.Wait()
		require.Equal(t, request("b"), <-got)
		q.Done(request("a"))
		synctest.Wait()
		require.Len(t, got, 1, "Done put a request into the queue, and woke no worker")
	})
}

// A woken worker may find that there's nothing left: another one was faster, or it was
// Done that woke it. A false end would cost you a worker for good.
//
// Function: Queue.Get
func TestAWorkerThatIsWokenForNothingGoesOnWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := mini.NewQueue("test")
		q.Add(request("a"))
		require.Equal(t, "a", take(t, q))
		ended := make(chan bool, 1)
		go func() {
			_, shutdown := q.Get()
			ended <- shutdown
		}()
		synctest.Wait()
		q.Done(request("a"))
		synctest.Wait()
		select {
		case <-ended:
			t.Fatal("Get came back without a request, though nobody called ShutDown: Done wakes everybody who waits, so Get looks again")
		default:
		}
		q.ShutDown()
		require.True(t, <-ended)
	})
}

func TestAfterShutDownWorkersGetTheRestAndThenTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := mini.NewQueue("test")
		q.Add(request("a"))
		q.Add(request("b"))
		q.ShutDown()
		q.ShutDown() // may be called twice
		q.Add(request("c"))
		require.Equal(t, 2, q.Len(), "what waits stays, and Add does nothing")
		require.Equal(t, []string{"a", "b"}, []string{take(t, q), take(t, q)})
		q.Add(request("a")) // after ShutDown: does not come back
		q.Done(request("a"))
		req, shutdown := q.Get()
		require.True(t, shutdown)
		require.Zero(t, req)
	})
}

// Function: Queue.Done
func TestARequestAddedDuringTheWorkSurvivesShutDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := mini.NewQueue("test")
		q.Add(request("a"))
		take(t, q)
		q.Add(request("a"))
		q.ShutDown()
		q.Done(request("a"))
		require.Equal(t, "a", take(t, q), "it was added before the queue was shut down")
		_, shutdown := q.Get()
		require.True(t, shutdown)
	})
}

// Function: Queue.ShutDown
func TestShutDownWakesAllWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := mini.NewQueue("test")
		var mu sync.Mutex
		ended := 0
		for range 5 {
			go func() {
				_, shutdown := q.Get()
				mu.Lock()
				defer mu.Unlock()
				if shutdown {
					ended++
				}
			}()
		}
		synctest.Wait()
		q.ShutDown()
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		require.Equal(t, 5, ended, "workers that still wait in Get would wait forever")
	})
}

// Function: Queue.ShutDownWithDrain
func TestShutDownWithDrainWaitsUntilAllWorkIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := mini.NewQueue("test")
		q.Add(request("a"))
		q.Add(request("b"))
		take(t, q)
		q.Add(request("a")) // during the work
		drained := make(chan struct{})
		go func() {
			q.ShutDownWithDrain()
			close(drained)
		}()
		undrained := func(why string) {
			t.Helper()
			synctest.Wait()
			select {
			case <-drained:
				t.Fatal("ShutDownWithDrain has returned, but " + why)
			default:
			}
		}
		undrained("b is in the queue, and a worker has a")
		require.Equal(t, "b", take(t, q))
		q.Done(request("b"))
		undrained("a worker has a")
		q.Add(request("c"))
		require.Zero(t, q.Len(), "Add does nothing while the queue is drained")
		q.Done(request("a"))
		undrained("Done has put a back into the queue")
		require.Equal(t, "a", take(t, q))
		undrained("a worker has a again")
		q.Done(request("a"))
		synctest.Wait()
		<-drained
		_, shutdown := q.Get()
		require.True(t, shutdown)
	})
}

// There's nothing to drain, and three workers wait in Get. If nobody wakes them, they wait forever, and so does whoever waits for them.
//
// Function: Queue.ShutDownWithDrain
func TestShutDownWithDrainWakesWorkersThatHaveNothingToDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := mini.NewQueue("test")
		ended := make(chan struct{}, 3)
		for range 3 {
			go func() {
				q.Get()
				ended <- struct{}{}
			}()
		}
		synctest.Wait()
		q.ShutDownWithDrain()
		defer q.ShutDown() // or those that still wait would wait forever
		synctest.Wait()
		require.Len(t, ended, 3, "workers that have been told of the end")
	})
}

// A manager and a signal handler may both wait for the end of the work.
//
// Function: Queue.ShutDownWithDrain
func TestEachCallerOfShutDownWithDrainWaitsForTheLastWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := mini.NewQueue("test")
		q.Add(request("a"))
		q.Add(request("b"))
		take(t, q)
		take(t, q)
		drained := make(chan struct{}, 2)
		for range 2 {
			go func() {
				q.ShutDownWithDrain()
				drained <- struct{}{}
			}()
		}
		synctest.Wait()
		require.Zero(t, len(drained), "workers have a and b")
		q.Done(request("a"))
		synctest.Wait()
		require.Zero(t, len(drained), "a worker has b")
		q.Done(request("b")) // ends every ShutDownWithDrain
		<-drained
		<-drained
	})
}

// Function: Queue.ShutDownWithDrain
func TestShutDownWithDrainOfAnEmptyQueueReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := mini.NewQueue("test")
		q.ShutDownWithDrain()
		q.ShutDownWithDrain()
		_, shutdown := q.Get()
		require.True(t, shutdown)
	})
}

// Requests are added and finished at any time. Go ends a program that reads a map while another goroutine writes it.
func TestEachMethodLocksBeforeItLooks(t *testing.T) {
	calls := []func(*mini.Queue){
		func(q *mini.Queue) { q.Add(request("a")) },
		func(q *mini.Queue) { q.Get() },
		func(q *mini.Queue) { q.Done(request("a")) },
		func(q *mini.Queue) { q.Len() },
		func(q *mini.Queue) { q.ShutDown() },
	}
	for range 10 {
		for _, first := range calls { // every two, in both orders: the race detector checks
			for _, second := range calls {
				q := mini.NewQueue("test")
				q.Add(request("a"))
				_, _ = q.Get()
				q.Add(request("b"))
				q.Add(request("c"))
				var both sync.WaitGroup
				both.Go(func() { first(q) })
				both.Go(func() { second(q) })
				both.Wait()
			}
		}
	}
}

// Between the two halves of Done, the request could be added, and would wait twice.
//
// Function: Queue.Done
func TestDoneIsOneStep(t *testing.T) {
	q := mini.NewQueue("test")
	mu := mutexOf(t, q)
	for range 3 {
		q.Add(request("a"))
		_, _ = q.Get()
		mu.Lock()
		inTurns(mu, func() { q.Done(request("a")) }, func() { q.Add(request("a")) })
		require.Equal(t, 1, q.Len(), "a is in the queue twice: two workers would get it")
		_, _ = q.Get()
		q.Done(request("a"))
	}
}

// queueModel is what a Queue has to do, without locks and without blocking.
type queueModel struct {
	waiting    []string
	again      map[string]bool // added while a worker had it
	processing map[string]bool
	closed     bool
}

func (m *queueModel) add(name string) {
	switch {
	case m.closed:
	case m.processing[name]:
		m.again[name] = true
	case !slices.Contains(m.waiting, name):
		m.waiting = append(m.waiting, name)
	}
}

func (m *queueModel) done(name string) {
	delete(m.processing, name)
	if m.again[name] {
		delete(m.again, name)
		m.waiting = append(m.waiting, name)
	}
}

func TestAnyOrderOfCallsDoesWhatTheContractSays(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1))
		q := mini.NewQueue("test")
		model := &queueModel{again: map[string]bool{}, processing: map[string]bool{}}
		var calls []string
		for range 300 {
			name := string(rune('a' + random.IntN(5)))
			switch chance := random.IntN(300); {
			case chance == 0:
				calls = append(calls, "ShutDown")
				q.ShutDown()
				model.closed = true
			case chance < 130:
				calls = append(calls, "Add "+name)
				q.Add(request(name))
				model.add(name)
			case chance < 210:
				calls = append(calls, "Done "+name)
				q.Done(request(name))
				model.done(name)
			case len(model.waiting) > 0:
				calls = append(calls, "Get")
				req, shutdown := q.Get()
				require.False(t, shutdown, "seed %d: %v", seed, calls)
				require.Equal(t, request(model.waiting[0]), req, "seed %d: %v", seed, calls)
				model.processing[model.waiting[0]] = true
				model.waiting = model.waiting[1:]
			}
			require.Equal(t, len(model.waiting), q.Len(), "seed %d: %v", seed, calls)
		}
	}
}

func TestManyWorkersNeverShareARequestAndLoseNone(t *testing.T) {
	const names, adders, workers, each = 7, 4, 4, 500
	q := mini.NewQueue("test")
	var mu sync.Mutex // guards the maps
	version, seen := map[mini.Request]int{}, map[mini.Request]int{}
	busy := map[mini.Request]bool{}
	var work, adding sync.WaitGroup
	for range workers {
		work.Go(func() {
			for {
				req, shutdown := q.Get()
				if shutdown {
					return
				}
				mu.Lock()
				if busy[req] {
					t.Errorf("two workers have %s at the same time", req)
				}
				busy[req], seen[req] = true, version[req] // as a reconcile reads the object
				mu.Unlock()
				mu.Lock()
				busy[req] = false
				mu.Unlock()
				q.Done(req)
			}
		})
	}
	for adder := range adders {
		adding.Go(func() {
			random := rand.New(rand.NewPCG(uint64(adder), 2))
			for range each {
				req := request(fmt.Sprint(random.IntN(names)))
				mu.Lock()
				version[req]++ // as a change of the object
				mu.Unlock()
				q.Add(req)
			}
		})
	}
	adding.Wait()
	q.ShutDownWithDrain()
	work.Wait()
	require.Equal(t, version, seen, "a worker hasn't seen the last change of each object")
}

// If two adds wake only one worker, the other one sleeps while a request waits.
//
// Function: Queue.Add
func TestEachAddWakesAWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 50 {
			q := mini.NewQueue("test")
			var workers sync.WaitGroup
			for range 10 {
				workers.Go(func() { q.Get() })
			}
			synctest.Wait()
			for i := range 10 {
				q.Add(request(fmt.Sprint(i)))
			}
			synctest.Wait()
			require.Zero(t, q.Len(), "a worker sleeps, though a request waits")
			workers.Wait()
		}
	})
}

// A worker needs two seconds for a request that was added at their beginning, so the queue is late by two seconds. If Done starts
// the clock again, the recorder shows a queue that's never late.
//
// Function: Queue.Done
func TestARequestHasWaitedSinceItWasAddedEvenIfAWorkerHadIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := mini.NewQueue("test")
		q.Trace = trace.New(0)
		q.Add(request("a"))
		take(t, q)
		q.Add(request("a"))
		time.Sleep(2 * time.Second)
		q.Done(request("a"))
		time.Sleep(time.Second)
		take(t, q)
		require.Equal(t, []string{"enqueue", "dequeue", "enqueue", "done", "dequeue"}, kinds(q.Trace))
		require.Equal(t, 3*time.Second, q.Trace.Events()[4].Took)
	})
}

func TestTheFlightRecorderShowsTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := trace.New(0)
		q := mini.NewQueue("test")
		q.Trace = recorder
		q.Add(request("a"))
		time.Sleep(time.Second)
		q.Add(request("a"))
		time.Sleep(time.Second)
		take(t, q)
		q.Add(request("a"))
		q.Done(request("a"))
		require.Equal(t, []string{
			"enqueue", "enqueue", "dequeue", "enqueue", "done",
		}, kinds(recorder))
		events := recorder.Events()
		require.Zero(t, events[0].Outcome)
		require.Equal(t, trace.Deduplicated, events[1].Outcome)
		require.Equal(t, 2*time.Second, events[2].Took,
			"how long the request was in the queue, since its first Add")
		require.Equal(t, trace.Deferred, events[3].Outcome)
		require.Equal(t, "a", events[4].Name)
		require.Zero(t, events[4].Outcome)
	})
}
