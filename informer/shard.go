package informer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Shard is the part of a collection that an informer keeps: the objects of some namespaces. It
// never changes; Informer.Keep replaces it by another one.
type Shard interface {
	// Has reports whether the objects of a namespace belong to the shard. It's called for each
	// object that arrives.
	Has(namespace string) bool
	// Selector is what asks a server for the shard (metav1.ListOptions.ShardSelector). It's a wish:
	// a server that doesn't know it, or has the feature switched off, sends everything. If it's
	// empty, everything is asked for.
	Selector() string
	// IsEmpty reports whether no namespace belongs to the shard. Then nothing is requested.
	IsEmpty() bool
}

// ShardOptions make an informer keep a shard instead of everything.
type ShardOptions struct {
	// First is the shard that the informer begins with. Nil switches shards off.
	First Shard
	// OnForeign is called once, on the reflector's goroutine, when the server has sent an object of
	// another shard: it doesn't know the selector, so this process receives and decodes everything.
	OnForeign func()
}

// choice is the shard of one call of Keep. Its address tells it from others.
type choice struct {
	Shard
	// before is the choice before it, unless the reflector had accepted that one: what it excludes
	// has to go, too.
	before *choice
}

// keptShard says what the store has: the objects of these namespaces, and no others.
type keptShard struct {
	namespaces []Shard // what all of these have in common
	listed     *choice // the one that was listed, if nothing has left since
}

// Has reports whether the store has the objects of a namespace.
func (k *keptShard) Has(namespace string) bool {
	for _, shard := range k.namespaces {
		if !shard.Has(namespace) {
			return false
		}
	}
	return k.namespaces != nil
}

// mostUnlisted is how many shards an informer takes in a row without a list, and still keeps what
// they have in common. After that it keeps nothing until it's listed.
const mostUnlisted = 64

// without is what is left of it after some choices.
func (k *keptShard) without(last *choice) *keptShard {
	rest := slices.Clone(k.namespaces)
	for c := last; c != nil && rest != nil; c = c.before {
		if rest = append(rest, c.Shard); len(rest) > mostUnlisted {
			rest = nil
		}
	}
	return &keptShard{namespaces: rest}
}

// Keep makes the informer keep another shard. It returns at once; WaitForShard waits until the
// store has it.
//
// Guarantees: the list that follows is requested after the call, and the API server answers with
// its newest state: whoever has learned before the call that another process no longer writes finds
// all that it wrote. What goes leaves the store before that list, which may be refused, or take
// long: an object that has left, and belongs to the shard again, isn't back until it's listed. What
// comes appears in one step. Handlers get an OnAdd for each object that comes, as for one that's
// created. For each that goes, they get an OnLeave if they're a LeaveHandler, and no OnDelete: the
// object exists.
func (i *Informer[T]) Keep(shard Shard) {
	i.shards.want(shard)
	i.reflector.renew()
}

// WaitForShard waits until the store has the shard that the last Keep named, or the first one.
func (i *Informer[T]) WaitForShard(ctx context.Context) error {
	if err := i.WaitForSync(ctx); err != nil || i.shards == nil {
		return err
	}
	kind := i.instruments.kind
	err := i.waitUntil(ctx, func(string) bool { return i.kept.Load().listed == i.shards.wanted() })
	if err != nil {
		return fmt.Errorf("waiting for the shard of %s: %w", kind, i.notSynced(err))
	}
	return nil
}

// WaitForLeave waits until the store has nothing any more that the last Keep excludes, or one before
// it, unless it was listed since. Unlike WaitForShard, it needs no answer of the server.
func (i *Informer[T]) WaitForLeave(ctx context.Context) error {
	if i.shards == nil {
		return nil
	}
	return i.waitUntil(ctx, func(string) bool { return i.shards.isAccepted() })
}

// Get returns an object of the store. If there is none, kept says whether that means anything:
// it's false if the store doesn't have the objects of that namespace.
func (i *Informer[T]) Get(key Key) (object T, found, kept bool) {
	for {
		before := i.kept.Load()
		if object, found = i.store.Get(key); found {
			return object, true, true
		}
		if before == i.kept.Load() {
			return object, false, i.has(before, key.Namespace)
		}
	}
}

// ReadKept calls read, which reads objects of a namespace from the store, and reports whether the
// store had them all the while. If the shard has changed meanwhile, it calls read again.
func (i *Informer[T]) ReadKept(namespace string, read func()) (kept bool) {
	for {
		before := i.kept.Load()
		if !i.has(before, namespace) {
			return false
		}
		if read(); before == i.kept.Load() {
			return true
		}
	}
}

// Keeps reports whether the store has the objects of a namespace.
func (i *Informer[T]) Keeps(namespace string) bool { return i.has(i.kept.Load(), namespace) }

func (i *Informer[T]) has(kept *keptShard, namespace string) bool {
	return i.shards == nil || kept != nil && kept.Has(namespace)
}

// isElsewhere reports whether the store has no objects of a namespace because it isn't kept.
func (i *Informer[T]) isElsewhere(namespace string) bool {
	return i.shards != nil && i.hasSynced() && !i.Keeps(namespace)
}

// shardReader is a collection of which only a shard is read. It stands between the reflector and the
// server, so what isn't kept is dropped before anything else sees it.
type shardReader[T Object] struct {
	ListerWatcher[T]
	onForeign func()
	foreign   atomic.Bool // onForeign was called

	// Used by the reflector's goroutine only:
	reads  *choice // the shard of the view that's being read, or was read last, and of its watches
	newest string  // the newest version that was seen

	mu       sync.Mutex // guards what follows
	last     *choice    // that Keep named
	accepted *choice    // by the reflector: what it excludes is gone, and views are of it
}

func newShardReader[T Object](from ListerWatcher[T], options ShardOptions) *shardReader[T] {
	first := &choice{Shard: options.First}
	return &shardReader[T]{
		ListerWatcher: from, last: first, accepted: first, reads: first, onForeign: options.OnForeign,
		newest: "1", // older than any that a server has
	}
}

func (r *shardReader[T]) identity() readerIdentity { return identify(r.ListerWatcher) }

func (r *shardReader[T]) want(shard Shard) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := &choice{Shard: shard}
	if r.last != r.accepted {
		next.before = r.last
	}
	r.last = next
}

func (r *shardReader[T]) wanted() *choice {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// accept makes what follows a view of the choice. What it excludes is gone.
func (r *shardReader[T]) accept(c *choice) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.accepted = c
}

func (r *shardReader[T]) isAccepted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.accepted == r.last
}

// begins chooses the shard of a new view. It's the accepted one even if Keep has been called since:
// the reflector is about to hear of that, and then asks for the newest view.
func (r *shardReader[T]) begins() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads = r.accepted
}

// List implements ListerWatcher. All pages of a list are of one shard.
func (r *shardReader[T]) List(ctx context.Context, options metav1.ListOptions) (*List[T], error) {
	if options.Continue == "" {
		r.begins()
	}
	if r.reads.IsEmpty() {
		return &List[T]{ResourceVersion: r.newest}, nil
	}
	options.ShardSelector = r.reads.Selector()
	list, err := r.ListerWatcher.List(ctx, options)
	if err != nil {
		return nil, err
	}
	own := list.Items[:0]
	for _, item := range list.Items {
		if r.isOwn(item) {
			own = append(own, item)
		}
	}
	clear(list.Items[len(own):])
	list.Items = own
	r.saw(list.ResourceVersion)
	return list, nil
}

// Watch implements ListerWatcher.
func (r *shardReader[T]) Watch(ctx context.Context, options metav1.ListOptions) (Watch[T], error) {
	streams := options.SendInitialEvents != nil && *options.SendInitialEvents
	if streams {
		r.begins()
	}
	switch {
	case r.reads.IsEmpty() && streams:
		return nil, errNothingToStream
	case r.reads.IsEmpty():
		return idleWatch[T]{ctx, *options.TimeoutSeconds}, nil
	}
	options.ShardSelector = r.reads.Selector()
	opened, err := r.ListerWatcher.Watch(ctx, options)
	if err != nil {
		return nil, err
	}
	return &shardWatch[T]{Watch: opened, of: r, streams: streams}, nil
}

func (r *shardReader[T]) saw(version string) {
	if order, err := compareVersions(version, r.newest); err == nil && order > 0 {
		r.newest = version
	}
}

func (r *shardReader[T]) isOwn(object T) bool {
	if r.reads.Has(object.GetNamespace()) {
		return true
	}
	if r.foreign.CompareAndSwap(false, true) && r.onForeign != nil {
		r.onForeign()
	}
	return false
}

// shardWatch is a watch without the events of other shards.
type shardWatch[T Object] struct {
	Watch[T]
	of      *shardReader[T]
	streams bool // the initial events haven't ended
}

// Next implements Watch. Another shard's event is like a bookmark: nothing else has happened up to
// its version.
func (w *shardWatch[T]) Next() (Event[T], error) {
	for {
		event, err := w.Watch.Next()
		if err != nil || event.Type == watch.Error {
			return event, err
		}
		if event.Type == watch.Bookmark &&
			event.Object.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
			w.streams = false
		}
		if !w.streams {
			w.of.saw(event.ResourceVersion)
		}
		switch {
		case event.Type == watch.Bookmark:
			return event, nil
		case w.of.isOwn(event.Object):
			return event, nil
		case !w.streams:
			return Event[T]{Type: watch.Bookmark, Object: event.Object,
				ResourceVersion: event.ResourceVersion}, nil
		}
	}
}

// idleWatch is the watch of an empty shard.
type idleWatch[T Object] struct {
	ctx     context.Context
	seconds int64
}

// errNothingToStream is the answer to a stream of an empty shard: its list costs no request.
var errNothingToStream = errors.New("an empty shard has nothing to stream")

var errIdleClosed = errors.New("the watch of an empty shard was cut")

// Next implements Watch.
func (w idleWatch[T]) Next() (event Event[T], err error) {
	timer := time.NewTimer(time.Duration(w.seconds) * time.Second)
	defer timer.Stop()
	select {
	case <-timer.C:
		return event, io.EOF
	case <-w.ctx.Done():
		return event, fmt.Errorf("%w: %w", errIdleClosed, context.Cause(w.ctx))
	}
}

// Close implements Watch. The reflector ends the context, too.
func (idleWatch[T]) Close() error { return nil }
