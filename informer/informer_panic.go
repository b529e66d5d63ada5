package informer

import (
	"errors"
	"log/slog"
	"runtime/debug"
)

// HandlerPanic is a panic of a handler, or the end of its goroutine by
// runtime.Goexit, which t.FailNow calls. The latter has no key.
type HandlerPanic struct {
	Handler string
	Key     Key
	Value   any // what it panicked with
	Stack   []byte
}

var errGoexit = errors.New("the handler ended its goroutine by runtime.Goexit (t.FailNow does so, and belongs on the test's own goroutine)")

func logPanic(p HandlerPanic) {
	slog.Error("a handler panicked", "handler", p.Handler, "object", p.Key, "panic", p.Value, "stack", string(p.Stack))
}

// handlerCaller is the handler as a notification sees it. One notification may take up to
// three calls, and each is guarded on its own: a panic in OnUpdate or OnDelete that is
// survived must not swallow the calls after it, and a handler that removes itself in one of
// them is not called any more.
type handlerCaller[T Object] struct {
	listener *listener[T]
	over     func() bool // the listener has stopped
}

func (c *handlerCaller[T]) OnAdd(object T, initial bool) {
	if !c.over() {
		defer c.listener.afterCall(object)
		c.listener.handler.OnAdd(object, initial)
	}
}

func (c *handlerCaller[T]) OnUpdate(old, object T) {
	if !c.over() {
		defer c.listener.afterCall(object)
		c.listener.handler.OnUpdate(old, object)
	}
}

func (c *handlerCaller[T]) OnDelete(object T, finalStateUnknown bool) {
	if !c.over() {
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
	l.instruments.onPanic(HandlerPanic{Handler: l.options.Name, Key: key, Value: value, Stack: debug.Stack()})
}
