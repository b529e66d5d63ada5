package mini

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/trace"
)

// ListerWatcher is where a Reflector gets objects from. A ListWatch is one.
type ListerWatcher interface {
	List(ctx context.Context) (items []Object, version string, err error)
	Watch(ctx context.Context, version string) (watch.Interface, error)
}

// Sink is what a Reflector keeps up to date. It gets one call at a time.
type Sink interface {
	// Replace hands over all objects there are, and the version of the list.
	Replace(items []Object, version string)
	// Update hands over an object that was added or changed.
	Update(obj Object)
	// Delete hands over the last state of an object that is gone.
	Delete(obj Object)
}

// Backoff is the pause after a failure: it doubles with each one, up to Max.
type Backoff struct {
	Base, Max time.Duration
	Jitter    float64 // adds up to this part of the pause, so that clients do not retry together
}

// After returns the pause after this many failures in a row.
func (b Backoff) After(failures int) time.Duration {
	pause := b.Base
	for i := 1; i < failures && pause < b.Max; i++ {
		pause *= 2
	}
	return time.Duration(float64(min(pause, b.Max)) * (1 + b.Jitter*rand.Float64()))
}

// Reflector makes a Sink reflect what the API server has: it lists once, watches from
// there, and lists again only if the server has forgotten the way.
type Reflector struct {
	Source  ListerWatcher
	Sink    Sink
	Backoff Backoff         // zero: 0.8 s doubling up to 30 s, with a jitter of one half
	Trace   *trace.Recorder // nil records nothing
}

// errShortWatch is a failure because a loop without a pause would follow from it.
var errShortWatch = errors.New("the watch ended at once, without an event")

// Run lists and watches until ctx ends, and then returns nil. Nothing else ends it: a
// server that refuses or fails is asked again after a pause.
func (r *Reflector) Run(ctx context.Context) error {
	if r.Backoff == (Backoff{}) {
		r.Backoff = Backoff{Base: 800 * time.Millisecond, Max: 30 * time.Second, Jitter: 0.5}
	}
	version := "" // up to where the sink knows everything; "" asks for a list
	failures := 0 // in a row
	for ctx.Err() == nil {
		before, err := version, error(nil)
		if version == "" {
			version, err = r.list(ctx) // does not end a row of failures: the watch has to work
		} else if version, err = r.watch(ctx, version); err == nil || version != before {
			failures = 0
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		if IsExpired(err) {
			r.record(trace.Event{Kind: trace.Expired, Version: version})
			version = ""
		}
		failures++
		pause := r.Backoff.After(failures)
		r.record(trace.Event{
			Kind: trace.Backoff, Took: pause, Count: failures, Reason: err.Error(),
		})
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
	return nil
}

// list hands all objects to the sink. On an error the sink keeps what it has: old objects
// are better than none.
func (r *Reflector) list(ctx context.Context) (version string, err error) {
	items, version, err := r.Source.List(ctx)
	if err != nil {
		return "", err
	}
	r.Sink.Replace(items, version)
	return version, nil
}

// watch hands changes to the sink until the watch ends, and returns the version that was
// reached: also with an error, because nothing that was seen has to be seen again.
func (r *Reflector) watch(ctx context.Context, version string) (string, error) {
	began, from := time.Now(), version
	w, err := r.Source.Watch(ctx, version)
	if err != nil {
		return version, err
	}
	defer w.Stop()
	version, err = Follow(w, version, func(event watch.EventType, obj Object) {
		if event == watch.Bookmark {
			r.record(trace.Event{Kind: trace.Bookmark, Version: obj.GetResourceVersion()})
			return
		}
		r.record(trace.Event{
			Kind: trace.WatchEvent, Op: string(event), Object: kindName(obj),
			Namespace: obj.GetNamespace(), Name: obj.GetName(), Version: obj.GetResourceVersion(),
		})
		if event == watch.Deleted {
			r.Sink.Delete(obj)
		} else {
			r.Sink.Update(obj)
		}
	})
	if err == nil && version == from && time.Since(began) < time.Second {
		err = errShortWatch
	}
	return version, err
}

func (r *Reflector) record(e trace.Event) {
	e.Layer = "reflector"
	r.Trace.Record(e)
}

// kindName is the name of the object's Go type, which is its kind: decoded objects of
// typed kinds do not carry the kind themselves.
func kindName(obj Object) string { return reflect.TypeOf(obj).Elem().Name() }
