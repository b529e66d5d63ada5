package recorder

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager/recorder/record"
)

// writesAtOnce is how many writes may be in flight, of different namespaces.
const writesAtOnce = 8

// defaultDrain is how long a Writer that was stopped may take to write the events that are left.
const defaultDrain = 5 * time.Second

// Options are the options of New. The zero value works.
type Options struct {
	// Logger logs each event at V(1), and lost events as errors. By default nothing is logged.
	Logger logr.Logger
	// DrainTimeout is how long Run goes on writing after its context has ended; 0 means 5 seconds.
	DrainTimeout time.Duration
}

// Writer writes the events of its recorders to the API server.
//
// Guarantees: recorders never block, neither on the server nor on a slow Writer, and may be used
// before, during and after Run. An event that repeats within 20 minutes makes no second object: the
// Writer counts it. It writes the count at once for the first few times, and then at most every 5
// minutes. For the core group, all events about one object that have one type share these writes:
// 25, and then one every 5 minutes. Events with different messages are different events; after 10,
// further ones are combined. A write that fails because the server is unreachable or overloaded, or
// because something else answers instead of it, is retried for about 3 minutes. Other events don't
// wait for that. A write that hangs for its 10 seconds delays only events of its namespace, unless
// 8 hang at once; when the Writer was stopped, it delays none.
//
// A recorder of GetEventRecorder writes to the group events.k8s.io, one of GetEventRecorderFor to
// the core group.
//
// Caveats: events are for people, and may be lost: when more than 4096 different ones wait to be
// written, when the server refuses one, and when Run has ended. Each of them is counted in
// loopwright_events_lost_total, and the log has the reasons. The Writer remembers 4096 events: one
// that repeats after as many others is a new object. The program needs the verbs create and patch
// on events, in the group that the recorder writes to.
type Writer struct {
	scheme  *runtime.Scheme
	sink    sink
	options Options
	host    string

	// wake has room for one: it says that the correlator has changed, not how often. Recorders
	// and writes that have ended send, Run receives, and it's never closed.
	wake chan struct{}
	// places has one element for each write in flight. Run sends, a write that has ended
	// receives, and it's never closed.
	places chan struct{}

	mu         sync.Mutex // guards the following
	correlator *correlator
	stamp      int64 // of the newest event, in nanoseconds; each event has a different one
	running    bool
	ended      bool
	told       time.Time        // when a lost event was logged
	silent     int              // events that were lost since then
	refused    map[refusal]bool // refusals that were logged
}

var _ Provider = (*Writer)(nil)

// New makes a Writer. Nothing is written before Run.
func New(
	config *rest.Config, httpClient *http.Client, scheme *runtime.Scheme, options Options,
) (*Writer, error) {
	if httpClient == nil {
		return nil, fmt.Errorf("make an event writer: the HTTP client is nil; " +
			"rest.HTTPClientFor makes one")
	}
	to, err := newSink(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("make an event writer: %w", err)
	}
	return newWriter(to, scheme, options), nil
}

func newWriter(to sink, scheme *runtime.Scheme, options Options) *Writer {
	if options.DrainTimeout <= 0 {
		options.DrainTimeout = defaultDrain
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return &Writer{
		scheme: scheme, sink: to, options: options, host: host,
		wake: make(chan struct{}, 1), places: make(chan struct{}, writesAtOnce), correlator: newCorrelator(), refused: map[refusal]bool{},
	}
}

// GetEventRecorder implements Provider.
func (w *Writer) GetEventRecorder(name string) EventRecorder {
	return &currentRecorder{writer: w, by: w.reporter(name)}
}

// GetEventRecorderFor implements Provider.
func (w *Writer) GetEventRecorderFor(name string) record.EventRecorder {
	return &olderRecorder{writer: w, by: reporter{api: olderAPI, controller: name}}
}

// reporter cuts the instance to the server's limit; client-go doesn't, and the server refuses such
// events.
func (w *Writer) reporter(name string) reporter {
	if wrong := validation.IsQualifiedName(name); len(wrong) > 0 {
		w.options.Logger.Error(nil,
			"The API server will refuse events from a controller with this name",
			"name", name, "why", wrong)
	}
	instance := name + "-" + w.host
	instance = strings.ToValidUTF8(instance[:min(len(instance), wordLimit)], "")
	return reporter{api: currentAPI, controller: name, instance: instance}
}

// record puts an event into the correlator.
func (w *Writer) record(by reporter, s eventCall) {
	log := w.options.Logger
	now := time.Now()
	event, err := newEvent(w.scheme, by, s, now, w.nextStamp(now))
	if err != nil {
		log.Error(err, "An event cannot be recorded",
			"type", s.eventType, "reason", s.reason, "note", s.note)
		w.lost(lostInvalid, 1)
		return
	}
	if detail := log.V(1); detail.Enabled() {
		detail.Info(event.Note, "type", event.Type, "object", event.Regarding,
			"reason", event.Reason, "action", event.Action)
	}
	w.mu.Lock()
	ended := w.ended
	accepted := !ended && w.correlator.observe(by.api, event, now)
	w.mu.Unlock()
	switch {
	case accepted:
		w.wakeUp()
	case ended:
		w.lost(lostStopped, 1)
	default:
		w.lost(lostFull, 1)
	}
}

func (w *Writer) wakeUp() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// nextStamp is the time, or a little more: a coarse clock, or one that a test has stopped, shows
// the same time twice.
func (w *Writer) nextStamp(now time.Time) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stamp = max(w.stamp+1, now.UnixNano())
	return w.stamp
}

// Run writes events until the context ends, and then those that are left, for as long as
// DrainTimeout allows. It returns nil then. A Writer runs once.
func (w *Writer) Run(ctx context.Context) error {
	if err := w.begin(); err != nil {
		return err
	}
	writes, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	var bound sync.WaitGroup
	bound.Go(func() {
		select {
		case <-ctx.Done():
			select {
			case <-time.After(w.options.DrainTimeout):
				cancel(errDrained)
			case <-writes.Done():
			}
		case <-writes.Done():
		}
	})
	var started sync.WaitGroup
	for w.awaitPlace(ctx) {
		if !w.write(writes, &started) {
			w.sleep(ctx)
		}
	}
	w.mu.Lock()
	w.correlator.stop()
	w.mu.Unlock()
	for w.awaitPlace(writes) {
		if !w.write(writes, &started) && !w.awaitWrite(writes) {
			break
		}
	}
	started.Wait()
	cancel(nil)
	bound.Wait()
	w.end()
	return nil
}

// awaitPlace takes a place for one more write, and returns false if ctx ends before there's one.
func (w *Writer) awaitPlace(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case w.places <- struct{}{}:
	}
	if ctx.Err() != nil { // select may have chosen either
		<-w.places
		return false
	}
	return true
}

// awaitWrite waits until a write has ended, which may have left something to write again. It returns
// false if nothing is left, or ctx ends before.
func (w *Writer) awaitWrite(ctx context.Context) bool {
	w.mu.Lock()
	left, underWay := len(w.correlator.queue), len(w.correlator.underWay)
	w.mu.Unlock()
	if underWay == 0 {
		return left > 0
	}
	select {
	case <-ctx.Done():
		return false
	case <-w.wake:
		return true
	}
}

func (w *Writer) begin() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running {
		return fmt.Errorf("run the event writer: it has been started before; make a new one")
	}
	w.running = true
	return nil
}

func (w *Writer) end() {
	w.mu.Lock()
	w.ended = true
	left := len(w.correlator.queue)
	w.mu.Unlock()
	w.lost(lostStopped, left)
}

// sleep waits until there may be something to write, or the context has ended.
func (w *Writer) sleep(ctx context.Context) {
	w.mu.Lock()
	next := w.correlator.next()
	w.mu.Unlock()
	var due <-chan time.Time
	if !next.IsZero() {
		due = time.After(time.Until(next))
	}
	select {
	case <-ctx.Done():
	case <-w.wake:
	case <-due:
	}
}
