package mini

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/trace"
)

// ListerWatcher is where a Reflector gets its objects, for example a ListWatch. Both List
// and the watch must end when their ctx does.
type ListerWatcher interface {
	List(ctx context.Context) (items []Object, version string, err error)
	Watch(ctx context.Context, version string) (watch.Interface, error)
}

// Sink is what a Reflector keeps up to date. It gets one call at a time.
type Sink interface {
	// Replace gets all objects that exist, and the version of the list.
	Replace(items []Object, version string)
	// Update gets an object that was added or changed.
	Update(obj Object)
	// Delete gets the last state of an object that was deleted.
	Delete(obj Object)
}

// Backoff says how long to pause after failures: Base after the first, twice as long
// after each further one, but never longer than Max. On top comes a random extra of up to
// Jitter times the pause, so that clients that failed together don't retry together.
type Backoff struct {
	Base, Max time.Duration
	Jitter    float64
}

// After returns the pause after this many failures in a row.
func (b Backoff) After(failures int) time.Duration {
	pause := b.Base
	for i := 1; i < failures && pause < b.Max; i++ {
		pause *= 2
	}
	return time.Duration(float64(min(pause, b.Max)) * (1 + b.Jitter*rand.Float64()))
}

// Reflector makes a Sink reflect what the API server has. It lists once and watches from
// there. When a watch ends, the next one starts from the version that it reached. The
// Reflector lists again if the API server no longer knows that version, if what comes
// after it can't be read, or if the watch got nothing for minutes, not even a bookmark.
//
// Caveats: as long as there's an object that its Go type can't hold, every list fails and
// the sink keeps what it has. The log mentions a row of failures once; the flight
// recorder has each of them.
type Reflector struct {
	Source  ListerWatcher
	Sink    Sink
	Backoff Backoff         // zero: 0.8 s, doubling up to 30 s, with a jitter of 1
	Trace   *trace.Recorder // nil records nothing
}

var (
	errNoVersion  = errors.New("the list has no version to watch from")
	errShortWatch = errors.New("the watch ended at once, without an event")
	errUnreadable = errors.New("no watch from this version works")
	errSilent     = errors.New("the watch was silent for minutes, without a bookmark")
)

// Run lists and watches until ctx ends, and then returns nil. Failures don't end it: it
// pauses and tries again.
func (r *Reflector) Run(ctx context.Context) error {
	backoff := cmp.Or(r.Backoff, Backoff{800 * time.Millisecond, 30 * time.Second, 1})
	version := "" // the sink knows everything up to here; "" means list
	failures := 0 // in a row
	for ctx.Err() == nil {
		var err error
		if version == "" {
			// Only a watch ends a row of failures. Otherwise a list that succeeds and a
			// watch that fails could take turns without a pause.
			version, err = r.list(ctx)
		} else {
			from := version
			version, err = r.watch(ctx, from)
			if err == nil || version != from {
				failures = 0
			}
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		if IsExpired(err) {
			r.record(trace.Event{Kind: trace.Expired, Version: version})
			version = ""
		}
		if errors.Is(err, errUnreadable) || errors.Is(err, errSilent) {
			version = ""
		}
		failures++
		// Ten failures take minutes, longer than an API server takes to restart.
		if failures == 10 || failures == 1 && errors.Is(err, errUnreadable) {
			name, _ := r.Source.(fmt.Stringer) // a ListWatch has one
			slog.Warn("the reflector tries again", "source", name, "err", err)
		}
		pause := backoff.After(failures)
		r.record(trace.Event{
			Kind: trace.Backoff, Took: pause, Count: failures, Reason: err.Error(),
		})
		sleep(ctx, pause)
	}
	return nil
}

// sleep returns false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// list fills the sink and returns the version to watch from. If the list fails, the sink
// keeps the old objects, because old ones are better than none.
func (r *Reflector) list(ctx context.Context) (version string, err error) {
	items, version, err := r.Source.List(ctx)
	if err != nil {
		return "", err
	}
	if version == "" {
		return "", errNoVersion
	}
	r.Sink.Replace(items, version)
	return version, nil
}

// watch passes changes to the sink until the watch ends. It returns the version that it
// reached, even along with an error. The error is errUnreadable if every watch from there
// would fail: the server calls it a bad request, or the next thing it sends is an ERROR
// or an object that doesn't decode. It's errSilent if the API server may have been
// restored from a backup: then its history may need days to catch up with our version.
func (r *Reflector) watch(ctx context.Context, from string) (version string, err error) {
	began, heard := time.Now(), false
	// The server should have ended the watch by then, but a proxy may stay silent
	// forever.
	ctx, cancel := context.WithTimeout(ctx, maxWatch+30*time.Second)
	defer cancel()
	w, err := r.Source.Watch(ctx, from)
	if apierrors.IsBadRequest(err) {
		return from, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	if err != nil {
		return from, err
	}
	defer w.Stop()
	version, err = Follow(w, from, func(event watch.EventType, obj Object) {
		heard = true
		if event == watch.Bookmark {
			r.record(trace.Event{Kind: trace.Bookmark, Version: obj.GetResourceVersion()})
			return
		}
		r.record(trace.Event{
			Kind: trace.WatchEvent, Op: string(event), Object: kindName(obj),
			Namespace: obj.GetNamespace(), Name: obj.GetName(),
			Version: obj.GetResourceVersion(),
		})
		if event == watch.Deleted {
			r.Sink.Delete(obj)
		} else {
			r.Sink.Update(obj)
		}
	})
	switch {
	case version != from:
	case err != nil:
		err = fmt.Errorf("%w: %w", errUnreadable, err)
	case time.Since(began) < time.Second:
		err = errShortWatch // a failure, because the next watch may end as quickly
	case !heard && time.Since(began) > maxSilence:
		err = errSilent
	}
	return version, err
}

// maxSilence is how long a watch may get nothing. The API server sends a bookmark about
// once a minute.
const maxSilence = 2 * time.Minute

func (r *Reflector) record(e trace.Event) {
	e.Layer = "reflector"
	r.Trace.Record(e)
}

// kindName returns the name of the object's Go type, which is its kind. The object itself
// doesn't know: the decoder leaves kind and apiVersion of a typed object empty.
func kindName(obj Object) string { return reflect.TypeOf(obj).Elem().Name() }
