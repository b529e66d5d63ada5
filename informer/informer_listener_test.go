package informer

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/internal/tests/inorder"
	"github.com/loopwright/loopwright/trace"
)

type podFuncs = HandlerFuncs[*corev1.Pod]

// inListener runs a test in a synctest bubble, with a listener that is not running
// yet. start runs it; its end comes with the test's.
func inListener(
	t *testing.T, handler podFuncs, test func(l *listener[*corev1.Pod], reported *[]HandlerPanic,
		start func()),
) {
	synctest.Test(t, func(t *testing.T) {
		var reported []HandlerPanic
		l := newListener(Handler[*corev1.Pod](handler), HandlerOptions{},
			instruments{onPanic: func(p HandlerPanic) { reported = append(reported, p) },
				recoverPanics: true})
		var running sync.WaitGroup
		defer running.Wait()
		defer l.stop()
		test(l, &reported, func() { running.Go(l.run); synctest.Wait() })
	})
}

// anotherTakesTheName makes two calls of one entry: OnDelete of a2, OnAdd of b4.
func anotherTakesTheName(l *listener[*corev1.Pod]) {
	l.queue.coalesces = true
	l.push([]delta[*corev1.Pod]{deleted(a1, a2), added(b4)}, true)
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
	l.push([]delta[*corev1.Pod]{updated(a1, a2), deleted(a2, a3), added(b4)}, true)
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
		remove = l.stop
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
		l.push([]delta[*corev1.Pod]{added(a1), updated(a1, a2), deleted(a1, a2)}, true)
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
		remove = l.stop
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
		remove = l.stop
		for range 10 {
			l.push([]delta[*corev1.Pod]{added(a1)}, false)
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
	inListener(t, podFuncs{Add: func(*corev1.Pod, bool) { runtime.Goexit() }},
		func(l *listener[*corev1.Pod], reported *[]HandlerPanic, start func()) {
			l.push([]delta[*corev1.Pod]{added(a1)}, true)
			start()
			<-l.done
			require.True(t, l.isStopped())
			require.Len(t, *reported, 1)
			require.Equal(t, errGoexit, (*reported)[0].Value)
			require.Contains(t, string((*reported)[0].Stack), "informer_listener_test.go")
		})
}

// A resync each nanosecond would be all that the informer does.
func TestTheShortestResyncPeriodIsASecond(t *testing.T) {
	for asked, given := range inorder.Map(map[time.Duration]time.Duration{0: 0, 1: time.Second,
		time.Minute: time.Minute}) {
		l := newListener(Handler[*corev1.Pod](podFuncs{}), HandlerOptions{Resync: asked}, instruments{})
		require.Equal(t, given, l.options.Resync)
	}
}

// One handler that hangs must not take the others with it. When it goes on, it hears of each
// state that somebody else may have read; or, if it coalesces, of the newest, and then it must not
// take memory without end.
func TestASlowHandlerHoldsUpNobodyAndHearsOfWhatItMissed(t *testing.T) {
	var all []string
	for n := range 50 {
		all = append(all, fmt.Sprintf("update a %s->%d", before(n), n), fmt.Sprintf("update b %s->%d",
			before(n), n), "add passing", "delete passing")
	}
	t.Run("by default", func(t *testing.T) {
		testASlowHandler(t, HandlerOptions{}, 202, append([]string{"add a", "add b"}, all...))
	})
	t.Run("with Coalesce", func(t *testing.T) {
		testASlowHandler(t, HandlerOptions{Coalesce: true}, 4, []string{"add a", "add b",
			"update a ->49", "add passing", "delete passing"})
	})
}

func before(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n - 1)
}

func testASlowHandler(t *testing.T, options HandlerOptions, deepest int, told []string) {
	inInformer(t, InformerOptions[*corev1.ConfigMap]{}, func(t *testing.T, w world,
		i *Informer[*corev1.ConfigMap], start, _ func()) {
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
		t.Run(fmt.Sprintf("Coalesce %v", coalesce), func(t *testing.T) {
			testAChangeBeforeTheEnd(t, coalesce)
		})
	}
}

func testAChangeBeforeTheEnd(t *testing.T, coalesce bool) {
	inInformer(t, InformerOptions[*corev1.ConfigMap]{}, func(t *testing.T, w world,
		i *Informer[*corev1.ConfigMap], start, _ func()) {
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
		require.Equal(t, []string{"update moved 1->2", "delete moved false", "delete plain false"},
			slow.read())
	})
}

func TestAPanicOfAHandlerIsReportedAndSurvived(t *testing.T) {
	var reported []HandlerPanic
	options := InformerOptions[*corev1.ConfigMap]{RecoverPanics: true,
		OnPanic: func(p HandlerPanic) { reported = append(reported, p) }}
	inInformer(t, options, func(t *testing.T, w world, i *Informer[*corev1.ConfigMap], start,
		_ func()) {
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

// The flight recorder answers whether a handler was told of a change, and which.
func TestTheRecorderSaysWhatEachHandlerIsTold(t *testing.T) {
	for name, layer := range inorder.Map(map[string]string{"": "listener", "mine": "mine"}) {
		synctest.Test(t, func(t *testing.T) {
			recorder := trace.New(16)
			l := newListener(Handler[*corev1.Pod](podFuncs{}), HandlerOptions{Name: name},
				instruments{recorder: recorder, kind: "Pod"})
			l.push([]delta[*corev1.Pod]{added(a1), updated(a1, a2), deleted(a1, a2)}, true)
			l.queue.coalesces = true
			for n, deltas := range [][]delta[*corev1.Pod]{
				{deleted(a1, a2), added(b4)},
				{updated(a1, a2), deleted(a2, a3)},
				{updated(a1, a2), deleted(a2, a3), added(b4)},
				{added(a1), deleted(a1, a2)},
				{added(a1), deleted(a1, a2), added(b4)},
			} {
				for i := range deltas { // each under a name of its own
					deltas[i].object = deltas[i].object.DeepCopy()
					deltas[i].object.Name = strconv.Itoa(n)
				}
				l.push(deltas, true)
			}
			var running sync.WaitGroup
			running.Go(l.run)
			synctest.Wait()
			l.stop()
			running.Wait()
			var told []string
			for _, event := range recorder.Events() {
				require.Equal(t, trace.Notified, event.Kind)
				require.Equal(t, []string{layer, "Pod", "shop"}, []string{event.Layer, event.Object,
					event.Namespace})
				told = append(told, event.Op+" "+event.Version)
			}
			require.Equal(t, []string{"add 1", "update 2", "delete 2", "delete and add 4",
				"update and delete 3", "update, delete and add 4", "add and delete 2",
				"add, delete and add 4"}, told)
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
		l.stop()
	}}, func(the *listener[*corev1.Pod], _ *[]HandlerPanic, start func()) {
		l = the
		l.instruments.recorder = recorder
		l.push([]delta[*corev1.Pod]{added(a1), added(b4)}, true)
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
		Add: func(*corev1.Pod, bool) { l.push([]delta[*corev1.Pod]{updated(a1, a2)}, true) },
		Update: func(*corev1.Pod, *corev1.Pod) {
			select {
			case <-l.synced:
			default:
				if calls++; calls < 1000 {
					l.push([]delta[*corev1.Pod]{updated(a1, a2)}, true)
				}
			}
		},
	}, func(the *listener[*corev1.Pod], _ *[]HandlerPanic, start func()) {
		l = the
		first := added(a1)
		first.initial = true
		l.push([]delta[*corev1.Pod]{first}, true)
		start()
		require.Less(t, calls, 1000, "it was not synced before it was idle")
	})
}

// News may come while the listener is between its look into the backlog and its wait. If nothing
// wakes it then, the handler hears of the change with the next one, in a year.
func TestNewsWakesAListenerThatDoesNotWaitYet(t *testing.T) {
	l := newListener(Handler[*corev1.Pod](podFuncs{}), HandlerOptions{}, instruments{})
	l.push([]delta[*corev1.Pod]{added(a1)}, true)
	select {
	case <-l.news:
	default:
		t.Fatal("the wake-up is lost")
	}
}

// A controller begins to work when its handler is synced. If that is said too early, it takes
// what it has not heard of yet for missing, and makes it again.
func TestAHandlerIsSyncedWhenItHasReturnedFromTheLastInitialCall(t *testing.T) {
	const objects = 200
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
			first.initial = true
			l.push([]delta[*corev1.Pod]{first}, n == objects-1)
		}
		synctest.Wait()
		require.Equal(t, objects, calls)
		require.True(t, isSynced())
	})
}

// A handler may have nothing to do for a day. The last objects that it was told must not stay
// in memory for so long.
func TestAListenerThatHasCaughtUpHoldsNoObject(t *testing.T) {
	inListener(t, podFuncs{}, func(l *listener[*corev1.Pod], _ *[]HandlerPanic, start func()) {
		pod := podOn("large", "")
		held := weak.Make(pod)
		l.push([]delta[*corev1.Pod]{added(pod)}, true)
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

// crashVariable says, in the environment of a process of its own, how the handler is
// to end there.
const crashVariable = "LOOPWRIGHT_TEST_CRASH"

// A handler that panics has lost a change: a controller that goes on with it looks
// healthy, and never does what the change asked for. A process that crashes starts
// over with a complete list.
func TestAPanicOfAHandlerCrashesTheProcess(t *testing.T) {
	if how := os.Getenv(crashVariable); how != "" {
		endHandler(how)
		return
	}
	for _, c := range []struct {
		name, how string
		output    []string
	}{
		{"by default", "panic", []string{"panic: a bug", "ERROR a handler panicked", "handler=buggy",
			"object=shop/web", "endHandler"}},
		{"after it was reported", "panic, reported", []string{"reported: buggy shop/web a bug",
			"panic: a bug", "endHandler"}},
		{"if the handler ends its goroutine", "goexit",
			[]string{"panic: the handler ended its goroutine", "handler=buggy"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			output, err := runSelf(t, c.how)
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit, "the process goes on without the change; it said: %s", output)
			require.Equal(t, 2, exit.ExitCode(), "it did not crash by a panic: %s", output)
			for _, part := range c.output {
				require.Contains(t, output, part)
			}
			require.NotContains(t, output, "the handler is done")
			require.Equal(t, c.how == "goexit", strings.Contains(output, errGoexit.Error()),
				"who reads the report must learn which of the two it was: %s", output)
		})
	}
}

func TestAPanicIsSurvivedByThoseWhoAskForIt(t *testing.T) {
	for _, how := range []string{"panic, recovered", "goexit, recovered"} {
		t.Run(how, func(t *testing.T) {
			output, err := runSelf(t, how)
			require.NoError(t, err, output)
			require.Contains(t, output, "the handler is done")
			require.Contains(t, output, "handler=buggy", "a panic that is survived must be reported")
		})
	}
}

// runSelf runs the test of the crash in a process of its own.
func runSelf(t *testing.T, how string) (output string, err error) {
	command := exec.CommandContext(t.Context(), os.Args[0],
		"-test.run=^TestAPanicOfAHandlerCrashesTheProcess$", "-test.short")
	command.Env = append(os.Environ(), crashVariable+"="+how)
	combined, err := command.CombinedOutput()
	return string(combined), err
}

// endHandler runs an informer with one object, and a handler that ends as it is told to.
func endHandler(how string) {
	options := InformerOptions[*corev1.Pod]{RecoverPanics: how == "panic, recovered" ||
		how == "goexit, recovered"}
	if how == "panic, reported" {
		options.OnPanic = func(p HandlerPanic) { fmt.Println("reported:", p.Handler, p.Key, p.Value) }
	}
	i := handFed(options)
	registration, err := i.AddHandler(HandlerFuncs[*corev1.Pod]{Add: func(*corev1.Pod, bool) {
		if how == "goexit" || how == "goexit, recovered" {
			runtime.Goexit()
		}
		panic("a bug")
	}}, HandlerOptions{Name: "buggy"})
	if err != nil {
		panic(err)
	}
	i.Replace([]*corev1.Pod{podAt("a", "1")}, "1")
	i.startHandlers()
	if how == "panic, recovered" {
		<-registration.Synced() // the call has ended, and the listener goes on
	} else {
		<-registration.Done()
	}
	fmt.Println("the handler is done")
	i.stopHandlers()
}

// gauges is a MetricsProvider that remembers what it was given.
type gauges struct {
	mu   sync.Mutex // guards read
	read map[string]func() float64
}

func (g *gauges) Gauge(metric, kind, handler string, read func() float64) func() {
	g.mu.Lock()
	defer g.mu.Unlock()
	name := metric + " " + kind + " " + handler
	g.read[name] = read
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.read, name)
	}
}

func (g *gauges) value(t *testing.T, name string) float64 {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	require.Contains(t, g.read, name)
	return g.read[name]()
}

// Nobody looks at a Registration while a cluster is in trouble. A dashboard must
// show which handler hangs, and how far it is behind.
func TestTheBacklogOfEachHandlerIsAMetric(t *testing.T) {
	metrics := &gauges{read: map[string]func() float64{}}
	inInformer(t, InformerOptions[*corev1.ConfigMap]{Metrics: metrics}, func(t *testing.T, w world,
		i *Informer[*corev1.ConfigMap], start, stop func()) {
		const hangs, quick = "informer_handler_backlog ConfigMap hangs",
			"informer_handler_backlog ConfigMap quick"
		hang := make(chan struct{})
		goOn := sync.OnceFunc(func() { close(hang) })
		defer goOn()
		hanging := HandlerFuncs[*corev1.ConfigMap]{Add: func(*corev1.ConfigMap, bool) { <-hang }}
		add(t, i, hanging, HandlerOptions{Name: "hangs"})
		add(t, i, hanging, HandlerOptions{Name: "coalesces", Coalesce: true})
		registration := add(t, i, HandlerFuncs[*corev1.ConfigMap]{}, HandlerOptions{Name: "quick"})
		start()
		w.create(t, "a", nil)
		synctest.Wait()
		require.Equal(t, 1.0, metrics.value(t, hangs),
			"a handler that hangs in its only call must not look like one that is done")
		for _, name := range []string{"b", "c", "d"} {
			w.create(t, name, nil)
		}
		for n := range 10 {
			w.change(t, "b", n)
			synctest.Wait()
		}
		require.Equal(t, 14.0, metrics.value(t, hangs),
			"the three, ten changes, and the call that it hangs in")
		require.Equal(t, 4.0, metrics.value(t, "informer_handler_backlog ConfigMap coalesces"),
			"the three, and the one that it hangs in")
		require.Zero(t, metrics.value(t, quick))

		registration.Remove()
		<-registration.Done()
		require.NotContains(t, metrics.read, quick, "a handler that is gone must leave the dashboard")
		goOn()
		stop()
		require.Empty(t, metrics.read)
	})
}

func TestAHandlerThatComesTooLateLeavesNoMetric(t *testing.T) {
	metrics := &gauges{read: map[string]func() float64{}}
	inInformer(t, InformerOptions[*corev1.ConfigMap]{Metrics: metrics}, func(t *testing.T, w world,
		i *Informer[*corev1.ConfigMap], start, stop func()) {
		start()
		stop()
		_, err := i.AddHandler(HandlerFuncs[*corev1.ConfigMap]{}, HandlerOptions{Name: "late"})
		require.ErrorIs(t, err, errInformerStopped)
		require.Empty(t, metrics.read)
	})
}

// noteOfTheEnd is a MetricsProvider that looks, when it is told to forget a handler,
// whether the handler's end has been announced.
type noteOfTheEnd struct {
	done    <-chan struct{}
	forgets int
	tooLate bool
}

func (n *noteOfTheEnd) Gauge(string, string, string, func() float64) func() {
	return func() {
		n.forgets++
		select {
		case <-n.done:
			n.tooLate = true
		default:
		}
	}
}

// Who waits for Done, and adds a handler of the same name then, must find the name free.
func TestAHandlerLeavesTheDashboardBeforeItIsDone(t *testing.T) {
	var metrics noteOfTheEnd
	l := newListener(Handler[*corev1.Pod](podFuncs{}), HandlerOptions{},
		instruments{metrics: &metrics})
	metrics.done = l.done
	l.end()
	require.Equal(t, 1, metrics.forgets)
	require.False(t, metrics.tooLate, "Done was closed while the gauge was still there")
	<-l.done
}
