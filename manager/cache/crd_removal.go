package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/manager/client"
)

// removableKind stands between an informer and the server, and notices when the server no longer
// serves the kind. From then on it answers instead of the server: there are no objects, and nothing
// happens to them. So the informer itself doesn't have to know. When the kind is back, the watch
// ends as an expired one does, and the informer lists.
//
// Until the kind is known to be removed (see removal), a 404 is an error like any other: the
// informer keeps its objects and tries again, and the error says how long it has been stale, and
// why.
type removableKind struct {
	*informer.ListWatch[client.Object] // the informer also asks it for its identity
	kind                               schema.GroupVersionKind
	bookmarks                          bool
	log                                logr.Logger
	// ask calls discovery. With saysNothing it returns an error: what answered instead.
	ask  func(context.Context) (discovery, error)
	move func() error // ends this informer, because the kind has moved
	// holdsObjects reports whether the informer has objects that the kind's removal would delete.
	holdsObjects func() bool
	// rewinds returns how often the informer went back to an older version.
	rewinds func() int

	// Used by the reflector's goroutine only:
	removal  removal
	looked   time.Time // when discovery was asked last
	first404 time.Time // since the last answer about the kind; zero if there was none
	newest   string    // the newest version that is known here, for an empty list

	refusal *refusal

	// absent is what reads see: nil if the kind exists. The reflector's goroutine sets it; a read
	// that has waited for the kind's return clears it.
	absent atomic.Pointer[absence]
}

// absence is the state of a kind that was removed.
type absence struct {
	isBack bool
	// the version of the first list after its return: reads wait until it's in the store, or the
	// store has left its history
	listed  string
	rewinds int // before that list
}

// errKindIsBack ends a watch of a kind that was removed.
var errKindIsBack = errors.New("the kind is served again")

func (c *objectCache) newRemovableKind(
	from *informer.ListWatch[client.Object], mapping *meta.RESTMapping, bookmarks bool,
) *removableKind {
	return &removableKind{
		ListWatch: from, kind: mapping.GroupVersionKind, bookmarks: bookmarks, log: c.log,
		refusal: newRefusal(),
		ask:     func(ctx context.Context) (discovery, error) { return c.discover(ctx, mapping) },
		move:    func() error { return c.move(mapping) },
	}
}

// List implements informer.ListerWatcher.
func (w *removableKind) List(
	ctx context.Context, options metav1.ListOptions,
) (*informer.List[client.Object], error) {
	w.noteVersion(options)
	if w.removal.isGone {
		if w.newest != "" {
			return &informer.List[client.Object]{ResourceVersion: w.newest}, nil
		}
		// It was never listed, so we don't know a version at which it was empty.
		if err := w.untilBack(ctx, nil, 0); err != nil {
			return nil, err
		}
	}
	list, err := w.ListWatch.List(ctx, options)
	if err := w.note(ctx, err); err != nil {
		return nil, err
	}
	w.newest = list.ResourceVersion
	if list.Continue == "" {
		w.listed(list.ResourceVersion)
	}
	return list, nil
}

// Watch implements informer.ListerWatcher.
func (w *removableKind) Watch(
	ctx context.Context, options metav1.ListOptions,
) (informer.Watch[client.Object], error) {
	w.noteVersion(options)
	streams := options.SendInitialEvents != nil && *options.SendInitialEvents
	if w.removal.isGone {
		sleeping := &sleepingWatch{from: w, ctx: ctx, closed: make(chan struct{})}
		if streams {
			if sleeping.version = w.newest; sleeping.version == "" {
				// so that it's listed
				return nil, apierrors.NewBadRequest("a kind that is gone has no version to begin " +
					"with")
			}
		}
		if options.TimeoutSeconds != nil {
			sleeping.patience = time.Duration(*options.TimeoutSeconds) * time.Second
		}
		return sleeping, nil
	}
	options.AllowWatchBookmarks = w.bookmarks
	opened, err := w.ListWatch.Watch(ctx, options)
	if failed := w.note(ctx, err); failed != nil {
		if err == nil {
			_ = opened.Close()
		}
		return nil, failed
	}
	if streams && w.isGone() {
		return returningWatch{opened, w}, nil
	}
	return opened, nil
}

// isGone reports whether the kind was removed, so that reads have nothing to wait for.
func (w *removableKind) isGone() bool {
	now := w.absent.Load()
	return now != nil && !now.isBack
}

// listed is called when all objects have been read from the server. They aren't in the store yet.
func (w *removableKind) listed(version string) {
	if w.isGone() {
		w.absent.Store(&absence{isBack: true, listed: version, rewinds: w.rewinds()})
		w.log.Info("A kind is back", "kind", w.kind.String())
	}
}

// returningWatch is the watch of a kind that is back. It begins with all objects.
type returningWatch struct {
	informer.Watch[client.Object]
	of *removableKind
}

// Next implements informer.Watch.
func (r returningWatch) Next() (informer.Event[client.Object], error) {
	event, err := r.Watch.Next()
	if err == nil && event.Type == watch.Bookmark &&
		event.Object.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
		r.of.listed(event.ResourceVersion)
	}
	return event, err
}

// noteVersion remembers the informer's version, because the informer refuses an empty list that is
// older.
func (w *removableKind) noteVersion(options metav1.ListOptions) {
	if options.ResourceVersion != "" {
		w.newest = options.ResourceVersion
	}
}

// note processes the server's answer and returns the error for the reflector. Either it's the same
// error with the reason why the objects stay, or it says that the answer is about a different kind
// on the same path.
func (w *removableKind) note(ctx context.Context, err error) error {
	is404 := apierrors.IsNotFound(err)
	if err != nil && !is404 {
		return err // it says nothing about the kind
	}
	if err == nil && w.first404.IsZero() {
		w.answered()
		return nil
	}
	says, instead := w.ask(ctx)
	w.looked = time.Now()
	if err == nil && says != saysMoved {
		w.answered()
		return nil
	}
	now := time.Now()
	if w.first404.IsZero() {
		w.first404 = now
	}
	w.removal = w.removal.answered404(now, says, w.holdsObjects())
	switch {
	case !w.removal.isGone:
		return w.stale(err, says, instead)
	case is404:
		w.disappeared()
		return err
	default:
		w.disappeared()
		return apierrors.NewResourceExpired("the kind was replaced by one with another scope")
	}
}

// answered notes that the server has answered for the kind.
func (w *removableKind) answered() {
	w.removal, w.first404 = removal{}, time.Time{}
	w.refusal.set(nil)
}

// stale returns the error of an informer that keeps its objects, although its path was answered
// with a 404, or maybe by another kind (err is nil then).
func (w *removableKind) stale(err error, says discovery, instead error) error {
	if err == nil {
		err = errors.New("its path is answered again")
	}
	keeps := "so the cache keeps its objects as they were at " + w.first404.Format(time.RFC3339)
	switch says {
	case saysServed:
		return fmt.Errorf("%w; discovery lists %s, %s", err, w.kind, keeps)
	case saysNothing:
		return fmt.Errorf("%w; discovery doesn't say that %s is gone, %s: %w", err, w.kind, keeps,
			instead)
	case saysMoved:
		return fmt.Errorf("%w; discovery lists %s with another resource name or scope, but not for "+
			"long enough, %s", err, w.kind, keeps)
	default:
		return fmt.Errorf("%w; discovery doesn't list %s either, but not for long enough, %s", err,
			w.kind, keeps)
	}
}

// disappeared makes reads fail, and lists empty.
func (w *removableKind) disappeared() {
	w.removal.isGone = true
	w.absent.Store(&absence{})
	w.log.Info("A kind was removed, and its informer waits until it is back", "kind", w.kind.String())
}

// untilGone waits until the kind is removed, and returns false if the context ends first. The 404
// that proves it is a refusal.
func (w *removableKind) untilGone(ctx context.Context) bool {
	for {
		_, news := w.refusal.last()
		if w.isGone() {
			return true
		}
		select {
		case <-news:
		case <-ctx.Done():
			return false
		}
	}
}

// untilBack waits until the kind is served again. It returns io.EOF after patience, unless that's
// 0.
func (w *removableKind) untilBack(
	ctx context.Context, closed <-chan struct{}, patience time.Duration,
) error {
	var end <-chan time.Time
	if patience > 0 {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		end = timer.C
	}
	failed := false
	pause := time.NewTimer(time.Until(w.looked.Add(lookForKind))) // another watch doesn't put it off
	defer pause.Stop()
	for {
		select {
		case <-pause.C:
		case <-end:
			return io.EOF
		case <-closed:
			return informer.ErrWatchClosed
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		says, _ := w.ask(ctx)
		w.looked = time.Now()
		switch says {
		case saysServed:
			w.removal, w.first404 = removal{}, time.Time{}
			return nil
		case saysMoved:
			if err := w.move(); err != nil && !failed {
				failed = true
				w.log.Error(err, "A kind cannot be read", "kind", w.kind.String())
			}
		}
		pause.Reset(lookForKind)
	}
}

// lookForKind is the pause between requests that look for a removed kind. They're small, and every
// client is allowed to send them. A watch of the CustomResourceDefinitions would be faster, but
// most programs may not read these.
const lookForKind = 5 * time.Second

// sleepingWatch is the watch of a removed kind.
type sleepingWatch struct {
	from     *removableKind
	ctx      context.Context // of the request, which this value stands for
	version  string          // of the empty list, if that has to be reported first
	patience time.Duration
	closed   chan struct{} // closed by Close
	once     sync.Once
}

// Next implements informer.Watch.
func (s *sleepingWatch) Next() (informer.Event[client.Object], error) {
	var event informer.Event[client.Object]
	if s.version != "" {
		end := &metav1.PartialObjectMetadata{}
		end.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
		end.ResourceVersion = s.version
		event.Type, event.Object, event.ResourceVersion = watch.Bookmark, end, s.version
		s.version = ""
		return event, nil
	}
	if err := s.from.untilBack(s.ctx, s.closed, s.patience); err != nil {
		return event, err
	}
	return event, fmt.Errorf("%w: %w", errKindIsBack,
		apierrors.NewResourceExpired("what happened meanwhile is not known"))
}

// Close implements informer.Watch.
func (s *sleepingWatch) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}
