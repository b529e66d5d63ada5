package informer

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/trace"
)

// A handler that looks at something besides the objects relies on hearing of all of them
// again, not only of those in the first batch.
func TestAResyncOfManyObjectsReachesTheHandlerAsAWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := NewInformer[*corev1.Pod](nil, InformerOptions[*corev1.Pod]{})
		again := map[Key]int{}
		_, err := i.AddHandler(HandlerFuncs[*corev1.Pod]{Update: func(_, pod *corev1.Pod) { again[KeyOf(pod)]++ }}, HandlerOptions{Resync: time.Minute})
		require.NoError(t, err)
		stop := looping(t, i)
		defer stop()
		i.queue.Replace(smallPods(1000), "1")
		synctest.Wait()
		time.Sleep(150 * time.Second)
		synctest.Wait()
		require.Len(t, again, 1000)
		for key, times := range again {
			require.Equal(t, 2, times, "%s was handed over again %d times in two and a half minutes", key, times)
		}
	})
}

// looping runs an informer whose queue is filled by hand.
func looping(t *testing.T, i *Informer[*corev1.Pod]) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running, listeners sync.WaitGroup
	running.Go(func() { i.loop(ctx, &listeners) })
	return func() { cancel(); running.Wait(); listeners.Wait() }
}

// A list of many objects comes as several batches, and only the last says which version was
// reached. Who waits for a deletion asks for that version, at any time.
func TestABatchWithoutAVersionTakesNoProgressAway(t *testing.T) {
	i := NewInformer[*corev1.Pod](nil, InformerOptions[*corev1.Pod]{})
	i.apply(&Batch[*corev1.Pod]{ResourceVersion: "9"})
	i.apply(&Batch[*corev1.Pod]{Deltas: []Delta[*corev1.Pod]{{Type: DeltaAdded, Key: KeyOf(a1), Object: a1}}})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, i.WaitFor(ended, keyIn("shop", "gone"), "8"))
}

// The mode that finds out who changes cached objects is for tests. A program that does not ask
// for it pays nothing for it, and does not end because of it.
func TestWithoutDetectMutationsNothingIsKeptOrReported(t *testing.T) {
	i := NewInformer[*corev1.Pod](nil, InformerOptions[*corev1.Pod]{})
	pod := podAt("a", "1")
	i.apply(&Batch[*corev1.Pod]{Deltas: []Delta[*corev1.Pod]{{Type: DeltaAdded, Key: KeyOf(pod), Object: pod}}})
	pod.Status.Phase = corev1.PodRunning
	require.NotPanics(t, func() {
		i.apply(&Batch[*corev1.Pod]{Deltas: []Delta[*corev1.Pod]{{Type: DeltaDeleted, Key: KeyOf(pod), Old: pod, Object: pod}}})
	})
	require.Empty(t, i.detector.kept)
}

// Somebody who reads the recorder of an informer sees its whole way: what trouble the reflector
// had, and that the first list has reached the store.
func TestTheRecorderOfAnInformerIsThatOfItsReflector(t *testing.T) {
	trouble, synced := trace.Filter{Layer: "reflector"}, trace.Filter{Kinds: []trace.Kind{trace.Synced}}
	play := func(t *testing.T, options InformerOptions[*corev1.ConfigMap]) {
		synctest.Test(t, func(t *testing.T) {
			server := fakeapi.New(fakeapi.Options{})
			defer server.Close()
			w := newWorld(t, server.Config(), metav1.NamespaceDefault)
			w.create(t, "a", nil)
			w.create(t, "b", nil)
			lift := server.Inject(fakeapi.Fault{Status: fakeapi.Forbidden()})
			i := NewInformer(ListerWatcher[*corev1.ConfigMap](w.listWatch(t, ListWatchOptions{})), options)
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { _ = i.Run(ctx) })
			synctest.Wait()
			lift()
			require.NoError(t, i.WaitForSync(ctx))
			cancel()
			running.Wait()
		})
	}
	one := trace.New(64)
	play(t, InformerOptions[*corev1.ConfigMap]{Recorder: one})
	require.NotEmpty(t, trouble.Select(one.Events()))
	said := synced.Select(one.Events())
	require.Len(t, said, 1)
	require.Equal(t, []any{"informer", "ConfigMap", 2}, []any{said[0].Layer, said[0].Object, said[0].Count})

	its, the := trace.New(64), trace.New(64)
	play(t, InformerOptions[*corev1.ConfigMap]{Recorder: its, Reflector: ReflectorOptions{Recorder: the}})
	require.NotEmpty(t, trouble.Select(the.Events()), "the reflector was given a recorder of its own")
	require.Empty(t, trouble.Select(its.Events()))
	require.Len(t, synced.Select(its.Events()), 1)
}

// A wait that fails says what the informer was doing. And a wait for what is there does not
// fail, even if its time is over.
func TestAWaitForTheFirstListSaysWhatItWaitedFor(t *testing.T) {
	inInformer(t, InformerOptions[*corev1.ConfigMap]{}, func(t *testing.T, _ world, i *Informer[*corev1.ConfigMap], start, _ func()) {
		over, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("enough"))
		err := i.WaitForSync(over)
		require.EqualError(t, err, "waiting for ConfigMap: not synced, the reflector is "+i.Health().State.String()+": enough")
		start()
		require.NoError(t, i.WaitForSync(t.Context()))
		for range 100 { // a select would pick at random
			require.NoError(t, i.WaitForSync(over))
		}
	})
}

// applied is an informer that was given these batches, and nothing else.
func applied(t *testing.T, batches ...Batch[*corev1.Pod]) *Informer[*corev1.Pod] {
	t.Helper()
	i := NewInformer[*corev1.Pod](nil, InformerOptions[*corev1.Pod]{})
	for _, batch := range batches {
		i.apply(&batch)
	}
	return i
}

func keyed(delta Delta[*corev1.Pod]) Delta[*corev1.Pod] {
	delta.Key = KeyOf(delta.Object)
	return delta
}

// A deletion that has nothing to do with what comes after it in the batch must reach the store.
func TestADeletionAmongOtherChangesReachesTheStore(t *testing.T) {
	other := podOn("other", "")
	i := applied(t,
		Batch[*corev1.Pod]{Deltas: []Delta[*corev1.Pod]{keyed(added(a1))}},
		Batch[*corev1.Pod]{Deltas: []Delta[*corev1.Pod]{keyed(deleted(a1, a2)), keyed(added(other))}},
	)
	_, there := i.store.Get(KeyOf(a1))
	require.False(t, there)
	_, there = i.store.Get(KeyOf(other))
	require.True(t, there)
}

// The first part of a long list is not the list.
func TestAnInformerIsSyncedWithTheLastBatchOfTheFirstList(t *testing.T) {
	i := applied(t, Batch[*corev1.Pod]{Deltas: []Delta[*corev1.Pod]{keyed(added(a1))}})
	select {
	case <-i.Synced():
		t.Fatal("synced with the first batch")
	default:
	}
	i.apply(&Batch[*corev1.Pod]{Synced: true})
	<-i.Synced()
}

// Who waits for progress reads the store next.
func TestAWaitIsMetAfterTheWholeBatchIsInTheStore(t *testing.T) {
	i := applied(t)
	wait, err := i.versions.wait(keyIn("shop", "gone"), "8", func() string { return "" })
	require.NoError(t, err)
	_, err = i.Store().AddIndex("look", func(values []string, pod *corev1.Pod) []string {
		require.False(t, caughtUp(wait), "the wait is over, and %s is not stored yet", pod.Name)
		return values
	})
	require.NoError(t, err)
	i.apply(&Batch[*corev1.Pod]{Deltas: []Delta[*corev1.Pod]{keyed(added(a1))}, ResourceVersion: "9"})
	require.True(t, caughtUp(wait))
}

// A handler that sleeps while objects go, and others take their slots in the store, must hear of
// each under its own name.
func TestASleepingHandlerHearsOfTheRightObjects(t *testing.T) {
	var h heard
	i := applied(t)
	var pods []*corev1.Pod
	var deltas []Delta[*corev1.Pod]
	named := func(name, version string) *corev1.Pod {
		pod := podOn(name, "")
		pod.UID, pod.ResourceVersion = types.UID(name), version
		return pod
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		pods = append(pods, named(name, "1"))
		deltas = append(deltas, keyed(added(pods[len(pods)-1])))
	}
	i.apply(&Batch[*corev1.Pod]{Deltas: deltas})
	l := newListener(h.handler(), HandlerOptions{Coalesce: true}, i.instruments)
	i.listeners = append(i.listeners, l)
	for _, delta := range []Delta[*corev1.Pod]{
		keyed(deleted(pods[1], named("b", "2"))), // d takes its slot
		keyed(updated(pods[3], named("d", "3"))),
		keyed(updated(pods[2], named("c", "4"))),
		keyed(updated(pods[0], named("a", "5"))),
		keyed(deleted(named("c", "4"), named("c", "6"))),
		keyed(added(named("e", "7"))),
		keyed(updated(named("d", "3"), named("d", "8"))),
	} {
		i.apply(&Batch[*corev1.Pod]{Deltas: []Delta[*corev1.Pod]{delta}})
	}
	require.Equal(t, 5, l.queue.len())
	for _, untold := range l.take(nil) {
		untold.deliver(h.handler())
	}
	require.Equal(t, heard{"delete b2 false", "update d1 d8", "update c1 c6", "delete c6 false", "update a1 a5", "add e7 false"}, h)
}

// Of one name, a change, an end and a beginning may come in one batch. The store, its
// readers and a handler that sleeps must come out of it as if they had come one by one.
func TestAChangeAnEndAndABeginningOfOneNameAreOneBatch(t *testing.T) {
	for _, next := range []*corev1.Pod{b4, nil} {
		var h heard
		i := NewInformer[*corev1.Pod](nil, InformerOptions[*corev1.Pod]{DetectMutations: func(was, _ *corev1.Pod) { t.Errorf("%s has changed", was.Name) }})
		other := podOn("other", "")
		i.apply(&Batch[*corev1.Pod]{Deltas: []Delta[*corev1.Pod]{keyed(added(a1)), keyed(added(other))}})
		l := newListener(h.handler(), HandlerOptions{Coalesce: true}, i.instruments)
		i.listeners = append(i.listeners, l)
		wait, err := i.versions.wait(KeyOf(a1), "3", func() string { return "1" })
		require.NoError(t, err)
		batch := Batch[*corev1.Pod]{Deltas: []Delta[*corev1.Pod]{keyed(updated(a1, a3)), keyed(deleted(a3, a3))}}
		want := heard{"update a1 a3", "delete a3 false"}
		if next != nil {
			batch.Deltas, want = append(batch.Deltas, keyed(added(next))), append(want, "add b4 false")
		}
		i.apply(&batch)
		require.True(t, caughtUp(wait), "the store is past version 3")
		is, there := i.store.Get(KeyOf(a1))
		require.Equal(t, next, is)
		require.Equal(t, next != nil, there)
		moved := podOn("other", "")
		i.apply(&Batch[*corev1.Pod]{Deltas: []Delta[*corev1.Pod]{keyed(updated(other, moved))}})
		require.Equal(t, 2, l.queue.len(), "a key takes one place in the backlog")
		for _, untold := range l.take(nil) {
			untold.deliver(h.handler())
		}
		require.Equal(t, append(want, "update  "), h)
	}
}

// A handler may come in the last moment, when nobody takes it in any more. Who waits for its
// end must not wait forever.
func TestAHandlerThatComesInTheLastMomentIsDone(t *testing.T) {
	i := applied(t)
	r, err := i.AddHandler(HandlerFuncs[*corev1.Pod]{}, HandlerOptions{})
	require.NoError(t, err)
	i.rejectLate()
	select {
	case <-r.Done():
	default:
		t.Fatal("it is not done")
	}
}

// A handler that ended its goroutine is removed, and must not go on collecting news.
func TestAnInformerForgetsAHandlerThatEndedItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := NewInformer[*corev1.Pod](nil, InformerOptions[*corev1.Pod]{RecoverPanics: true, OnPanic: func(HandlerPanic) {}})
		_, err := i.AddHandler(HandlerFuncs[*corev1.Pod]{Add: func(*corev1.Pod, bool) { runtime.Goexit() }}, HandlerOptions{})
		require.NoError(t, err)
		stop := looping(t, i)
		defer stop()
		i.queue.Replace([]*corev1.Pod{a1}, "1")
		synctest.Wait()
		require.Empty(t, i.listeners)
	})
}

// The period of one handler does not depend on those that have none.
func TestAHandlerGetsItsResyncAmongOthersWithALongerPeriodOrNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := applied(t)
		again := 0
		for _, handler := range []struct {
			funcs  HandlerFuncs[*corev1.Pod]
			resync time.Duration
		}{{}, {HandlerFuncs[*corev1.Pod]{Update: func(_, _ *corev1.Pod) { again++ }}, time.Minute}, {resync: time.Hour}, {}} {
			_, err := i.AddHandler(handler.funcs, HandlerOptions{Resync: handler.resync})
			require.NoError(t, err)
		}
		stop := looping(t, i)
		defer stop()
		i.queue.Replace([]*corev1.Pod{a1}, "1")
		time.Sleep(150 * time.Second)
		synctest.Wait()
		require.Equal(t, 2, again)
	})
}

// In a busy collection the queue may never be empty. Who asked for a resync gets it all the same.
func TestAResyncBeginsEvenIfChangesKeepComing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := applied(t)
		due := newListener(HandlerFuncs[*corev1.Pod]{}, HandlerOptions{Resync: time.Minute}, i.instruments)
		due.next = time.Now()
		i.listeners = []*listener[*corev1.Pod]{due}
		changes, begun := 0, false
		_, err := i.Store().AddIndex("another change", func(values []string, pod *corev1.Pod) []string {
			if changes++; changes < 50 {
				i.queue.Replace([]*corev1.Pod{podOn("web", strconv.Itoa(changes))}, strconv.Itoa(changes+1))
			} else if changes == 50 {
				begun = due.next.After(time.Now())
			}
			return values
		})
		require.NoError(t, err)
		i.queue.Replace([]*corev1.Pod{a1}, "1")
		stop := looping(t, i)
		synctest.Wait()
		stop()
		require.GreaterOrEqual(t, changes, 50)
		require.True(t, begun, "it waits until nothing changes any more")
	})
}
