package informer

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loopwright/loopwright/trace"
)

// ReflectorOptions change what a reflector does. The zero value is right for
// most.
type ReflectorOptions struct {
	// NoStream lists from the start, instead of asking for a WatchList first.
	NoStream bool
	// PageSize is how many items to ask for at once where a list goes to the
	// server's database; the default is 500. A list that the server has in
	// memory comes in one piece.
	PageSize int64
	// RequestTimeout is how long a list may take, and a watch until the server
	// accepts it; the default is 90 s. An API server gives up after 60.
	RequestTimeout time.Duration
	// StreamTimeout is how long the initial events of a WatchList may stand
	// still before we list instead; the default is 20 s. They may take 15 times
	// as long in all.
	StreamTimeout time.Duration
	// WatchTimeout is the least time after which we ask the server to end a
	// watch, the most is twice that; the default is 5 min. It is drawn anew for
	// each watch, so that watches that began together, after a server was away, do
	// not end together.
	WatchTimeout time.Duration
	// Backoff is the pause after failures.
	Backoff Backoff
	// GiveUp tells of an error whether going on is pointless; Run returns it
	// then. By default nothing is: a right may be granted, a kind installed. A
	// *[RefusedError] tells these cases apart.
	GiveUp func(error) bool
	// Recorder is told about pauses and fallbacks; nil is off. Requests and
	// events are recorded by the ListWatch.
	Recorder *trace.Recorder
	// Random returns numbers in [0, 1); the default is math/rand's. Only Run's
	// goroutine calls it.
	Random func() float64
}

// Reflector keeps a Sink up to date with a collection: all there is at first,
// and then what changes, whatever happens to the connection.
//
// Guarantees: what the sink is told is a legal history (see Sink), and it goes
// on until the context ends, or GiveUp says so. The view never goes back in time
// (but for Sink's exception), also when Run is called again after it returned: a
// new list is no older than what the sink has seen. After a failure there is a
// pause that grows. Only where another question may help is it asked at once,
// such as a list in place of a stream; after four requests in a row that brought
// nothing there is a pause in any case.
//
// Caveats: while the server cannot be reached, the view is as it was; see
// Health. What was created and deleted while the reflector was away is never
// heard of.
//
// client-go's reflector does the same in functions that call each other and
// share fields. Here a machine without goroutine or clock decides, in
// reflector_machine.go, and a loop does what it says.
type Reflector[T Object] struct {
	from    ListerWatcher[T]
	sink    Sink[T]
	options ReflectorOptions
	about   collection

	running atomic.Bool
	floor   string // the newest version that the sink has; for the next Run

	mu     sync.Mutex // guards health
	health Health
}

// NewReflector returns a reflector that reads from a collection into a sink.
func NewReflector[T Object](from ListerWatcher[T], sink Sink[T], options ReflectorOptions) *Reflector[T] {
	if options.PageSize <= 0 {
		options.PageSize = 500
	}
	options.RequestTimeout = orDefault(options.RequestTimeout, 90*time.Second)
	options.StreamTimeout = orDefault(options.StreamTimeout, 20*time.Second)
	options.WatchTimeout = orDefault(options.WatchTimeout, 5*time.Minute)
	if options.Random == nil {
		options.Random = rand.Float64
	}
	r := &Reflector[T]{from: from, sink: sink, options: options}
	if knows, ok := from.(interface{ collection() collection }); ok {
		r.about = knows.collection()
	} else {
		r.about.kind = reflect.TypeFor[T]().Elem().Name()
	}
	return r
}

// Health is how it is doing now. It may be called from any goroutine.
func (r *Reflector[T]) Health() Health {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.health
}

// errRunning is for who calls Run while it runs.
var errRunning = errors.New("the reflector is running already")

// Run reads until the context ends, and returns nil then, or the context's
// cause if it has one of its own. It returns another error only if GiveUp says
// so. It may be called again after it returned.
func (r *Reflector[T]) Run(ctx context.Context) error {
	if !r.running.CompareAndSwap(false, true) {
		return errRunning
	}
	defer r.running.Store(false)
	reading := &reading[T]{Reflector: r, ctx: ctx, began: time.Now()}
	defer reading.close()

	m := machine{backoff: r.options.Backoff, streams: !r.options.NoStream, floor: r.floor}
	in := input{kind: inBegin}
	var act action
	var failure error
	for {
		m, act = m.step(in)
		r.floor = m.floor
		r.note(m, in, act, failure)
		reading.deliver(act)
		if act.do == doStop {
			break
		}
		in, failure = reading.perform(act)
		if failure != nil && in.kind == inFailed && r.options.GiveUp != nil && r.options.GiveUp(failure) {
			r.note(machine{state: StateStopped, floor: m.floor}, in, action{}, failure)
			return failure
		}
	}
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// note brings the health up to date and tells the flight recorder of what no
// request tells.
func (r *Reflector[T]) note(m machine, in input, act action, failure error) {
	if failure == nil && act.reason != "" {
		failure = errors.New(act.reason)
	}
	now := time.Now()
	r.mu.Lock()
	h := &r.health
	h.State, h.ResourceVersion, h.Failures = m.state, m.floor, m.backoff.Failures()
	h.Synced = h.Synced || act.deliver == deliverReplace
	switch in.kind {
	case inOpened, inEvent, inPage, inEnded:
		h.LastContact = now
	}
	if failure != nil {
		h.LastError, h.LastErrorAt = failure, now
	}
	r.mu.Unlock()
	if failure != nil && r.options.Recorder.On() {
		r.record(m, act, failure)
	}
}

// record tells of pauses and fallbacks. A failed request is in the recorder
// already; what it means may not be.
func (r *Reflector[T]) record(m machine, act action, failure error) {
	event := trace.Event{
		Layer: "reflector", Object: r.about.kind, Namespace: r.about.namespace,
		Version: m.floor, Kind: trace.Error, Reason: act.reason,
	}
	if act.do == doPause {
		event.Kind, event.Took, event.Count = trace.Backoff, act.pause, m.backoff.Failures()+1
		var refused *RefusedError
		switch {
		case errors.As(failure, &refused):
			event.Reason = refused.advice()
		case failure.Error() != act.reason:
			event.Reason = ""
		}
	} else if act.reason == "" {
		return
	}
	r.options.Recorder.Record(event)
}
