// Package cache answers reads from informers, and gives out these informers for their events.
//
// When you read a kind, the cache starts the kind's informer in each namespace that the Options
// name, waits until it has listed, and copies objects out of its store.
//
// Neighbours: below it is package informer, which lists and watches. Above it are sources, which
// add handlers to its informers, and clients, whose reads it answers.
package cache

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/manager/client"
)

// Cache answers reads from memory. The first read of a kind starts an informer and waits for it;
// all later reads cost no request.
//
// The cache that New returns can do more: see WaitForSync, All, KindWaiter and WriteWaiter.
type Cache interface {
	// Reader answers Get and List.
	//
	// It returns copies, unless the caller or the Options set UnsafeDisableDeepCopy. A Get of an
	// object that doesn't exist is a NotFound error; a Get in a namespace that the cache doesn't
	// have is a different error. A List shows each informer at one moment, with its items in no
	// particular order. The cache refuses Continue, and field selectors that it has no index for.
	client.Reader

	Informers
}

// NewCacheFunc makes a cache.
type NewCacheFunc func(config *rest.Config, opts Options) (Cache, error)

// New returns a cache. It starts nothing; see Informers.Start.
func New(config *rest.Config, opts Options) (Cache, error) {
	opts, err := withDefaults(config, opts)
	if err != nil {
		return nil, err
	}
	settings, err := newSettings(opts)
	if err != nil {
		return nil, err
	}
	return newObjectCache(config, opts, settings), nil
}

// ErrCacheNotStarted is the error of a read before Start.
type ErrCacheNotStarted struct{}

func (*ErrCacheNotStarted) Error() string {
	return "the cache does not run yet: call its Start before anything is read from it"
}

// ErrResourceNotCached is the error of a read of a kind without an informer, if the Options have
// ReaderFailOnMissingInformer.
type ErrResourceNotCached struct {
	GVK schema.GroupVersionKind
}

func (e ErrResourceNotCached) Error() string {
	return fmt.Sprintf("there is no informer of %s, and ReaderFailOnMissingInformer keeps a read "+
		"from starting one", e.GVK)
}

// WaitForSync waits until all informers of a cache have listed, as WaitForCacheSync does. For a
// cache from New, the error is a *SyncError that says which informers haven't listed, and why.
func WaitForSync(ctx context.Context, c Informers) error {
	if explains, ok := c.(interface{ WaitForSync(context.Context) error }); ok {
		return explains.WaitForSync(ctx)
	}
	if c.WaitForCacheSync(ctx) {
		return nil
	}
	return fmt.Errorf("a cache did not sync, and a %T does not say why: %w", c, context.Cause(ctx))
}

// Informers are the informers of a cache: one for each kind of objects that was requested.
type Informers interface {
	// GetInformer returns the informer of obj's kind, and starts it if there is none. If the cache
	// runs, it waits until the informer has listed, unless BlockUntilSynced is false.
	GetInformer(ctx context.Context, obj client.Object, opts ...InformerGetOption) (Informer, error)
	// GetInformerForKind does the same for a kind. Its objects are typed if the scheme knows the
	// kind.
	GetInformerForKind(ctx context.Context, gvk schema.GroupVersionKind,
		opts ...InformerGetOption) (Informer, error)
	// RemoveInformer stops an informer and its handlers, and drops its objects.
	RemoveInformer(ctx context.Context, obj client.Object) error
	// Start runs all informers, including those that are requested later, until the context ends.
	Start(ctx context.Context) error
	// WaitForCacheSync waits until all informers have listed. It returns false if the context ends
	// first.
	WaitForCacheSync(ctx context.Context) bool

	client.FieldIndexer
}

// Informer is one informer of a cache. Its methods have client-go's types, because a user's own
// code may call them. A caller gets a publicInformer, for one namespace or several; behind it, a
// clientgoInformer for each passes the calls on to an informer.Informer, which lists and watches.
type Informer interface {
	// AddEventHandler adds a handler, which first gets all existing objects.
	AddEventHandler(
		handler informer.ResourceEventHandler) (informer.ResourceEventHandlerRegistration, error)
	// AddEventHandlerWithResyncPeriod also reports all objects again, once every period.
	AddEventHandlerWithResyncPeriod(handler informer.ResourceEventHandler,
		resyncPeriod time.Duration) (informer.ResourceEventHandlerRegistration, error)
	// AddEventHandlerWithOptions needs no Logger. The default ResyncPeriod is the cache's
	// SyncPeriod.
	AddEventHandlerWithOptions(handler informer.ResourceEventHandler,
		options informer.ResourceEventHandlerOptions) (informer.ResourceEventHandlerRegistration, error)
	// RemoveEventHandler removes a handler. Removing it twice does no harm.
	RemoveEventHandler(handle informer.ResourceEventHandlerRegistration) error
	// AddIndexers adds indices. Existing objects are indexed before it returns.
	AddIndexers(indexers informer.Indexers) error
	// HasSynced reports whether the first list is in the store.
	HasSynced() bool
	// HasSyncedChecker returns a channel for the same.
	HasSyncedChecker() informer.DoneChecker
	// IsStopped reports whether the informer has stopped. It can't be started again.
	IsStopped() bool
}

// InformerGetOptions are the options of GetInformer.
type InformerGetOptions struct {
	// BlockUntilSynced says whether GetInformer waits for the first list; nil means true.
	BlockUntilSynced *bool
}

// InformerGetOption sets one of InformerGetOptions.
type InformerGetOption func(*InformerGetOptions)

// BlockUntilSynced says whether GetInformer waits for the first list. By default it does.
func BlockUntilSynced(shouldBlock bool) InformerGetOption {
	return func(options *InformerGetOptions) { options.BlockUntilSynced = &shouldBlock }
}
