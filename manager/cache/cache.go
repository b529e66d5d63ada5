package cache

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager/client"
)

// Cache answers reads from memory. The first read of a kind starts an informer and waits for it;
// all that follow cost no request.
//
// What New returns can do more: see WaitForSync, All, KindWaiter and WriteWaiter.
type Cache interface {
	// Reader answers Get and List.
	//
	// What it returns is a copy, unless the caller or the Options asked for UnsafeDisableDeepCopy.
	// A Get with the name of an object that is not there is a NotFound error; one of a namespace that
	// the cache does not have is another error. A List is one moment of each informer; its items come in no
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

// ErrCacheNotStarted is the answer to a read before Start.
type ErrCacheNotStarted struct{}

func (*ErrCacheNotStarted) Error() string {
	return "the cache does not run yet: call its Start before anything is read from it"
}

// ErrResourceNotCached is the answer to a read of a kind that has no informer, if the Options have
// ReaderFailOnMissingInformer.
type ErrResourceNotCached struct {
	GVK schema.GroupVersionKind
}

func (e ErrResourceNotCached) Error() string {
	return fmt.Sprintf("there is no informer of %s, and ReaderFailOnMissingInformer keeps a read from starting one", e.GVK)
}

// WaitForSync waits until all informers of a cache have listed, as WaitForCacheSync does. The error
// is a *SyncError that says which of them have not, and why, if the cache is one that New returned.
func WaitForSync(ctx context.Context, c Informers) error {
	if explains, ok := c.(interface{ WaitForSync(context.Context) error }); ok {
		return explains.WaitForSync(ctx)
	}
	if c.WaitForCacheSync(ctx) {
		return nil
	}
	return fmt.Errorf("a cache did not sync, and a %T does not say why: %w", c, context.Cause(ctx))
}
