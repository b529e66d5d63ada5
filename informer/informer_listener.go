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

	// sent to by push, received by work; one, because the queue holds the notifications
	news    chan struct{}
	synced  chan struct{} // closed by take
	stopped chan struct{} // closed by stop
	done    chan struct{} // closed by end, which run calls, or the informer if run never ran
	stop    func()
	forget  func() // its metrics; nil if there are none
	resync  func() // pushes all objects of the store

	crashing bool // used by run only

	mu      sync.Mutex // guards what follows
	queue   pendingNotifications[T]
	calling bool // a notification was taken, but isn't delivered yet
	counts  BacklogStats
	// no more objects of the initial list will come
	initialComplete bool
}

// instruments are what the parts of an informer report to.
type instruments struct {
	recorder      *trace.Recorder
	kind          string
	onPanic       func(HandlerPanic)
	recoverPanics bool
	metrics       MetricsProvider // or nil
}

// leastResync is the shortest period of a resync, as in client-go. If the period were shorter than
// one walk through the store, the informer would do nothing else.
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

// run calls the handler until the listener is stopped. If the handler ends the goroutine, the queue
// would never be emptied again. So that's a crash, too, or, with RecoverPanics, removes the
// handler.
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
	var resync <-chan time.Time // never, if there's no period
	if l.options.Resync > 0 {
		ticker := time.NewTicker(l.options.Resync)
		defer ticker.Stop()
		resync = ticker.C
	}
	caller := &handlerCaller[T]{l}
	for !l.isStopped() {
		select {
		case <-resync: // even if there's always something to do
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

// take returns the next notification, or nil if there is none. When no object of the initial list
// is left, the handler is synced: it has returned from all earlier calls.
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

// handlerCaller is the handler as a notification sees it. One notification may take up to three
// calls, and each is guarded separately: surviving a panic in OnUpdate or OnDelete mustn't swallow
// the calls after it, and a handler that removes itself in one of them isn't called again.
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

// OnLeave isn't the end of an object, so a handler that knows nothing of shards doesn't hear of it.
func (c *handlerCaller[T]) OnLeave(object T) {
	leaves, ok := c.listener.handler.(LeaveHandler[T])
	if ok && !c.listener.isStopped() {
		defer c.listener.afterCall(object)
		leaves.OnLeave(object)
	}
}

// afterCall is deferred around a call. It reports a panic, and lets it continue.
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

// pendingLocked counts the notifications that weren't delivered. That includes the one in the
// running call, because a handler that hangs hasn't seen it.
func (l *listener[T]) pendingLocked() int {
	if l.calling {
		return l.queue.len() + 1
	}
	return l.queue.len()
}

// HandlerPanic is a panic of a handler, or the end of its goroutine by runtime.Goexit, which
// t.FailNow calls. The latter has no key.
type HandlerPanic struct {
	Handler string
	Key     Key
	Value   any // the value that it panicked with
	Stack   []byte
}

var errGoexit = errors.New("the handler ended its goroutine by runtime.Goexit (t.FailNow does " +
	"so, and belongs on the test's own goroutine)")

func logPanic(p HandlerPanic) {
	slog.Error("a handler panicked", "handler", p.Handler, "object", p.Key, "panic", p.Value, "stack",
		string(p.Stack))
}

// crash panics, unless RecoverPanics is set.
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

// MetricBacklog is how many notifications haven't been delivered to a handler. Look at it first
// when a controller seems to do nothing: a handler that hangs has a backlog that only grows. It's
// never zero then, because the call that hangs counts; see Registration.Backlog.
//
// client-go has no metric for it. Its informer_queued_items counts what is in front of the store,
// and says nothing about handlers.
const MetricBacklog = "informer_handler_backlog"

// MetricsProvider makes the metrics of informers, see InformerOptions.
type MetricsProvider interface {
	// Gauge gets the metric's name and labels, and the function that reads the value: in constant
	// time, from any goroutine. Handlers may share a name, or have none; a provider that needs one
	// value for them adds theirs up. forget is called once, when the handler was removed or its
	// informer has stopped.
	Gauge(metric, kind, handler string, read func() float64) (forget func())
}

// register makes the listener's metrics.
func (l *listener[T]) register(with MetricsProvider) {
	l.forget = with.Gauge(MetricBacklog, l.instruments.kind, l.options.Name, func() float64 {
		return float64(l.measure().Pending)
	})
}

// end says that the handler is no longer called.
func (l *listener[T]) end() {
	if l.forget != nil {
		l.forget()
	}
	close(l.done)
}
