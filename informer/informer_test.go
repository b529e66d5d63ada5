package informer

import (
	"context"
	"errors"
	"fmt"
	"runtime"
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
func inInformer(
	t *testing.T, options InformerOptions[*corev1.ConfigMap], test func(t *testing.T, w world,
		i *Informer[*corev1.ConfigMap], start, stop func()),
) {
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
		Add: func(c *corev1.ConfigMap, initial bool) { d.note("add %s %v", c.Name, initial) },
		Update: func(old, c *corev1.ConfigMap) {
			d.note("update %s %s->%s", c.Name, old.Data["value"], c.Data["value"])
		},
		Delete: func(c *corev1.ConfigMap, unknown bool) { d.note("delete %s %v", c.Name, unknown) },
	}
}

func add(
	t *testing.T, i *Informer[*corev1.ConfigMap], h Handler[*corev1.ConfigMap], o HandlerOptions,
) *Registration {
	t.Helper()
	r, err := i.AddHandler(h, o)
	require.NoError(t, err)
	return r
}

func TestALateHandlerIsToldOfWhatThereIsAndThenOfAllThatFollows(t *testing.T) {
	inInformer(t, InformerOptions[*corev1.ConfigMap]{}, func(t *testing.T, w world,
		i *Informer[*corev1.ConfigMap], start, _ func()) {
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
	inInformer(t, InformerOptions[*corev1.ConfigMap]{}, func(t *testing.T, w world,
		i *Informer[*corev1.ConfigMap], start, stop func()) {
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

// Whoever removes a handler that hangs gets on with their work, and it collects no more news. What
// the handler uses may be freed when it has returned.
func TestAHandlerThatHangsCanBeRemoved(t *testing.T) {
	inInformer(t, InformerOptions[*corev1.ConfigMap]{}, func(t *testing.T, w world,
		i *Informer[*corev1.ConfigMap], start, _ func()) {
		hang := make(chan struct{})
		goOn := sync.OnceFunc(func() { close(hang) })
		defer goOn()
		r := add(t, i, HandlerFuncs[*corev1.ConfigMap]{Add: func(*corev1.ConfigMap, bool) { <-hang }},
			HandlerOptions{})
		w.create(t, "a", nil)
		start()
		synctest.Wait()
		r.Remove()
		w.create(t, "b", nil)
		synctest.Wait()
		require.Equal(t, 1, r.Backlog().Pending, "the call in which it hangs")
		select {
		case <-r.Done():
			t.Fatal("it is done, and has not returned")
		default:
		}
		goOn()
		<-r.Done()
	})
}

// Nobody empties the backlog of a handler that has ended its goroutine. It must not grow.
func TestAHandlerThatEndsItsGoroutineIsForgotten(t *testing.T) {
	options := InformerOptions[*corev1.ConfigMap]{RecoverPanics: true, OnPanic: func(HandlerPanic) {}}
	inInformer(t, options, func(t *testing.T, w world,
		i *Informer[*corev1.ConfigMap], start, _ func()) {
		r := add(t, i, HandlerFuncs[*corev1.ConfigMap]{
			Add: func(*corev1.ConfigMap, bool) { runtime.Goexit() },
		}, HandlerOptions{})
		w.create(t, "a", nil)
		start()
		<-r.Done()
		synctest.Wait()
		w.create(t, "b", nil)
		synctest.Wait()
		require.Equal(t, 1, r.Backlog().Pending, "the call that has not returned")
	})
}

// A resync is for the one who asked for it.
func TestAResyncIsForTheHandlerThatAskedForIt(t *testing.T) {
	recorder := trace.New(64)
	inInformer(t, InformerOptions[*corev1.ConfigMap]{Recorder: recorder}, func(t *testing.T, w world,
		i *Informer[*corev1.ConfigMap], start, _ func()) {
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
	inInformer(t, InformerOptions[*corev1.ConfigMap]{}, func(t *testing.T, w world,
		i *Informer[*corev1.ConfigMap], start, stop func()) {
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
		stop()
		require.ErrorIs(t, i.WaitFor(t.Context(), keyIn(w.namespace, "c1"), "99999999"),
			errInformerStopped)
	})
}

// What the store holds already need not be waited for, whether the informer has
// stopped or not. Who gives up in the moment of being woken must not panic.
func TestAWaitThatIsMetDoesNotLookWhetherTheInformerRuns(t *testing.T) {
	inInformer(t, InformerOptions[*corev1.ConfigMap]{}, func(t *testing.T, w world,
		i *Informer[*corev1.ConfigMap], start, stop func()) {
		written := w.create(t, "a", nil)
		start()
		require.NoError(t, i.WaitForSync(t.Context()))
		stop()
		for range 100 { // a select would pick at random
			require.NoError(t, i.WaitFor(t.Context(), KeyOf(written), written.ResourceVersion))
		}
	})
}

// A handler reads its own writes, and the informer is stopped meanwhile. Run waits for
// the handler; so the handler must not wait for Run.
func TestAHandlerMayWaitForItsInformer(t *testing.T) {
	inInformer(t, InformerOptions[*corev1.ConfigMap]{}, func(t *testing.T, w world,
		i *Informer[*corev1.ConfigMap], start, stop func()) {
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
	inInformer(t, InformerOptions[*corev1.ConfigMap]{Metrics: metrics}, func(t *testing.T, _ world,
		i *Informer[*corev1.ConfigMap], start, stop func()) {
		r := add(t, i, HandlerFuncs[*corev1.ConfigMap]{}, HandlerOptions{Name: "early"})
		require.Len(t, metrics.read, 1)
		r.Remove()
		r.Remove()
		<-r.Done()
		require.Empty(t, metrics.read)
		start()
		synctest.Wait()
		stop()
	})
}

// A program that runs for a limited time has not failed when the time is over.
func TestTheEndOfTheTimeIsNoFailureOfAnInformer(t *testing.T) {
	inInformer(t, InformerOptions[*corev1.ConfigMap]{}, func(t *testing.T, _ world,
		i *Informer[*corev1.ConfigMap], _, _ func()) {
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
	inInformer(t, options, func(t *testing.T, w world, i *Informer[*corev1.ConfigMap], start,
		stop func()) {
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
		i := NewInformer(ListerWatcher[*corev1.ConfigMap](w.listWatch(t, ListWatchOptions{})),
			InformerOptions[*corev1.ConfigMap]{
				Reflector: ReflectorOptions{GiveUp: func(err error) bool {
					var refused *RefusedError
					return errors.As(err, &refused)
				}},
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

// Somebody who reads the recorder of an informer sees its whole way: what trouble the reflector
// had, and that the first list has reached the store.
func TestTheRecorderOfAnInformerIsThatOfItsReflector(t *testing.T) {
	trouble, synced := trace.Filter{Layer: "reflector"},
		trace.Filter{Kinds: []trace.Kind{trace.Synced}}
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
	require.Equal(t, []any{"informer", "ConfigMap", 2}, []any{said[0].Layer, said[0].Object,
		said[0].Count})

	its, the := trace.New(64), trace.New(64)
	play(t, InformerOptions[*corev1.ConfigMap]{Recorder: its,
		Reflector: ReflectorOptions{Recorder: the}})
	require.NotEmpty(t, trouble.Select(the.Events()), "the reflector was given a recorder of its own")
	require.Empty(t, trouble.Select(its.Events()))
	require.Len(t, synced.Select(its.Events()), 1)
}

// A wait that fails says what the informer was doing. And a wait for what is there does not
// fail, even if its time is over.
func TestAWaitForTheFirstListSaysWhatItWaitedFor(t *testing.T) {
	inInformer(t, InformerOptions[*corev1.ConfigMap]{}, func(t *testing.T, _ world,
		i *Informer[*corev1.ConfigMap], start, _ func()) {
		over, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("enough"))
		err := i.WaitForSync(over)
		require.EqualError(t, err, "waiting for ConfigMap: not synced, the reflector is "+
			""+i.Health().State.String()+": enough")
		start()
		require.NoError(t, i.WaitForSync(t.Context()))
		for range 100 { // a select would pick at random
			require.NoError(t, i.WaitForSync(over))
		}
	})
}

// A probe asks an informer how its reading is doing.
func TestTheHealthOfAnInformerIsThatOfItsReflector(t *testing.T) {
	inInformer(t, InformerOptions[*corev1.ConfigMap]{}, func(t *testing.T, w world,
		i *Informer[*corev1.ConfigMap], start, _ func()) {
		w.create(t, "a", nil)
		require.False(t, i.Health().Synced)
		start()
		require.NoError(t, i.WaitForSync(t.Context()))
		synctest.Wait()
		require.True(t, i.Health().Synced)
		require.Equal(t, StateWatching, i.Health().State)
	})
}

// slowToEnd is a server whose requests end a second after they were cancelled.
type slowToEnd struct{ ended int }

func (s *slowToEnd) List(ctx context.Context, _ metav1.ListOptions) (*List[*corev1.Pod], error) {
	<-ctx.Done()
	time.Sleep(time.Second)
	s.ended++
	return nil, context.Cause(ctx)
}

func (s *slowToEnd) Watch(ctx context.Context, _ metav1.ListOptions) (Watch[*corev1.Pod], error) {
	_, err := s.List(ctx, metav1.ListOptions{})
	return nil, err
}

// When Run has returned, its caller frees what the informer uses, the connection above all.
func TestRunReturnsWhenTheLastRequestHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var server slowToEnd
		i := NewInformer[*corev1.Pod](&server, InformerOptions[*corev1.Pod]{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.NoError(t, i.Run(ctx))
		require.Equal(t, 1, server.ended, "a request goes on")
	})
}
