package informer

import (
	"context"
	"runtime"
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
	end, beginning := deleted(a1, a2), added(b4)
	end.Key, beginning.Key = KeyOf(a2), KeyOf(b4)
	l.push([]Delta[*corev1.Pod]{end, beginning}, []slotChange{{at: 7}, {at: 7}}, true)
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

func TestAPanicInEachMethodOfAHandlerIsSurvived(t *testing.T) {
	calls := 0
	bug := func() { calls++; panic("bug") }
	inListener(t, podFuncs{
		Add:    func(*corev1.Pod, bool) { bug() },
		Update: func(_, _ *corev1.Pod) { bug() },
		Delete: func(*corev1.Pod, bool) { bug() },
	}, func(l *listener[*corev1.Pod], reported *[]HandlerPanic, start func()) {
		l.push([]Delta[*corev1.Pod]{added(a1), updated(a1, a2), deleted(a1, a2)}, []slotChange{{at: 1}, {at: 2}, {at: 3}}, true)
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
		require.Equal(t, 1, l.measure().Keys)
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
		for at := range slot(10) {
			l.push([]Delta[*corev1.Pod]{added(a1)}, []slotChange{{at: at}}, false)
		}
		start()
		<-l.done
		require.Equal(t, BacklogStats{Keys: 6, Deepest: 10, Told: 4}, l.measure())
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
		l.push([]Delta[*corev1.Pod]{added(a1)}, []slotChange{{}}, true)
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

// One handler that hangs must not take the others with it, nor memory without end.
func TestASlowHandlerHoldsUpNobodyAndItsBacklogIsBounded(t *testing.T) {
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
		}, HandlerOptions{})
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
		require.Equal(t, 3, r.Backlog().Keys, "a, in which it hangs, and news of a and b")
		require.LessOrEqual(t, r.Backlog().Deepest, 4)
		goOn()
		require.Equal(t, []string{"add a", "add b", "update a ->49"}, slow.read(), "what it is told of is the newest state")
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
