package informer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loopwright/loopwright/trace"
)

// ReflectorOptions are the options of a Reflector. The zero value is right for most programs.
type ReflectorOptions struct {
	// NoStream lists from the start, instead of trying a WatchList first.
	NoStream bool
	// PageSize is how many items to request at once if a list goes to the server's database; the
	// default is 500. A list that the server has in memory comes in one piece.
	PageSize int64
	// RequestTimeout is how long a list may take, and a watch until the server accepts it; the
	// default is 90 s. An API server gives up after 60.
	RequestTimeout time.Duration
	// StreamTimeout is how long the initial events of a WatchList may stall until we list instead;
	// the default is 20 s. In all they may take 15 times as long.
	StreamTimeout time.Duration
	// WatchTimeout is the shortest time after which we ask the server to end a watch; the longest
	// is twice that. The default is 5 min. Each watch gets a different time, so that watches that
	// began together, after a server was away, don't end together. A watch that lived for half of
	// it counts as healthy, however long Backoff.Healthy is. A time below one second is raised to
	// that: a server counts in seconds.
	WatchTimeout time.Duration
	// PollInterval is how often to list a collection whose lists have no resourceVersion, so that
	// it can't be watched, such as those of metrics.k8s.io; the default is 30 s. Up to a tenth of
	// it is added at random.
	PollInterval time.Duration
	// Backoff is the pause after failures.
	Backoff Backoff
	// WatchErrorHandler is called with every error of a list or a watch, before the pause that
	// follows it: to log or to count it. Run's goroutine calls it and waits. A watch that ends
	// normally isn't an error. A *[RefusedError] says what a user has to do. (client-go:
	// SetWatchErrorHandler.)
	WatchErrorHandler func(error)
	// GiveUp returns true for an error after which it makes no sense to continue; Run returns that
	// error. By default it always continues, because a permission may be granted or a kind
	// installed. A *[RefusedError] tells these cases apart.
	GiveUp func(error) bool
	// Recorder records pauses and fallbacks; nil is off. The ListWatch records
	// requests and events.
	Recorder *trace.Recorder
	// Random returns numbers in [0, 1); the default is math/rand's. Only Run's
	// goroutine calls it.
	Random func() float64
}

// Reflector keeps a Sink up to date with a collection: first with all existing objects, then with
// their changes, whatever happens to the connection.
//
// Guarantees: the calls to the sink are a legal history (see Sink), and they go on until the
// context ends, or GiveUp returns true. The view never goes back in time (but for Sink's
// exception), even if Run is called again after it returned: a new list is no older than what the
// sink has seen. A failure is followed by a pause, and pauses grow while nothing comes. There's no
// pause after a watch that lived for a while, nor where another request may help, such as a list
// instead of a stream. But after four requests in a row without news there's always a pause. And
// after two minutes of watches that got nothing there's a pause and a new view, if the server has
// ever sent a bookmark: it should have sent more.
//
// Caveats: while the server can't be reached, the view stays as it was; see Health. A server that
// was restored from a backup counts its versions from an older one. If it has caught up with this
// reader before the reader is back, the reader can't notice, and the view keeps the lost objects
// until the next whole one. The sink never hears of an object that was created and deleted while
// the reflector was away. A collection whose lists have no version is polled, and its changes
// arrive with the next poll.
//
// client-go's reflector does the same in functions that call each other and share fields. Here a
// machine without goroutine or clock decides, in reflector_machine.go, and a loop carries out its
// decisions.
type Reflector[T Object] struct {
	from     ListerWatcher[T]
	sink     Sink[T]
	options  ReflectorOptions
	identity readerIdentity

	// renewed is called on Run's goroutine when it begins and after renew, before the new view is
	// requested; or nil.
	renewed func()

	running atomic.Bool
	floor   string // the newest version that the sink has; for the next Run

	mu     sync.Mutex // guards what follows
	health Health
	// cut ends the request or the pause that's under way, because a new view is wanted
	cut context.CancelCauseFunc
}

// NewReflector returns a reflector that reads from a collection into a sink.
func NewReflector[T Object](
	from ListerWatcher[T], sink Sink[T], options ReflectorOptions,
) *Reflector[T] {
	if options.PageSize <= 0 {
		options.PageSize = 500
	}
	options.RequestTimeout = orDefault(options.RequestTimeout, 90*time.Second)
	options.StreamTimeout = orDefault(options.StreamTimeout, 20*time.Second)
	options.WatchTimeout = max(orDefault(options.WatchTimeout, 5*time.Minute), time.Second)
	options.PollInterval = orDefault(options.PollInterval, 30*time.Second)
	// A watch that lives as long as we asked for is healthy, however short that is.
	options.Backoff.Healthy = min(orDefault(options.Backoff.Healthy, defaultHealthy),
		options.WatchTimeout/2)
	if options.Random == nil {
		options.Random = rand.Float64
	}
	return &Reflector[T]{from: from, sink: sink, options: options, identity: identify(from)}
}

// Health says how the reflector is doing now. Any goroutine may call it.
func (r *Reflector[T]) Health() Health {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.health
}

// errRunning is the error of a second call of Run while the first one is running.
var errRunning = errors.New("the reflector is running already")

// Run keeps the sink up to date until the context ends. Then it returns nil, or the context's cause
// if it has a separate one. It returns another error only if GiveUp says so. You can call it again
// after it has returned.
func (r *Reflector[T]) Run(ctx context.Context) error {
	if !r.running.CompareAndSwap(false, true) {
		return errRunning
	}
	defer r.running.Store(false)
	shell := &shell[T]{Reflector: r, ctx: ctx, began: time.Now()}
	shell.begin()
	if r.renewed != nil {
		r.renewed()
	}
	defer shell.close()

	m := machine{backoff: r.options.Backoff, streams: !r.options.NoStream,
		poll: r.options.PollInterval, floor: r.floor}
	in := input{kind: inBegin}
	var act action
	var failure error
	// perform keeps an event in shell.lastEvent, and tells the machine its type and version, but
	// not its object. The next action says what to do with the event; deliver does that.
	for {
		m, act = m.step(in)
		r.floor = m.floor
		r.note(m, in, act, failure)
		shell.deliver(act)
		r.noteView(m.floor, act.deliver == deliverReplace)
		if act.do == doStop {
			break
		}
		if in, failure = shell.perform(act); failure != nil {
			if final := r.report(failure); final {
				r.note(machine{state: StateStopped, floor: m.floor}, in, action{}, failure)
				return failure
			}
		}
	}
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// errRenewed ends what's under way when a new view is wanted.
var errRenewed = errors.New("a new view is wanted")

// renew makes the reflector request a new view at once, the newest there is. Any goroutine may call
// it. If Run isn't running, the next one begins with a view anyway.
func (r *Reflector[T]) renew() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cut != nil {
		r.cut(errRenewed)
	}
}

// report passes an error to the handler, and says whether GiveUp wants Run to return it.
func (r *Reflector[T]) report(failure error) (final bool) {
	if r.options.WatchErrorHandler != nil {
		r.options.WatchErrorHandler(failure)
	}
	return r.options.GiveUp != nil && r.options.GiveUp(failure)
}

// note updates the health, except for the sink's version, and records the consequence of the last
// input, unless it's the usual one.
func (r *Reflector[T]) note(m machine, in input, act action, failure error) {
	if failure == nil && act.reason != "" {
		failure = errors.New(act.reason)
	}
	now := time.Now()
	r.mu.Lock()
	h := &r.health
	h.State, h.Failures = m.state, m.backoff.Failures()
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

// noteView notes the sink's version once the sink has it: if we announced a version that is still
// on its way, readers would take the objects that the sink lacks for deleted ones.
func (r *Reflector[T]) noteView(version string, whole bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.health.ResourceVersion = version
	r.health.Synced = r.health.Synced || whole
}

// record adds pauses and fallbacks to the flight recorder. A failed request is already in it; what
// it means may not be.
func (r *Reflector[T]) record(m machine, act action, failure error) {
	event := trace.Event{
		Layer: "reflector", Object: r.identity.kind, Namespace: r.identity.namespace,
		Version: m.floor, Kind: trace.Error, Reason: act.reason,
	}
	if m.state == StateWaiting {
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

// Health says how a reflector is doing.
type Health struct {
	State State
	// Synced is true once the sink has had a whole view: its first Replace has returned. An
	// informer's is true from the moment its channel Synced is closed.
	Synced bool
	// ResourceVersion is the version of the sink's view, or an older one while the sink is
	// processing something. It's empty before the first view, and while polling.
	ResourceVersion string
	// LastContact is when the server last accepted a request, sent a page, an event or a bookmark,
	// or ended a watch normally. Servers that know bookmarks send one about every minute.
	LastContact time.Time
	// LastError is the last error, or the reason for something unusual, such as polling;
	// LastErrorAt is when it happened. They stay after things go well again: State says whether
	// they do.
	LastError   error
	LastErrorAt time.Time
	// Failures is how many there were since things last went well for a while.
	Failures int
}

// Ready is nil if the view is whole, and one of these holds: a watch is open; the collection is
// polled and the last poll didn't fail; or the last contact was at most patience ago. A watch
// counts as open until it's known to have ended, however long it has been quiet. A readiness check
// that fails at the first broken connection would take a whole Deployment out of service while its
// API server restarts.
func (h Health) Ready(now time.Time, patience time.Duration) error {
	cause := h.LastError
	if cause == nil {
		cause = errors.New("no error so far")
	}
	if !h.Synced {
		return fmt.Errorf("not synced yet, %s: %w", h.State, cause)
	}
	upToDate := h.State == StateWatching || h.State == StatePolling
	if away := now.Sub(h.LastContact); !upToDate && away > patience {
		return fmt.Errorf("out of touch with the API server for %s, %s: %w", away.Round(time.Second),
			h.State, cause)
	}
	return nil
}
