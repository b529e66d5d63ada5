package informer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/trace"
)

// inInformer runs a test in a synctest bubble, with an informer of ConfigMaps that
// is not running yet. start runs it; stop ends it and is called in any case.
func inInformer(t *testing.T, options InformerOptions[*corev1.ConfigMap], test func(t *testing.T, w world, i *Informer[*corev1.ConfigMap], start, stop func())) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		w := newWorld(t, server.Config(), metav1.NamespaceDefault)
		i := NewInformer(ListerWatcher[*corev1.ConfigMap](w.listWatch(t, ListWatchOptions{})), options)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		stop := func() { cancel(); running.Wait() }
		defer stop()
		test(t, w, i, func() { running.Go(func() { _ = i.Run(ctx) }) }, stop)
	})
}

// diary writes down what it is told. Only its handler's goroutine writes; it is
// read when the bubble is still.
type diary struct {
	lines []string
	mu    sync.Mutex
}

func (d *diary) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *diary) read() []string {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	lines := d.lines
	d.lines = nil
	return lines
}

func (d *diary) handler() Handler[*corev1.ConfigMap] {
	return HandlerFuncs[*corev1.ConfigMap]{
		Add:    func(c *corev1.ConfigMap, initial bool) { d.note("add %s %v", c.Name, initial) },
		Update: func(old, c *corev1.ConfigMap) { d.note("update %s %s->%s", c.Name, old.Data["value"], c.Data["value"]) },
		Delete: func(c *corev1.ConfigMap, unknown bool) { d.note("delete %s %v", c.Name, unknown) },
	}
}

func add(t *testing.T, i *Informer[*corev1.ConfigMap], h Handler[*corev1.ConfigMap], o HandlerOptions) *Registration {
	t.Helper()
	r, err := i.AddHandler(h, o)
	require.NoError(t, err)
	return r
}

func TestALateHandlerIsToldOfWhatThereIsAndThenOfAllThatFollows(t *testing.T) {
	inInformer(t, InformerOptions[*corev1.ConfigMap]{}, func(t *testing.T, w world, i *Informer[*corev1.ConfigMap], start, _ func()) {
		var early, late diary
		first := add(t, i, early.handler(), HandlerOptions{})
		require.False(t, first.HasSynced())
		w.create(t, "a", nil)
		start()
		require.NoError(t, i.WaitForSync(t.Context()))
		<-first.Synced()
		w.create(t, "b", nil)
		require.Equal(t, []string{"add a true", "add b false"}, early.read())
		second := add(t, i, late.handler(), HandlerOptions{})
		<-second.Synced()
		require.ElementsMatch(t, []string{"add a true", "add b true"}, late.read())
		w.change(t, "a", 1)
		w.delete(t, "b")
		require.Equal(t, []string{"update a ->1", "delete b false"}, late.read())
		require.Equal(t, []string{"update a ->1", "delete b false"}, early.read())
	})
}

func TestARemovedHandlerIsNotCalledAnyMore(t *testing.T) {
	inInformer(t, InformerOptions[*corev1.ConfigMap]{}, func(t *testing.T, w world, i *Informer[*corev1.ConfigMap], start, stop func()) {
		var removed, stays diary
		r := add(t, i, removed.handler(), HandlerOptions{})
		add(t, i, stays.handler(), HandlerOptions{})
		start()
		w.create(t, "a", nil)
		require.Len(t, removed.read(), 1)
		r.Remove()
		r.Remove()
		<-r.Done()
		w.create(t, "b", nil)
		require.Len(t, stays.read(), 2)
		require.Empty(t, removed.read())
		require.Len(t, i.listeners, 1)
		stop()
		_, err := i.AddHandler(removed.handler(), HandlerOptions{Name: "late"})
		require.EqualError(t, err, `adding handler "late": the informer has stopped`)
		require.ErrorIs(t, i.Run(t.Context()), errInformerRan)
	})
}

// A resync is for the one who asked for it.
func TestAResyncIsForTheHandlerThatAskedForIt(t *testing.T) {
	recorder := trace.New(64)
	inInformer(t, InformerOptions[*corev1.ConfigMap]{Recorder: recorder}, func(t *testing.T, w world, i *Informer[*corev1.ConfigMap], start, _ func()) {
		var asks, does diary
		add(t, i, asks.handler(), HandlerOptions{Name: "asks", Resync: 10 * time.Second})
		add(t, i, does.handler(), HandlerOptions{})
		w.create(t, "a", nil)
		w.create(t, "b", nil)
		start()
		require.Len(t, asks.read(), 2)
		require.Len(t, does.read(), 2)
		time.Sleep(35 * time.Second)
		require.Len(t, asks.read(), 6, "three resyncs of two objects")
		require.Empty(t, does.read())
		resyncs := 0
		for _, event := range recorder.Events() {
			if event.Kind == trace.Resync {
				resyncs++
			}
		}
		require.Equal(t, 3, resyncs)
	})
}

// After a write, a read from the cache must not be older than the write; and the
// wait ends when the event comes, not at the next look.
func TestWhoWaitsForTheirWriteReadsIt(t *testing.T) {
	inInformer(t, InformerOptions[*corev1.ConfigMap]{}, func(t *testing.T, w world, i *Informer[*corev1.ConfigMap], start, stop func()) {
		start()
		require.NoError(t, i.WaitForSync(t.Context()))
		lister := i.Lister(configMapResource.GroupResource())
		for n := range 20 {
			name := fmt.Sprint("c", n%3)
			var written *corev1.ConfigMap
			if n < 3 {
				written = w.create(t, name, nil)
			} else {
				written = w.change(t, name, n)
			}
			require.NoError(t, i.WaitFor(t.Context(), KeyOf(written), written.ResourceVersion))
			cached, err := lister.Get(w.namespace, name)
			require.NoError(t, err)
			require.Equal(t, written.ResourceVersion, cached.ResourceVersion)
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("enough"))
		defer cancel()
		err := i.WaitFor(ctx, keyIn(w.namespace, "c1"), "99999999")
		require.EqualError(t, err, "waiting for default/c1 at resourceVersion 99999999: enough")
		require.Empty(t, i.versions.waits)
		stop()
		require.ErrorIs(t, i.WaitFor(t.Context(), keyIn(w.namespace, "c1"), "99999999"), errInformerStopped)
	})
}

// What the store holds already need not be waited for, whether the informer has
// stopped or not. Who gives up in the moment of being woken must not panic.
func TestAWaitThatIsMetDoesNotLookWhetherTheInformerRuns(t *testing.T) {
	inInformer(t, InformerOptions[*corev1.ConfigMap]{}, func(t *testing.T, w world, i *Informer[*corev1.ConfigMap], start, stop func()) {
		written := w.create(t, "a", nil)
		start()
		require.NoError(t, i.WaitForSync(t.Context()))
		stop()
		for range 100 { // a select would pick at random
			require.NoError(t, i.WaitFor(t.Context(), KeyOf(written), written.ResourceVersion))
		}
		i.versions.cancel(KeyOf(written), &versionWait{})
	})
}

// A handler reads its own writes, and the informer is stopped meanwhile. Run waits for
// the handler; so the handler must not wait for Run.
func TestAHandlerMayWaitForItsInformer(t *testing.T) {
	inInformer(t, InformerOptions[*corev1.ConfigMap]{}, func(t *testing.T, w world, i *Informer[*corev1.ConfigMap], start, stop func()) {
		var waiting, joining error
		add(t, i, HandlerFuncs[*corev1.ConfigMap]{Add: func(c *corev1.ConfigMap, _ bool) {
			waiting = i.WaitFor(context.Background(), KeyOf(c), "99999999")
			_, joining = i.AddHandler(HandlerFuncs[*corev1.ConfigMap]{}, HandlerOptions{})
		}}, HandlerOptions{})
		w.create(t, "a", nil)
		start()
		synctest.Wait()
		stop()
		require.ErrorIs(t, waiting, errInformerStopped)
		require.ErrorIs(t, joining, errInformerStopped, "its Done would never be closed")
	})
}

func TestAHandlerThatIsRemovedBeforeTheInformerRunsIsDone(t *testing.T) {
	metrics := &gauges{read: map[string]func() float64{}}
	inInformer(t, InformerOptions[*corev1.ConfigMap]{Metrics: metrics}, func(t *testing.T, _ world, i *Informer[*corev1.ConfigMap], start, stop func()) {
		r := add(t, i, HandlerFuncs[*corev1.ConfigMap]{}, HandlerOptions{Name: "early"})
		require.Len(t, metrics.read, 1)
		r.Remove()
		r.Remove()
		<-r.Done()
		require.Empty(t, metrics.read)
		require.Empty(t, i.joining)
		start()
		synctest.Wait()
		stop()
	})
}

// A program that runs for a limited time has not failed when the time is over.
func TestTheEndOfTheTimeIsNoFailureOfAnInformer(t *testing.T) {
	inInformer(t, InformerOptions[*corev1.ConfigMap]{}, func(t *testing.T, _ world, i *Informer[*corev1.ConfigMap], _, _ func()) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.NoError(t, i.Run(ctx))
	})
}

func TestWhoChangesACachedObjectIsFoundOut(t *testing.T) {
	var found []string
	options := InformerOptions[*corev1.ConfigMap]{DetectMutations: func(was, is *corev1.ConfigMap) {
		found = append(found, fmt.Sprintf("%s: %q is %q", was.Name, was.Data["value"], is.Data["value"]))
	}}
	inInformer(t, options, func(t *testing.T, w world, i *Informer[*corev1.ConfigMap], start, stop func()) {
		w.create(t, "a", nil)
		w.create(t, "b", nil)
		start()
		require.NoError(t, i.WaitForSync(t.Context()))
		synctest.Wait()
		cached, _ := i.Store().Get(keyIn(w.namespace, "a"))
		cached.Data = map[string]string{"value": "mine"}
		stop()
		require.Equal(t, []string{`a: "" is "mine"`}, found)
	})
}

// A CustomResourceDefinition is deleted under its informer: who asked for it gets
// an informer that stops, and an error that says why.
func TestAnInformerWhoseKindIsDeletedStopsAndSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		w := newWorld(t, server.Config(), metav1.NamespaceDefault)
		i := NewInformer(ListerWatcher[*corev1.ConfigMap](w.listWatch(t, ListWatchOptions{})), InformerOptions[*corev1.ConfigMap]{
			Reflector: ReflectorOptions{GiveUp: func(err error) bool { var refused *RefusedError; return errors.As(err, &refused) }},
		})
		var told diary
		add(t, i, told.handler(), HandlerOptions{})
		w.create(t, "a", nil)
		ended := make(chan error, 1)
		go func() { ended <- i.Run(t.Context()) }()
		require.Equal(t, []string{"add a true"}, told.read())
		server.Unregister(configMapResource)
		err := <-ended
		require.True(t, apierrors.IsNotFound(err), "%v", err)
		require.Equal(t, []string{"delete a false"}, told.read())
		require.Zero(t, i.Store().Len())
		_, err = i.AddHandler(told.handler(), HandlerOptions{})
		require.ErrorIs(t, err, errInformerStopped)
	})
}

// A deletion and another object of the same name may come as one batch. The store goes
// from one object to the other at once; so whoever waits for a version in between must
// not be woken before, or would read the object as it was before the write.
func TestAWaitIsNotMetWhileTheStoreHoldsTheObjectBeforeTheWrite(t *testing.T) {
	i := NewInformer[*corev1.Pod](reads[*corev1.Pod](t, nil, podResource), InformerOptions[*corev1.Pod]{})
	old, another := podAt("a", "4"), podAt("b", "7")
	key := KeyOf(old)
	i.apply(&Batch[*corev1.Pod]{Deltas: []Delta[*corev1.Pod]{{Type: DeltaAdded, Key: key, Object: old}}})
	wait, err := i.versions.wait(key, "5", func() string { return "4" })
	require.NoError(t, err)
	looked := false
	_, err = i.Store().AddIndex("look", func(values []string, pod *corev1.Pod) []string {
		if pod == another { // it is about to be stored
			looked = true
			held, _ := i.store.Get(key)
			require.Same(t, old, held)
			require.False(t, caughtUp(wait), "the wait for version 5 is over, and the store still holds version 4")
		}
		return values
	})
	require.NoError(t, err)
	i.apply(&Batch[*corev1.Pod]{Deltas: []Delta[*corev1.Pod]{
		{Type: DeltaDeleted, Key: key, Old: old, Object: podAt("a", "6")},
		{Type: DeltaAdded, Key: key, Object: another},
	}})
	require.True(t, looked)
	require.True(t, caughtUp(wait), "the store holds another object since: the wait must end")
}
