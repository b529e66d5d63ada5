package informer

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/internal/inorder"
)

type podFuncs = HandlerFuncs[*corev1.Pod]

// inListener runs a test in a synctest bubble, with a listener that is not running
// yet. start runs it; its end comes with the test's.
func inListener(t *testing.T, handler podFuncs, test func(l *listener[*corev1.Pod], reported *[]HandlerPanic, start func())) {
	synctest.Test(t, func(t *testing.T) {
		var reported []HandlerPanic
		l := newListener(Handler[*corev1.Pod](handler), HandlerOptions{}, instruments{onPanic: func(p HandlerPanic) { reported = append(reported, p) }, recoverPanics: true})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		defer running.Wait()
		defer cancel()
		test(l, &reported, func() { running.Go(func() { l.run(ctx) }); synctest.Wait() })
	})
}

// anotherTakesTheName makes two calls of one entry: OnDelete of a2, OnAdd of b4.
func anotherTakesTheName(l *listener[*corev1.Pod]) {
	l.queue.coalesces = true
	end, beginning := deleted(a1, a2), added(b4)
	end.Key, beginning.Key = KeyOf(a2), KeyOf(b4)
	l.push([]Delta[*corev1.Pod]{end, beginning}, true)
}

// An object that is never added is one that a controller never looks after.
func TestAPanicAtTheEndOfAnObjectDoesNotHideTheNextOne(t *testing.T) {
	var h heard
	handler := h.handler().(podFuncs)
	handler.Delete = func(*corev1.Pod, bool) { panic("bug") }
	inListener(t, handler, func(l *listener[*corev1.Pod], reported *[]HandlerPanic, start func()) {
		anotherTakesTheName(l)
		start()
		require.Equal(t, heard{"add b4 false"}, h)
		require.Len(t, *reported, 1)
		require.Equal(t, KeyOf(a2), (*reported)[0].Key)
	})
}

// changesAndGoes makes three calls of one entry: OnUpdate and OnDelete of a3, OnAdd of b4.
func changesAndGoes(l *listener[*corev1.Pod]) {
	l.queue.coalesces = true
	l.push([]Delta[*corev1.Pod]{keyed(updated(a1, a2)), keyed(deleted(a2, a3)), keyed(added(b4))}, true)
}

// An end that is never told is what a controller waits for.
func TestAPanicAtAChangeDoesNotHideTheEndAfterIt(t *testing.T) {
	var h heard
	handler := h.handler().(podFuncs)
	handler.Update = func(_, _ *corev1.Pod) { panic("bug") }
	inListener(t, handler, func(l *listener[*corev1.Pod], reported *[]HandlerPanic, start func()) {
		changesAndGoes(l)
		start()
		require.Equal(t, heard{"delete a3 false", "add b4 false"}, h)
		require.Len(t, *reported, 1)
	})
}

func TestAHandlerThatRemovesItselfAtAChangeIsNotToldTheEnd(t *testing.T) {
	var h heard
	var remove func()
	handler := h.handler().(podFuncs)
	handler.Update = func(_, _ *corev1.Pod) { remove() }
	inListener(t, handler, func(l *listener[*corev1.Pod], _ *[]HandlerPanic, start func()) {
		remove = l.remove
		changesAndGoes(l)
		start()
		<-l.done
		require.Empty(t, h)
	})
}

func TestAPanicInEachMethodOfAHandlerIsSurvived(t *testing.T) {
	calls := 0
	bug := func() { calls++; panic("bug") }
	inListener(t, podFuncs{
		Add:    func(*corev1.Pod, bool) { bug() },
		Update: func(_, _ *corev1.Pod) { bug() },
		Delete: func(*corev1.Pod, bool) { bug() },
	}, func(l *listener[*corev1.Pod], reported *[]HandlerPanic, start func()) {
		l.push([]Delta[*corev1.Pod]{added(a1), updated(a1, a2), deleted(a1, a2)}, true)
		start()
		require.Equal(t, 3, calls)
		require.Len(t, *reported, 3)
		for _, p := range *reported {
			require.Equal(t, KeyOf(a1), p.Key)
		}
	})
}

// Who has removed a handler frees what the handler uses.
func TestAHandlerThatRemovesItselfIsNotCalledAgain(t *testing.T) {
	var h heard
	var remove func()
	handler := h.handler().(podFuncs)
	handler.Delete = func(*corev1.Pod, bool) { remove() }
	inListener(t, handler, func(l *listener[*corev1.Pod], _ *[]HandlerPanic, start func()) {
		remove = l.remove
		anotherTakesTheName(l)
		require.Equal(t, 1, l.measure().Pending)
		start()
		<-l.done
		require.Empty(t, h)
	})
}

func TestWhatAHandlerWasToldIsCountedCallByCall(t *testing.T) {
	calls := 0
	var remove func()
	inListener(t, podFuncs{Add: func(*corev1.Pod, bool) {
		if calls++; calls == 4 {
			remove()
		}
	}}, func(l *listener[*corev1.Pod], _ *[]HandlerPanic, start func()) {
		remove = l.remove
		for range 10 {
			l.push([]Delta[*corev1.Pod]{added(a1)}, false)
		}
		start()
		<-l.done
		require.Equal(t, BacklogStats{Pending: 6, Deepest: 10, Told: 4}, l.measure())
	})
}

// Most handlers care about one kind of change.
func TestFunctionsThatAreNotGivenAreNotCalled(t *testing.T) {
	var none HandlerFuncs[*corev1.Pod]
	require.NotPanics(t, func() {
		none.OnAdd(a1, false)
		none.OnUpdate(a1, a2)
		none.OnDelete(a2, false)
	})
}

// A test's handler calls t.FailNow, which is runtime.Goexit. Its backlog must not
// grow from then on, and somebody must hear of it.
func TestAHandlerThatEndsItsGoroutineIsRemoved(t *testing.T) {
	inListener(t, podFuncs{Add: func(*corev1.Pod, bool) { runtime.Goexit() }}, func(l *listener[*corev1.Pod], reported *[]HandlerPanic, start func()) {
		l.push([]Delta[*corev1.Pod]{added(a1)}, true)
		start()
		<-l.done
		require.True(t, l.stopped(t.Context()))
		require.Len(t, *reported, 1)
		require.Equal(t, errGoexit, (*reported)[0].Value)
		require.Contains(t, string((*reported)[0].Stack), "informer_listener_test.go")
	})
}

// A resync each nanosecond would be all that the informer does.
func TestTheShortestResyncPeriodIsASecond(t *testing.T) {
	for asked, given := range inorder.Map(map[time.Duration]time.Duration{0: 0, 1: time.Second, time.Minute: time.Minute}) {
		l := newListener(Handler[*corev1.Pod](podFuncs{}), HandlerOptions{Resync: asked}, instruments{})
		require.Equal(t, given, l.options.Resync)
	}
}

// A handler that joins a resync half-way would miss the first half.
func TestWhoIsDueWaitsForTheResyncThatIsUnderWay(t *testing.T) {
	inInformer(t, InformerOptions[*corev1.ConfigMap]{}, func(t *testing.T, _ world, i *Informer[*corev1.ConfigMap], _, _ func()) {
		var d diary
		soon := newListener(d.handler(), HandlerOptions{Resync: time.Minute}, i.instruments)
		later := newListener(d.handler(), HandlerOptions{Resync: time.Minute}, i.instruments)
		soon.next, later.next = time.Now(), time.Now().Add(time.Second)
		i.listeners = []*listener[*corev1.ConfigMap]{soon, later}
		timer := time.NewTimer(time.Hour)
		defer timer.Stop()
		i.scheduleResync(timer)
		<-timer.C // set to the later one
		i.scheduleResync(timer)
		require.True(t, soon.resyncing)
		require.False(t, later.resyncing, "the first half went to others only")
		i.apply(&Batch[*corev1.ConfigMap]{Resynced: true})
		i.scheduleResync(timer)
		require.False(t, soon.resyncing)
		require.True(t, later.resyncing, "it is its turn now")
		i.listeners = nil
	})
}

// One handler that hangs must not take the others with it. When it goes on, it hears of each
// state that somebody else may have read; or, if it coalesces, of the newest, and then it must not
// take memory without end.
func TestASlowHandlerHoldsUpNobodyAndHearsOfWhatItMissed(t *testing.T) {
	var all []string
	for n := range 50 {
		all = append(all, fmt.Sprintf("update a %s->%d", before(n), n), fmt.Sprintf("update b %s->%d", before(n), n), "add passing", "delete passing")
	}
	t.Run("by default", func(t *testing.T) {
		testASlowHandler(t, HandlerOptions{}, 202, append([]string{"add a", "add b"}, all...))
	})
	t.Run("with Coalesce", func(t *testing.T) {
		testASlowHandler(t, HandlerOptions{Coalesce: true}, 4, []string{"add a", "add b", "update a ->49", "add passing", "delete passing"})
	})
}

func before(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n - 1)
}

func testASlowHandler(t *testing.T, options HandlerOptions, deepest int, told []string) {
	inInformer(t, InformerOptions[*corev1.ConfigMap]{}, func(t *testing.T, w world, i *Informer[*corev1.ConfigMap], start, _ func()) {
		var fast, slow diary
		hang := make(chan struct{})
		goOn := sync.OnceFunc(func() { close(hang) })
		defer goOn()
		add(t, i, fast.handler(), HandlerOptions{})
		r := add(t, i, HandlerFuncs[*corev1.ConfigMap]{
			Add: func(c *corev1.ConfigMap, _ bool) { <-hang; slow.note("add %s", c.Name) },
			Update: func(old, c *corev1.ConfigMap) {
				slow.note("update %s %s->%s", c.Name, old.Data["value"], c.Data["value"])
			},
			Delete: func(c *corev1.ConfigMap, _ bool) { slow.note("delete %s", c.Name) },
		}, options)
		start()
		w.create(t, "a", nil)
		synctest.Wait()
		w.create(t, "b", nil)
		for n := range 50 {
			for _, write := range []func(){
				func() { w.change(t, "a", n) },
				func() { w.change(t, "b", n) },
				func() { w.create(t, "passing", nil) },
				func() { w.delete(t, "passing") },
			} {
				write()
				synctest.Wait() // so that the fast one is told each
			}
		}
		require.Len(t, fast.read(), 202)
		require.Equal(t, deepest, r.Backlog().Pending, "with a, in which it hangs")
		require.Equal(t, deepest, r.Backlog().Deepest)
		goOn()
		require.Equal(t, told, slow.read())
	})
}

// A Pod gets another owner, and is deleted, while the handler is busy with something else. A
// handler that wakes both owners must hear of both, or the former one misses a Pod forever.
func TestASlowHandlerHearsOfAChangeBeforeTheEnd(t *testing.T) {
	for _, coalesce := range []bool{false, true} {
		t.Run(fmt.Sprintf("Coalesce %v", coalesce), func(t *testing.T) { testAChangeBeforeTheEnd(t, coalesce) })
	}
}

func testAChangeBeforeTheEnd(t *testing.T, coalesce bool) {
	inInformer(t, InformerOptions[*corev1.ConfigMap]{}, func(t *testing.T, w world, i *Informer[*corev1.ConfigMap], start, _ func()) {
		var quick, slow diary
		hang := make(chan struct{})
		goOn := sync.OnceFunc(func() { close(hang) })
		defer goOn()
		add(t, i, quick.handler(), HandlerOptions{})
		funcs := slow.handler().(HandlerFuncs[*corev1.ConfigMap])
		funcs.Add = func(c *corev1.ConfigMap, _ bool) {
			if c.Name == "another" {
				<-hang
			}
		}
		add(t, i, funcs, HandlerOptions{Coalesce: coalesce})
		start()
		w.create(t, "moved", nil)
		w.change(t, "moved", 1)
		w.create(t, "plain", nil)
		synctest.Wait()
		w.create(t, "another", nil)
		synctest.Wait()
		slow.read()
		w.change(t, "moved", 2)
		synctest.Wait()
		w.delete(t, "moved")
		w.delete(t, "plain")
		require.Contains(t, quick.read(), "update moved 1->2")
		goOn()
		require.Equal(t, []string{"update moved 1->2", "delete moved false", "delete plain false"}, slow.read())
	})
}

func TestAPanicOfAHandlerIsReportedAndSurvived(t *testing.T) {
	var reported []HandlerPanic
	options := InformerOptions[*corev1.ConfigMap]{RecoverPanics: true, OnPanic: func(p HandlerPanic) { reported = append(reported, p) }}
	inInformer(t, options, func(t *testing.T, w world, i *Informer[*corev1.ConfigMap], start, _ func()) {
		var other diary
		r := add(t, i, HandlerFuncs[*corev1.ConfigMap]{Add: func(c *corev1.ConfigMap, _ bool) {
			if c.Name == "a" {
				panic("bug")
			}
		}}, HandlerOptions{Name: "buggy"})
		add(t, i, other.handler(), HandlerOptions{})
		w.create(t, "a", nil)
		w.create(t, "b", nil)
		start()
		<-r.Synced()
		require.Len(t, other.read(), 2)
		require.Len(t, reported, 1)
		require.Equal(t, "buggy", reported[0].Handler)
		require.Equal(t, "bug", reported[0].Value)
		require.Contains(t, string(reported[0].Stack), "informer_listener_test.go")
		require.Equal(t, uint64(1), r.Backlog().Panics)
	})
}
