package mini

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// The indices that every informer of a Cache has.
const (
	ByNamespace = "namespace"
	ByOwner     = "owner" // the UIDs of all owners
)

func cacheIndexers() Indexers {
	return Indexers{
		ByNamespace: func(obj Object) []string { return []string{obj.GetNamespace()} },
		ByOwner: func(obj Object) (uids []string) {
			for _, ref := range obj.GetOwnerReferences() {
				uids = append(uids, string(ref.UID))
			}
			return uids
		},
	}
}

// Cache has one informer for each kind that was asked for.
type Cache struct {
	cluster *Cluster

	mu        sync.Mutex // guards all below
	informers map[schema.GroupVersionKind]*SharedInformer
	start     func(*SharedInformer) // set while Run runs
}

// NewCache returns a cache without informers.
func NewCache(cluster *Cluster) *Cache {
	return &Cache{cluster: cluster, informers: map[schema.GroupVersionKind]*SharedInformer{}}
}

// Informer returns the informer for the type of like. The first call for a type makes
// it. It runs while Run does.
func (c *Cache) Informer(like Object) (*SharedInformer, error) {
	lw, err := c.cluster.ListWatch(like, "")
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	informer := c.informers[lw.Kind]
	if informer == nil {
		informer = NewSharedInformer(lw, cacheIndexers())
		informer.Trace = c.cluster.Trace
		c.informers[lw.Kind] = informer
		if c.start != nil {
			c.start(informer)
		}
	}
	return informer, nil
}

// Run runs all informers until ctx ends, also those that are asked for in the meantime.
func (c *Cache) Run(ctx context.Context) error {
	var running sync.WaitGroup
	c.mu.Lock()
	c.start = func(informer *SharedInformer) {
		running.Go(func() { _ = informer.Run(ctx) }) // it returns nil
	}
	for _, informer := range c.informers {
		c.start(informer)
	}
	c.mu.Unlock()
	<-ctx.Done()
	c.mu.Lock()
	c.start = nil
	c.mu.Unlock()
	running.Wait()
	return nil
}

// WaitForSync waits until all informers there are have listed.
func (c *Cache) WaitForSync(ctx context.Context) error {
	c.mu.Lock()
	var all []*SharedInformer
	for _, informer := range c.informers {
		all = append(all, informer)
	}
	c.mu.Unlock()
	for _, informer := range all {
		if err := informer.WaitFor(ctx, informer.HasSynced); err != nil {
			return fmt.Errorf("the cache has not listed everything: %w", err)
		}
	}
	return nil
}

// CachedClient reads from a Cache and writes to the API server.
//
// Guarantees: a read shows everything that was written through this client before. It
// waits for that if it must, and not longer.
//
// Caveats: what others have written may be missing for a moment. So a write can be
// refused as late (a conflict): reconcile again.
type CachedClient struct {
	*Client
	Cache *Cache

	mu     sync.Mutex // guards writes
	writes map[schema.GroupVersionKind]*ownWrites
}

// ownWrites is what reads of one kind have to show.
type ownWrites struct {
	newest  uint64                // the highest version that a write has returned
	deleted map[types.UID]Request // a deletion returns no version that counts
}

// NewCachedClient returns a client that reads from the cache.
func NewCachedClient(cache *Cache) *CachedClient {
	c := &CachedClient{Cache: cache, writes: map[schema.GroupVersionKind]*ownWrites{}}
	c.Client = &Client{Cluster: cache.cluster, Wrote: c.wrote}
	return c
}

// Get returns a copy of the object in the cache.
func (c *CachedClient) Get(ctx context.Context, key Request, into Object) error {
	informer, err := c.informer(ctx, into)
	if err != nil {
		return err
	}
	obj := informer.Get(key)
	if obj == nil {
		kind, _ := c.Cluster.KindOf(into) // the informer has found it already
		resource := schema.GroupResource{Group: kind.Group, Resource: kind.Kind}
		return apierrors.NewNotFound(resource, key.Name)
	}
	assign(into, obj.DeepCopyObject())
	return nil
}

// List returns copies of the objects in the cache, sorted by key.
func (c *CachedClient) List(
	ctx context.Context, like Object, selection Selection,
) (all []Object, err error) {
	informer, err := c.informer(ctx, like)
	if err != nil {
		return nil, err
	}
	objs := informer.List
	if selection.Namespace != "" {
		objs = func() []Object { return c.indexed(informer, ByNamespace, selection.Namespace) }
	}
	for _, obj := range objs() {
		if selection.Matches(obj) {
			all = append(all, obj.DeepCopyObject().(Object))
		}
	}
	return all, nil
}

// OwnedBy returns copies of the objects in the cache that name owner among their owners.
func OwnedBy[T Object](ctx context.Context, c *CachedClient, owner Object) ([]T, error) {
	informer, err := c.informer(ctx, newObject[T]())
	if err != nil {
		return nil, err
	}
	var all []T
	for _, obj := range c.indexed(informer, ByOwner, string(owner.GetUID())) {
		all = append(all, obj.DeepCopyObject().(T))
	}
	return all, nil
}

func (c *CachedClient) indexed(informer *SharedInformer, index, value string) []Object {
	objs, err := informer.ByIndex(index, value)
	if err != nil {
		panic(err) // every informer of a Cache has these indices
	}
	return objs
}

// informer returns the informer of a kind when it shows all that this client has written.
func (c *CachedClient) informer(ctx context.Context, like Object) (*SharedInformer, error) {
	informer, err := c.Cache.Informer(like)
	if err != nil {
		return nil, err
	}
	kind, err := c.Cluster.KindOf(like)
	if err != nil {
		return nil, err
	}
	err = informer.WaitFor(ctx, func() bool {
		return informer.HasSynced() && c.showsWrites(kind, informer)
	})
	if err != nil {
		return nil, fmt.Errorf("reading %s from the cache: %w", kind.Kind, err)
	}
	return informer, nil
}

func (c *CachedClient) showsWrites(
	kind schema.GroupVersionKind, informer *SharedInformer,
) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	own := c.writes[kind]
	if own == nil {
		return true
	}
	if informer.Version() < own.newest {
		return false
	}
	for uid, key := range own.deleted {
		obj := informer.Get(key)
		if obj != nil && obj.GetUID() == uid && obj.GetDeletionTimestamp() == nil {
			return false
		}
		delete(own.deleted, uid)
	}
	return true
}

// wrote makes reads wait until they can show this write.
func (c *CachedClient) wrote(verb string, obj Object) {
	kind, _ := c.Cluster.KindOf(obj) // the request has found it already
	version, _ := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
	c.mu.Lock()
	defer c.mu.Unlock()
	own := c.writes[kind]
	if own == nil {
		own = &ownWrites{deleted: map[types.UID]Request{}}
		c.writes[kind] = own
	}
	if verb == "delete" {
		own.deleted[obj.GetUID()] = KeyOf(obj)
	} else {
		own.newest = max(own.newest, version)
	}
}
