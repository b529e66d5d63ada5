package mini_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/mini"
)

// share returns an informer of the ConfigMaps that does not run yet.
func (w *world) share() *mini.SharedInformer {
	w.Helper()
	return mini.NewSharedInformer(w.maps(), mini.Indexers{"value": indexByValue})
}

// If a handler misses a change, its controller never acts on it.
func TestEveryHandlerGetsEveryChange(t *testing.T) {
	inMemory(t, func(w *world) {
		w.createMap("a", "1")
		s := w.share()
		var first, second changes
		s.AddHandler(first.add)
		s.AddHandler(second.add)
		w.run(s.Run)
		synctest.Wait()
		w.createMap("b", "1")
		w.updateMap("a", "2")
		w.deleteMap("b")
		want := []string{"a: - -> 1", "b: - -> 1", "a: 1 -> 2", "b: 1 -> -"}
		require.Equal(w, want, first.took())
		require.Equal(w, want, second.took())
		require.Equal(w, []string{"a=2"}, namesAndValues(s.List()))
		lists, watches := w.requests()
		require.Equal(w, 2, lists+watches, "all handlers share one list and one watch")
	})
}

// Function: SharedInformer.AddHandler
func TestAHandlerThatIsAddedLateGetsAllObjectsFirst(t *testing.T) {
	inMemory(t, func(w *world) {
		w.createMap("a", "1")
		s := w.share()
		w.run(s.Run)
		synctest.Wait()
		w.createMap("b", "1")
		w.updateMap("a", "2")
		synctest.Wait()
		var late changes
		s.AddHandler(late.add)
		require.Equal(w, []string{"a: - -> 2", "b: - -> 1"}, late.took(),
			"to a new handler, every object is new")
		w.updateMap("a", "3")
		require.Equal(w, []string{"a: 2 -> 3"}, late.took())
	})
}

// Function: SharedInformer.AddHandler
func TestAHandlerThatIsAddedDuringChangesGetsEachExactlyOnce(t *testing.T) {
	inMemory(t, func(w *world) {
		s := w.share()
		w.run(s.Run)
		histories := make([]changes, 10)
		w.running.Go(func() {
			for i := range 30 {
				w.createMap(strconv.Itoa(i), "1")
				if i > 0 {
					w.updateMap(strconv.Itoa(i-1), "2")
				}
			}
		})
		w.running.Go(func() {
			for i := range histories {
				for len(s.List()) < 3*i {
					time.Sleep(time.Nanosecond) // lets the others go on
				}
				s.AddHandler(histories[i].add)
			}
		})
		synctest.Wait()
		time.Sleep(time.Second)
		synctest.Wait()
		for i := range histories {
			h := &history{T: w.T, states: map[mini.Request]mini.Object{}}
			for _, change := range histories[i].all {
				h.add(change)
			}
			require.Len(w, h.states, 30)
			for key, obj := range h.states {
				require.True(w, obj == s.Get(key),
					"handler %d doesn't know the state of %s", i, key)
			}
		}
	})
}

// One slow controller must not make all others late.
//
// Function: SharedInformer.distributeLocked
func TestASlowHandlerDelaysNeitherTheStoreNorOtherHandlers(t *testing.T) {
	inMemory(t, func(w *world) {
		s := w.share()
		var slow, quick changes
		s.AddHandler(func(c mini.Change) {
			time.Sleep(time.Hour)
			slow.add(c)
		})
		s.AddHandler(quick.add)
		w.run(s.Run)
		synctest.Wait()
		for _, name := range []string{"a", "b", "c"} {
			w.createMap(name, "1")
		}
		want := []string{"a: - -> 1", "b: - -> 1", "c: - -> 1"}
		require.Equal(w, want, quick.took())
		require.Len(w, s.List(), 3)
		require.Empty(w, slow.took())
		time.Sleep(4 * time.Hour)
		require.Equal(w, want, slow.took(), "it gets all changes in the end, in order")
	})
}

// A handler that misses the change in between never hears of it: the next one begins with a state that it has never seen.
//
// Function: SharedInformer.AddHandler
func TestNoChangeComesBetweenTheObjectsAndTheRegistration(t *testing.T) {
	inMemory(t, func(w *world) {
		s := w.share()
		w.run(s.Run)
		synctest.Wait()
		mu := mutexOf(w.T, s)
		for version := 1000; version < 1006; version += 2 {
			s.Update(mapAt(version, "a", "1"))
			var late changes
			mu.Lock()
			inTurns(mu, func() { s.AddHandler(late.add) }, func() { s.Update(mapAt(version+1, "a", "2")) })
			require.Contains(w, [][]string{{"a: - -> 1", "a: 1 -> 2"}, {"a: - -> 2"}}, late.took(),
				"a new handler doesn't know the state 2: it was added while the change was under way")
		}
	})
}

// A handler is added at the moment at which a change gets the lock. It has to wait until the change is in the store, and then
// copy the store. A copy from before it had the lock lacks the change, and no call ever brings it.
//
// Function: SharedInformer.AddHandler
func TestANewHandlerGetsTheObjectsOfTheMomentAtWhichItIsAdded(t *testing.T) {
	inMemory(t, func(w *world) {
		s := w.share()
		w.run(s.Run)
		synctest.Wait()
		s.Update(mapAt(1000, "a", "1"))
		mu := mutexOf(w.T, s)
		mu.Lock() // as a change does
		var late changes
		added := make(chan struct{}, 1)
		go func() {
			s.AddHandler(late.add)
			added <- struct{}{}
		}()
		untilALockIsAwaited(0, func() bool { return len(added) > 0 })
		s.Informer.Update(mapAt(1001, "a", "2"))
		mu.Unlock()
		<-added
		require.Equal(w, []string{"a: - -> 2"}, late.took())
	})
}

// Function: Registration.run
func TestAHandlerIsCalledOnceAtATime(t *testing.T) {
	inMemory(t, func(w *world) {
		w.createMap("a", "1")
		s := w.share()
		calls, inside := 0, 0 // without a lock: the race detector checks
		s.AddHandler(func(mini.Change) {
			calls++
			inside++
			time.Sleep(time.Second)
			require.Equal(w, 1, inside)
			inside--
		})
		w.run(s.Run)
		for i := range 5 {
			w.createMap(fmt.Sprint(i), "1")
		}
		time.Sleep(time.Minute)
		w.end()
		require.Equal(w, 6, calls)
	})
}

func TestAHandlerMayUseTheInformer(t *testing.T) {
	inMemory(t, func(w *world) {
		w.createMap("a", "1")
		s := w.share()
		var inner changes
		s.AddHandler(func(c mini.Change) {
			require.True(w, s.HasSynced())
			require.NotZero(w, s.Version())
			require.NotNil(w, s.Get(mini.KeyOf(c.Object())))
			require.NoError(w, s.WaitFor(w.ctx, s.HasSynced))
			s.AddHandler(inner.add)
		})
		w.run(s.Run)
		require.Equal(w, []string{"a: - -> 1"}, inner.took())
	})
}

// Function: SharedInformer.Replace
func TestAnInformerHasSyncedWhenTheFirstListIsInTheStore(t *testing.T) {
	inMemory(t, func(w *world) {
		w.createMap("a", "1")
		slowly(w, time.Minute)
		s := w.share()
		require.False(w, s.HasSynced())
		w.run(s.Run)
		time.Sleep(59 * time.Second)
		require.False(w, s.HasSynced(), "\"not found\" would mean nothing yet")
		require.Zero(w, s.Version())
		require.NoError(w, s.WaitFor(w.ctx, s.HasSynced))
		require.Len(w, s.List(), 1)
	})
}

// slowly makes each list take a time.
func slowly(w *world, delay time.Duration) {
	w.Server.Inject(fakeapi.Fault{Match: listsOfMaps, Delay: delay})
}

func TestEvenAnEmptyListSyncsTheInformerAndItsHandlers(t *testing.T) {
	inMemory(t, func(w *world) {
		s := w.share()
		early := s.AddHandler(func(mini.Change) {})
		w.run(s.Run)
		require.NoError(w, early.WaitForSync(w.ctx))
		require.True(w, s.HasSynced())
		late := s.AddHandler(func(mini.Change) {})
		require.NoError(w, late.WaitForSync(w.ctx))
	})
}

func TestAHandlerHasSyncedWhenItIsDoneWithTheFirstList(t *testing.T) {
	inMemory(t, func(w *world) {
		w.createMap("a", "1")
		w.createMap("b", "1")
		s := w.share()
		slow := func(mini.Change) { time.Sleep(time.Minute) }
		early := s.AddHandler(slow)
		w.run(s.Run)
		began := time.Now()
		require.NoError(w, s.WaitFor(w.ctx, s.HasSynced))
		require.Zero(w, time.Since(began), "the store is full before the handler is done")
		require.NoError(w, early.WaitForSync(w.ctx))
		require.Equal(w, 2*time.Minute, time.Since(began), "a minute for each object")
		began = time.Now()
		late := s.AddHandler(slow)
		require.NoError(w, late.WaitForSync(w.ctx))
		require.Equal(w, 2*time.Minute, time.Since(began), "a late handler needs as long")
		require.NoError(w, early.WaitForSync(w.ctx), "once synced, always synced")
	})
}

// Function: SharedInformer.Replace
func TestAHandlerStaysSyncedWhenTheInformerListsAgain(t *testing.T) {
	inMemory(t, func(w *world) {
		w.createMap("a", "1")
		w.breakable()
		s := w.share()
		var got changes
		r := s.AddHandler(got.add)
		w.run(s.Run)
		synctest.Wait()
		w.blind(func() { w.deleteMap("a") })
		require.Equal(w, []string{"a: - -> 1", "a: 1 -> - (tombstone)"}, got.took())
		require.NoError(w, r.WaitForSync(w.ctx))
	})
}

// Function: SharedInformer.WaitFor
func TestAWaitEndsWithItsContextAndReturnsTheCause(t *testing.T) {
	inMemory(t, func(w *world) {
		s := w.share() // does not run
		r := s.AddHandler(func(mini.Change) {})
		cause := errors.New("tired of waiting")
		ctx, cancel := context.WithTimeoutCause(w.ctx, time.Minute, cause)
		defer cancel()
		require.ErrorIs(w, r.WaitForSync(ctx), cause)
		require.ErrorIs(w, s.WaitFor(ctx, s.HasSynced), cause)
	})
}

// A read that needs nothing more than what's there mustn't fail because its reconcile has just been stopped.
//
// Function: SharedInformer.WaitFor
func TestWaitForAsksAtOnceEvenIfItsContextHasEnded(t *testing.T) {
	s := mini.NewSharedInformer(&script{}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, s.WaitFor(ctx, func() bool { return true }))
	require.ErrorIs(t, s.WaitFor(ctx, func() bool { return false }), context.Canceled)
}

func TestTheVersionMovesWithTheStore(t *testing.T) {
	inMemory(t, func(w *world) {
		w.createMap("a", "1")
		s := w.share()
		w.run(s.Run)
		number := func(version string) uint64 {
			n, err := strconv.ParseUint(version, 10, 64)
			require.NoError(w, err)
			synctest.Wait()
			return n
		}
		synctest.Wait()
		require.Equal(w, w.Server.ResourceVersion(), s.Version(), "of the list")
		require.Equal(w, number(w.createMap("b", "1").ResourceVersion), s.Version())
		require.Equal(w, number(w.updateMap("b", "2").ResourceVersion), s.Version())
		w.deleteMap("b")
		synctest.Wait()
		require.Equal(w, w.Server.ResourceVersion(), s.Version(), "of the deletion")
	})
}

func TestTheVersionNeverGoesBackWithAnEvent(t *testing.T) {
	s := mini.NewSharedInformer(&script{}, nil)
	s.Replace(nil, "10")
	require.Equal(t, uint64(10), s.Version())
	s.Update(mapAt(9, "a", "1"))
	require.Equal(t, uint64(10), s.Version())
	s.Update(mapAt(100, "a", "1"))
	require.Equal(t, uint64(100), s.Version(), "versions are numbers, not strings")
	s.Replace(nil, fmt.Sprint(uint64(math.MaxUint64)))
	require.Equal(t, uint64(math.MaxUint64), s.Version())
	require.Zero(t, s.Rewinds())
}

// A server that was restored from a backup counts on from an older version. A read that
// waited for a version of the undone history would wait for days.
//
// Function: SharedInformer.Replace
func TestAListMayGoBackAndSaysSo(t *testing.T) {
	s := mini.NewSharedInformer(&script{}, nil)
	s.Replace(nil, "100")
	s.Replace(nil, "100")
	require.Zero(t, s.Rewinds(), "a quiet cluster has the same version for hours")
	s.Replace(nil, "50")
	require.Equal(t, uint64(50), s.Version())
	require.Equal(t, 1, s.Rewinds())
	s.Replace(nil, "60")
	require.Equal(t, 1, s.Rewinds())
}

// Function: SharedInformer.WaitFor
func TestWaitForAsksAgainAfterEachChange(t *testing.T) {
	inMemory(t, func(w *world) {
		s := w.share()
		w.run(s.Run)
		synctest.Wait()
		var waiting sync.WaitGroup
		for n := range 4 {
			waiting.Go(func() {
				if err := s.WaitFor(w.ctx, func() bool { return len(s.List()) == n }); err != nil {
					w.Errorf("waiting for %d objects: %v", n, err)
				}
			})
		}
		for i := range 3 {
			synctest.Wait()
			w.createMap(strconv.Itoa(i), "1")
		}
		waiting.Wait()
		waiting.Go(func() {
			if err := s.WaitFor(w.ctx, func() bool { return len(s.List()) == 2 }); err != nil {
				w.Errorf("waiting for a deletion: %v", err)
			}
		})
		synctest.Wait()
		w.deleteMap("0")
		waiting.Wait()
	})
}

// The store changes with each event, even if its version is an old one. Whoever waits for that change waits forever if only a
// new version wakes it.
//
// Function: SharedInformer.Update
func TestWaitForAsksAgainAfterAnEventThatDoesNotMoveTheVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mini.NewSharedInformer(&script{}, nil)
		s.Replace(nil, "10")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		shown := make(chan error, 1)
		go func() {
			shown <- s.WaitFor(ctx, func() bool { return s.Get(mapKey("a")) != nil })
		}()
		synctest.Wait()
		s.Update(mapAt(9, "a", "1"))
		require.NoError(t, <-shown)
	})
}

// The missed change may be the last one, and then the wait would never end.
//
// Function: SharedInformer.WaitFor
func TestWaitForDoesNotMissAChangeWhileItAsks(t *testing.T) {
	inMemory(t, func(w *world) {
		s := w.share()
		w.run(s.Run)
		synctest.Wait()
		asked := 0
		ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
		defer cancel()
		require.NoError(w, s.WaitFor(ctx, func() bool {
			asked++
			if asked == 1 {
				w.createMap("a", "1")
				synctest.Wait() // the store has it before the first answer is known
			}
			return asked == 2
		}))
	})
}

// Function: SharedInformer.resync
func TestAResyncBringsAllObjectsAgainWithoutARequest(t *testing.T) {
	inMemory(t, func(w *world) {
		w.createMap("a", "1")
		w.createMap("b", "1")
		s := w.share()
		s.ResyncPeriod = 10 * time.Minute
		var got changes
		s.AddHandler(func(c mini.Change) {
			if c.Old != nil && c.Old != c.New {
				w.Errorf("a handler tells a resync by Old == New: %s", changeText(c))
			}
			got.add(c)
		})
		w.run(s.Run)
		time.Sleep(9 * time.Minute)
		require.Len(w, got.took(), 2)
		for range 3 {
			time.Sleep(10 * time.Minute)
			require.Equal(w, []string{"a: 1 -> 1", "b: 1 -> 1"}, got.took())
		}
		lists, _ := w.requests()
		require.Equal(w, 1, lists)

		often := w.share()
		often.ResyncPeriod = time.Nanosecond
		often.AddHandler(got.add)
		ctx, cancel := context.WithTimeout(w.ctx, 5*time.Nanosecond)
		defer cancel()
		require.NoError(w, often.Run(ctx))
		require.Greater(w, len(got.took()), 4, "a short period is still a period")
	})
}

// A handler believes what it's told last. After an older state, it would undo what the newer one has led to.
//
// Function: SharedInformer.resync
func TestAResyncBringsNothingOlderThanWhatTheHandlerHasSeen(t *testing.T) {
	inMemory(t, func(w *world) {
		s := w.share()
		s.ResyncPeriod = time.Minute
		var got changes
		var calls atomic.Int32
		s.AddHandler(func(c mini.Change) {
			calls.Add(1)
			got.add(c)
		})
		w.run(s.Run)
		synctest.Wait()
		s.Update(mapAt(1001, "a", "1"))
		time.Sleep(time.Minute)
		require.Equal(w, []string{"a: - -> 1", "a: 1 -> 1"}, got.took(), "the first resync has the first state")
		s.Update(mapAt(1002, "a", "2"))
		time.Sleep(time.Minute)
		require.Equal(w, []string{"a: 1 -> 2", "a: 2 -> 2"}, got.took(), "the second resync has the state of the first")

		mu := mutexOf(w.T, s)
		for version := 1003; version < 1012; version += 3 {
			before := calls.Load()
			mu.Lock() // as a change does that comes just before the resync
			time.Sleep(time.Minute)
			untilALockIsAwaited(0, func() bool { return calls.Load() > before })
			s.Informer.Update(mapAt(version, "a", "3"))
			inTurns(mu, func() { s.Update(mapAt(version+1, "a", "4")) })
			require.Contains(w, [][]string{
				{"a: 2 -> 2", "a: 2 -> 3", "a: 3 -> 4"}, // a resync that needs another lock
				{"a: 2 -> 3", "a: 3 -> 3", "a: 3 -> 4"}, {"a: 2 -> 3", "a: 3 -> 4", "a: 4 -> 4"},
			}, got.took(), "the resync has brought an older state after a newer one")
			s.Update(mapAt(version+2, "a", "2"))
			require.Equal(w, []string{"a: 4 -> 2"}, got.took())
		}
	})
}

// Function: SharedInformer.Run
func TestWithoutAPeriodThereIsNoResync(t *testing.T) {
	inMemory(t, func(w *world) {
		w.createMap("a", "1")
		s := w.share()
		var got changes
		s.AddHandler(got.add)
		w.run(s.Run)
		time.Sleep(3 * time.Hour)
		require.Len(w, got.took(), 1)
	})
}

func TestWhenRunReturnsNoHandlerIsRunning(t *testing.T) {
	inMemory(t, func(w *world) {
		for i := range 10 {
			w.createMap(strconv.Itoa(i), "1")
		}
		s := w.share()
		s.ResyncPeriod = time.Minute
		begun, ended := 0, 0
		s.AddHandler(func(mini.Change) {
			begun++
			time.Sleep(time.Hour)
			ended++
		})
		s.AddHandler(func(mini.Change) {}) // waits for its next change
		ctx, cancel := context.WithCancel(w.ctx)
		w.running.Go(func() {
			time.Sleep(90 * time.Minute)
			cancel()
		})
		began := time.Now()
		require.NoError(w, s.Run(ctx), "a stop isn't a failure")
		require.Equal(w, 2*time.Hour, time.Since(began),
			"Run returns when the running call does, which is the second")
		require.Equal(w, []int{2, 2}, []int{begun, ended}, "and the other eight are dropped")
		time.Sleep(24 * time.Hour)
		require.Equal(w, 2, begun)
	})
}

// A handler is still running when the program stops, and asks the informer something. If Run waits for the handler and holds the
// lock, the handler waits for Run, and the program never ends.
//
// Function: SharedInformer.Run
func TestAHandlerMayUseTheInformerWhileRunWaitsForIt(t *testing.T) {
	inMemory(t, func(w *world) {
		w.createMap("a", "1")
		s := w.share()
		mu := mutexOf(w.T, s)
		s.AddHandler(func(mini.Change) {
			time.Sleep(time.Hour)
			if !mu.TryLock() {
				w.Error("Run has kept the lock while it waits for the handler")
				return
			}
			mu.Unlock()
		})
		ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
		defer cancel()
		require.NoError(w, s.Run(ctx))
	})
}

// Function: SharedInformer.AddHandler
func TestAHandlerThatIsAddedAfterTheEndIsNotCalled(t *testing.T) {
	inMemory(t, func(w *world) {
		w.createMap("a", "1")
		s := w.share()
		ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
		defer cancel()
		require.NoError(w, s.Run(ctx))
		var got changes
		s.AddHandler(got.add)
		require.Empty(w, got.took())
	})
}

func TestTheFlightRecorderShowsTheSharedInformersReflector(t *testing.T) {
	inMemory(t, func(w *world) {
		s := w.share()
		s.Trace = w.Cluster.Trace
		w.run(s.Run)
		synctest.Wait()
		before := w.Cluster.Trace.Recorded()
		w.createMap("a", "1")
		synctest.Wait()
		require.Greater(w, w.Cluster.Trace.Recorded(), before)
	})
}
