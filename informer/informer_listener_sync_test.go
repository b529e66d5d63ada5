package informer

import (
	"context"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"weak"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/internal/inorder"
	"github.com/loopwright/loopwright/trace"
)

// The flight recorder answers whether a handler was told of a change, and which.
func TestTheRecorderSaysWhatEachHandlerIsTold(t *testing.T) {
	for name, layer := range inorder.Map(map[string]string{"": "listener", "mine": "mine"}) {
		synctest.Test(t, func(t *testing.T) {
			recorder := trace.New(16)
			l := newListener(Handler[*corev1.Pod](podFuncs{}), HandlerOptions{Name: name}, instruments{recorder: recorder, kind: "Pod"})
			l.push([]Delta[*corev1.Pod]{added(a1), updated(a1, a2), deleted(a1, a2)}, true)
			l.queue.coalesces = true
			for n, deltas := range [][]Delta[*corev1.Pod]{
				{deleted(a1, a2), added(b4)},
				{updated(a1, a2), deleted(a2, a3)},
				{updated(a1, a2), deleted(a2, a3), added(b4)},
				{added(a1), deleted(a1, a2)},
				{added(a1), deleted(a1, a2), added(b4)},
			} {
				for i := range deltas {
					deltas[i].Key.Name = strconv.Itoa(n)
				}
				l.push(deltas, true)
			}
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { l.run(ctx) })
			synctest.Wait()
			cancel()
			running.Wait()
			var told []string
			for _, event := range recorder.Events() {
				require.Equal(t, trace.Notified, event.Kind)
				require.Equal(t, []string{layer, "Pod", "shop", "web"}, []string{event.Layer, event.Object, event.Namespace, event.Name})
				told = append(told, event.Op+" "+event.Version)
			}
			require.Equal(t, []string{"add 1", "update 2", "delete 2", "delete and add 4", "update and delete 3", "update, delete and add 4", "add and delete 2", "add, delete and add 4"}, told)
		})
	}
}

// What a handler does has a cause in the recorder, before it. And what a handler was not told,
// because it had removed itself, is not in there.
func TestTheRecorderSaysThatAHandlerIsToldBeforeWhatItDoes(t *testing.T) {
	recorder := trace.New(16)
	var l *listener[*corev1.Pod]
	inListener(t, podFuncs{Add: func(*corev1.Pod, bool) {
		recorder.Record(trace.Event{Kind: trace.Note})
		l.remove()
	}}, func(the *listener[*corev1.Pod], _ *[]HandlerPanic, start func()) {
		l = the
		l.instruments.recorder = recorder
		l.push([]Delta[*corev1.Pod]{added(a1), added(b4)}, true)
		start()
		var kinds []trace.Kind
		for _, event := range recorder.Events() {
			kinds = append(kinds, event.Kind)
		}
		require.Equal(t, []trace.Kind{trace.Notified, trace.Note}, kinds)
	})
}

// Something changes all the time in a large cluster. A handler has heard of the initial list
// when it has, and not when it has nothing to do for once.
func TestAHandlerIsSyncedWhileItIsBusy(t *testing.T) {
	var l *listener[*corev1.Pod]
	calls := 0
	inListener(t, podFuncs{
		Add: func(*corev1.Pod, bool) { l.push([]Delta[*corev1.Pod]{updated(a1, a2)}, true) },
		Update: func(*corev1.Pod, *corev1.Pod) {
			select {
			case <-l.synced:
			default:
				if calls++; calls < 1000 {
					l.push([]Delta[*corev1.Pod]{updated(a1, a2)}, true)
				}
			}
		},
	}, func(the *listener[*corev1.Pod], _ *[]HandlerPanic, start func()) {
		l = the
		first := added(a1)
		first.Initial = true
		l.push([]Delta[*corev1.Pod]{first}, true)
		start()
		require.Less(t, calls, 1000, "it was not synced before it was idle")
	})
}

// News may come while the listener is between its look into the backlog and its wait. If nothing
// wakes it then, the handler hears of the change with the next one, in a year.
func TestNewsWakesAListenerThatDoesNotWaitYet(t *testing.T) {
	l := newListener(Handler[*corev1.Pod](podFuncs{}), HandlerOptions{}, instruments{})
	l.push([]Delta[*corev1.Pod]{added(a1)}, true)
	select {
	case <-l.news:
	default:
		t.Fatal("the wake-up is lost")
	}
}

// A controller begins to work when its handler is synced. If that is said too early, it takes
// what it has not heard of yet for missing, and makes it again.
func TestAHandlerIsSyncedWhenItHasReturnedFromTheLastInitialCall(t *testing.T) {
	const objects = 3*listenerBatch + 1
	var l *listener[*corev1.Pod]
	calls := 0
	isSynced := func() bool {
		select {
		case <-l.synced:
			return true
		default:
			return false
		}
	}
	inListener(t, podFuncs{Add: func(*corev1.Pod, bool) {
		calls++
		require.False(t, isSynced(), "synced at object %d of %d", calls, objects)
	}}, func(the *listener[*corev1.Pod], _ *[]HandlerPanic, start func()) {
		l = the
		l.push(nil, false)
		start()
		require.False(t, isSynced(), "synced before the list came")
		for n := range objects {
			first := added(a1)
			first.Initial = true
			l.push([]Delta[*corev1.Pod]{first}, n == objects-1)
		}
		synctest.Wait()
		require.Equal(t, objects, calls)
		require.True(t, isSynced())
	})
}

// Backlog promises that no more than 64 keys are counted twice.
func TestAListenerTakesNoMoreThan64KeysAtOnce(t *testing.T) {
	l := newListener(Handler[*corev1.Pod](podFuncs{}), HandlerOptions{Coalesce: true}, instruments{})
	changeAll := func(delta Delta[*corev1.Pod]) {
		for n := range 100 {
			delta.Key.Name = strconv.Itoa(n)
			l.push([]Delta[*corev1.Pod]{delta}, true)
		}
	}
	changeAll(added(a1))
	batch := l.take(nil)
	require.Len(t, batch, 64)
	changeAll(updated(a1, a2))
	require.Equal(t, 164, l.measure().Pending)
	require.Zero(t, l.measure().Told, "none of them was told")
}

// A handler may have nothing to do for a day. The last objects that it was told must not stay
// in memory for so long.
func TestAListenerThatHasCaughtUpHoldsNoObject(t *testing.T) {
	inListener(t, podFuncs{}, func(l *listener[*corev1.Pod], _ *[]HandlerPanic, start func()) {
		pod := podOn("large", "")
		held := weak.Make(pod)
		l.push([]Delta[*corev1.Pod]{added(pod)}, true)
		pod = nil
		start()
		for range 10 {
			if runtime.GC(); held.Value() == nil {
				break
			}
		}
		require.Nil(t, held.Value(), "the listener keeps the object alive")
	})
}
