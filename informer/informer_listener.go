package informer

import (
	"cmp"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/loopwright/loopwright/trace"
)

// listener is a handler with a backlog and a goroutine of its own, so that it blocks
// neither the informer nor other handlers.
//
// client-go's has two goroutines, with two channels and a ring buffer between them.
type listener[T Object] struct {
	handler     Handler[T]
	options     HandlerOptions
	instruments instruments

	// sent to by push, received by work; one, because the queue holds the news itself
	news    chan struct{}
	synced  chan struct{} // closed by take
	stopped chan struct{} // closed by stop
	done    chan struct{} // closed by end, which run calls, or the informer if it never ran
	stop    func()
	forget  func() // its metrics; nil if there are none
	resync  func() // pushes all objects of the store

	crashing bool // used by run only

	mu      sync.Mutex // guards what follows
	queue   pendingNotifications[T]
	calling bool // a notification was taken, and is not delivered yet
	counts  BacklogStats
	// no more objects of the initial list will come
	initialComplete bool
}

// instruments is what an informer's parts report to.
type instruments struct {
	recorder      *trace.Recorder
	kind          string
	onPanic       func(HandlerPanic)
	recoverPanics bool
	metrics       MetricsProvider // or nil
}

// leastResync is the shortest period of a resync, as in client-go. A period that is
// shorter than one walk through the store would keep the informer from all else.
const leastResync = time.Second

func newListener[T Object](
	handler Handler[T], options HandlerOptions, instruments instruments,
) *listener[T] {
	if options.Resync > 0 {
		options.Resync = max(options.Resync, leastResync)
	}
	l := &listener[T]{
		handler: handler, options: options, instruments: instruments,
		news: make(chan struct{}, 1), synced: make(chan struct{}),
		stopped: make(chan struct{}), done: make(chan struct{}),
		queue: pendingNotifications[T]{coalesces: options.Coalesce},
	}
	l.stop = sync.OnceFunc(func() { close(l.stopped) })
	if instruments.metrics != nil {
		l.register(instruments.metrics)
	}
	return l
}

// push adds deltas to the queue. It never waits for the handler. initialComplete
// says that no more objects of the initial list will come.
func (l *listener[T]) push(deltas []delta[T], initialComplete bool) {
	l.mu.Lock()
	for _, d := range deltas {
		l.queue.add(d)
	}
	l.counts.Deepest = max(l.counts.Deepest, l.pendingLocked())
	l.initialComplete = l.initialComplete || initialComplete
	l.mu.Unlock()
	select {
	case l.news <- struct{}{}:
	default:
	}
}

// run calls the handler until the listener is stopped. If the handler ends the goroutine,
// nobody empties the queue any more. So that is a crash, too, or, with RecoverPanics,
// removes the handler.
func (l *listener[T]) run() {
	returned := false
	defer func() {
		if l.crashing {
			return // the panic goes on
		}
		if !returned {
			l.report(Key{}, errGoexit)
			l.crash(errGoexit)
		}
		l.stop()
		l.end()
	}()
	l.work()
	returned = true
}

func (l *listener[T]) work() {
	var resync <-chan time.Time // never, if there is no period
	if l.options.Resync > 0 {
		ticker := time.NewTicker(l.options.Resync)
		defer ticker.Stop()
		resync = ticker.C
	}
	caller := &handlerCaller[T]{l}
	for !l.isStopped() {
		select {
		case <-resync: // even if there is always something to do
			l.resync()
		default:
		}
		if n := l.take(); n != nil {
			if l.instruments.recorder.On() {
				l.record(n)
			}
			n.deliver(caller)
			l.delivered()
			continue
		}
		select {
		case <-l.news:
		case <-resync:
			l.resync()
		case <-l.stopped:
		}
	}
}

// take returns the next notification; nil if there is none. If there is no object of the
// initial list any more, the handler is synced: it has returned from all calls before.
func (l *listener[T]) take() *notification[T] {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.initialComplete && l.queue.initial == 0 {
		select {
		case <-l.synced:
		default:
			close(l.synced)
		}
	}
	n := l.queue.take()
	l.calling = n != nil
	return n
}

func (l *listener[T]) delivered() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calling = false
	l.counts.Told++
}

// handlerCaller is the handler as a notification sees it. One notification may take up to
// three calls, and each is guarded on its own: a panic in OnUpdate or OnDelete that is
// survived must not swallow the calls after it, and a handler that removes itself in one of
// them is not called any more.
type handlerCaller[T Object] struct {
	listener *listener[T]
}

func (c *handlerCaller[T]) OnAdd(object T, initial bool) {
	if !c.listener.isStopped() {
		defer c.listener.afterCall(object)
		c.listener.handler.OnAdd(object, initial)
	}
}

func (c *handlerCaller[T]) OnUpdate(old, object T) {
	if !c.listener.isStopped() {
		defer c.listener.afterCall(object)
		c.listener.handler.OnUpdate(old, object)
	}
}

func (c *handlerCaller[T]) OnDelete(object T, finalStateUnknown bool) {
	if !c.listener.isStopped() {
		defer c.listener.afterCall(object)
		c.listener.handler.OnDelete(object, finalStateUnknown)
	}
}

// afterCall is deferred around a call. A panic is reported, and goes on.
func (l *listener[T]) afterCall(object T) {
	if value := recover(); value != nil {
		l.report(KeyOf(object), value)
		l.crash(value)
	}
}

func (l *listener[T]) isStopped() bool {
	select {
	case <-l.stopped:
		return true
	default:
		return false
	}
}

func (l *listener[T]) record(n *notification[T]) {
	op, object := n.calls()
	key := KeyOf(object)
	l.instruments.recorder.Record(trace.Event{
		Kind: trace.Notified, Layer: cmp.Or(l.options.Name, "listener"),
		Object: l.instruments.kind, Op: op,
		Namespace: key.Namespace, Name: key.Name, Version: object.GetResourceVersion(),
	})
}

func (l *listener[T]) measure() BacklogStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	counts := l.counts
	counts.Pending = l.pendingLocked()
	return counts
}

// pendingLocked counts what has not been delivered. The notification that the handler is
// being called with is part of it: a handler that hangs has not seen that.
func (l *listener[T]) pendingLocked() int {
	if l.calling {
		return l.queue.len() + 1
	}
	return l.queue.len()
}

// HandlerPanic is a panic of a handler, or the end of its goroutine by
// runtime.Goexit, which t.FailNow calls. The latter has no key.
type HandlerPanic struct {
	Handler string
	Key     Key
	Value   any // what it panicked with
	Stack   []byte
}

var errGoexit = errors.New("the handler ended its goroutine by runtime.Goexit (t.FailNow does " +
	"so, and belongs on the test's own goroutine)")

func logPanic(p HandlerPanic) {
	slog.Error("a handler panicked", "handler", p.Handler, "object", p.Key, "panic", p.Value, "stack",
		string(p.Stack))
}

// crash panics, unless the informer's user wants panics to be survived.
func (l *listener[T]) crash(value any) {
	if !l.instruments.recoverPanics {
		l.crashing = true
		panic(value)
	}
}

func (l *listener[T]) report(key Key, value any) {
	l.mu.Lock()
	l.counts.Panics++
	l.mu.Unlock()
	l.instruments.onPanic(HandlerPanic{Handler: l.options.Name, Key: key, Value: value,
		Stack: debug.Stack()})
}

// MetricBacklog is how many notifications have not been delivered to a handler. It is
// the first number to look at when a controller seems to do nothing: a handler that
// hangs has a backlog that only grows. It is never zero then, because the call that it
// hangs in counts; see Registration.Backlog.
//
// client-go has no metric for it. Its informer_queued_items counts what is before
// the store, and says nothing about handlers.
const MetricBacklog = "informer_handler_backlog"

// MetricsProvider makes the metrics of informers, see InformerOptions.
type MetricsProvider interface {
	// Gauge is given the metric's name and labels, and the function that reads the
	// value: in constant time, from any goroutine. Handlers may share a name, or have
	// none; a provider that needs one value for them adds theirs up. forget is called
	// once, when the handler was removed or its informer has stopped.
	Gauge(metric, kind, handler string, read func() float64) (forget func())
}

// register makes the listener's metrics.
func (l *listener[T]) register(with MetricsProvider) {
	l.forget = with.Gauge(MetricBacklog, l.instruments.kind, l.options.Name, func() float64 {
		return float64(l.measure().Pending)
	})
}

// end says that the handler is not called any more.
func (l *listener[T]) end() {
	if l.forget != nil {
		l.forget()
	}
	close(l.done)
}
