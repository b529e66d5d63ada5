package informer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/trace"
)

// Watch is an open watch: an HTTP answer that doesn't end until somebody ends it. Next waits for
// the next event. Close ends the watch; you can call it from any goroutine, more than once, and it
// wakes a waiting Next.
//
// client-go's watch.Interface is a channel with a goroutine behind it. Here the reader's own
// goroutine reads the connection: nothing is buffered, nothing has to be drained, and the error
// that ended the watch can't get lost.
type Watch[T Object] interface {
	// Next returns io.EOF when the server ended the watch normally, which it does every few
	// minutes; any other error says what broke. If the context given to Watch was cancelled, the
	// error wraps context.Canceled. After Close, it's ErrWatchClosed.
	Next() (Event[T], error)
	Close() error
}

// Event is one line of the history of a collection.
type Event[T Object] struct {
	// Type is ADDED, MODIFIED or DELETED, for a change of Object; BOOKMARK, for a new
	// resourceVersion only; or ERROR, the last event of a watch that the server can't continue.
	Type watch.EventType
	// Object is the object after the change, or before it for DELETED. A bookmark's has only
	// metadata. An error has none.
	Object T
	// ResourceVersion is the event's position in the history. For DELETED it's the deletion's own.
	ResourceVersion string
	// Status says what went wrong, for ERROR.
	Status *metav1.Status
}

// Err is the error in an ERROR event, and nil for all others. The HTTP status was 200 long ago, so
// an error can only come as an event.
func (e Event[T]) Err() error {
	if e.Type != watch.Error {
		return nil
	}
	return &apierrors.StatusError{ErrStatus: *e.Status}
}

// Watch asks for everything that happens after options.ResourceVersion.
//
// Caveats: two values look harmless and aren't. Without a resourceVersion, and with
// "0", the watch begins with ADDED events for what there is at some moment, and so
// repeats what a list has shown.
func (l *ListWatch[T]) Watch(ctx context.Context, options metav1.ListOptions) (Watch[T], error) {
	options.Watch = true
	body, mediaType, err := l.client.get(ctx, options)
	if err == nil {
		var decoder *eventDecoder[T]
		if decoder, err = l.newEventDecoder(body, mediaType); err == nil {
			start := trace.Event{Kind: trace.WatchStart, Version: options.ResourceVersion}
			if options.SendInitialEvents != nil && *options.SendInitialEvents {
				start.Op = trace.WatchList
			}
			l.record(start)
			return &httpWatch[T]{from: l, body: body, decoder: decoder, version: options.ResourceVersion},
				nil
		}
		_ = body.Close()
	}
	err = fmt.Errorf("watching %s: %w", l.client, err)
	l.recordFailure(err, options)
	return nil, err
}

// httpWatch reads events from the body of an HTTP answer.
type httpWatch[T Object] struct {
	from    *ListWatch[T]
	body    io.Closer
	decoder *eventDecoder[T]
	version string // of the last event, or of the start
	ended   error  // what Next returns from now on
	closed  atomic.Bool
}

// ErrWatchClosed is the error that Next returns after Close.
var ErrWatchClosed = errors.New("closed by its reader")

func (w *httpWatch[T]) Next() (Event[T], error) {
	if w.ended != nil {
		return Event[T]{}, w.ended
	}
	eventType, object, err := w.decoder.Decode()
	if err != nil {
		return Event[T]{}, w.end(err)
	}
	event, err := newEvent[T](eventType, object)
	if err != nil {
		return Event[T]{}, w.end(err)
	}
	if event.ResourceVersion != "" {
		w.version = event.ResourceVersion
	}
	if w.from.options.Recorder.On() {
		w.recordEvent(event)
	}
	return event, nil
}

// Close ends the request's connection. The reader notices by an error.
func (w *httpWatch[T]) Close() error {
	w.closed.Store(true)
	return w.body.Close()
}

// end closes the watch and decides which error its reader gets.
func (w *httpWatch[T]) end(err error) error {
	_ = w.body.Close()
	reason := err.Error()
	switch {
	case w.closed.Load():
		w.ended, reason = ErrWatchClosed, ErrWatchClosed.Error()
	case errors.Is(err, io.EOF):
		w.ended, reason = io.EOF, "by the server, in good order"
	default:
		w.ended = fmt.Errorf("watching %s: %w", w.from.client, err)
	}
	w.from.record(trace.Event{Kind: trace.WatchEnd, Version: w.version, Reason: reason})
	return w.ended
}

func newEvent[T Object](eventType watch.EventType, object runtime.Object) (Event[T], error) {
	event := Event[T]{Type: eventType}
	if eventType == watch.Error {
		status, ok := object.(*metav1.Status)
		if !ok {
			return event, fmt.Errorf("the server sent an ERROR event with a %T in place of a Status", object)
		}
		event.Status = status
		return event, nil
	}
	typed, err := asObject[T](object)
	if err != nil {
		return event, err
	}
	event.Object, event.ResourceVersion = typed, typed.GetResourceVersion()
	return event, nil
}

func (w *httpWatch[T]) recordEvent(event Event[T]) {
	switch event.Type {
	case watch.Error:
		w.from.recordFailure(event.Err(), metav1.ListOptions{ResourceVersion: w.version})
	case watch.Bookmark:
		w.from.record(trace.Event{Kind: trace.Bookmark, Version: event.ResourceVersion})
	default:
		w.from.record(trace.Event{
			Kind: trace.WatchEvent, Op: string(event.Type), Version: event.ResourceVersion,
			Namespace: event.Object.GetNamespace(), Name: event.Object.GetName(),
			Reason: blocking(event.Type, event.Object),
		})
	}
}

// blocking returns the finalizer that an object's deletion waits for, if it's being deleted.
func blocking(eventType watch.EventType, object Object) string {
	finalizers := object.GetFinalizers()
	deleting := object.GetDeletionTimestamp() != nil && eventType != watch.Deleted
	if !deleting || len(finalizers) == 0 {
		return ""
	}
	return finalizers[0]
}

// record adds the fields that all events of this layer have in common.
func (l *ListWatch[T]) record(event trace.Event) {
	event.Layer, event.Object = listWatchLayer, l.kind
	if event.Namespace == "" {
		event.Namespace = l.options.Namespace
	}
	l.options.Recorder.Record(event)
}
