package mini

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// The names of a Cache's indices.
const (
	ByNamespace = "namespace"
	ByOwner     = "owner" // by the UID of each owner
	ByNode      = "node"  // Pods, by the name of their node
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
		ByNode: func(obj Object) []string {
			if pod, ok := obj.(*corev1.Pod); ok {
				return []string{pod.Spec.NodeName}
			}
			return nil
		},
	}
}

// Cache has one informer for each kind of object.
type Cache struct {
	cluster *Cluster

	mu        sync.Mutex // guards all below
	informers map[schema.GroupVersionKind]*SharedInformer
	start     func(*SharedInformer) // nil unless Run is running
}

// NewCache returns a cache without informers.
func NewCache(cluster *Cluster) *Cache {
	informers := map[schema.GroupVersionKind]*SharedInformer{}
	return &Cache{cluster: cluster, informers: informers}
}

// Informer returns the informer for the type of like. The first call for a type makes
// one, which runs as soon as Run does.
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

// Run runs all informers until ctx ends, including any that you add in the meantime.
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

// WaitForSync blocks until every informer that exists now has its first list.
func (c *Cache) WaitForSync(ctx context.Context) error {
	c.mu.Lock()
	var all []*SharedInformer
	for _, informer := range c.informers {
		all = append(all, informer)
	}
	c.mu.Unlock()
	for _, informer := range all {
		if err := informer.WaitFor(ctx, informer.HasSynced); err != nil {
			return fmt.Errorf("waiting for the first lists: %w", err)
		}
	}
	return nil
}

// CachedClient reads from a Cache and writes to the API server.
//
// Guarantees: a read shows everything that this client has written before. If the watch
// is late, the read waits until the cache shows the client's own writes of that kind, but
// not for other kinds or other clients. A read blocks until the kind has its first list.
//
// Caveats: other clients' writes may show up late. If you update an object that such a
// write has changed, the API server refuses with a conflict: reconcile again. If the API
// server carried out a write but its answer got lost, the write counts as failed. After
// the API server was restored from a backup, reads may lack writes until the kind is
// listed again.
type CachedClient struct {
	*Client
	Cache *Cache

	mu     sync.Mutex // guards writes
	writes map[schema.GroupVersionKind]*ownWrites
}

// ownWrites is what reads of one kind must show.
type ownWrites struct {
	newest  uint64                // the highest resourceVersion that a write has returned
	gone    map[types.UID]Request // deleted: the answer to a deletion may have no version
	rewinds int                   // of the informer; after one more, all this is void
}

// follow forgets the writes if the informer has left their history, as after a restored
// backup.
func (w *ownWrites) follow(informer *SharedInformer) {
	if rewinds := informer.Rewinds(); rewinds > w.rewinds {
		w.newest, w.rewinds = 0, rewinds
		clear(w.gone)
	}
}

// NewCachedClient returns a client that reads from the cache.
func NewCachedClient(cache *Cache) *CachedClient {
	c := &CachedClient{Cache: cache, writes: map[schema.GroupVersionKind]*ownWrites{}}
	c.Client = &Client{Cluster: cache.cluster, Wrote: c.wrote}
	return c
}

// Get fills into with a copy of the object in the cache.
func (c *CachedClient) Get(ctx context.Context, key Request, into Object) error {
	informer, err := c.upToDate(ctx, into)
	if err != nil {
		return err
	}
	obj := informer.Get(key)
	if obj == nil {
		kind, _ := c.Cluster.KindOf(into) // the cache has already found it
		resource := schema.GroupResource{Group: kind.Group, Resource: kind.Kind}
		return apierrors.NewNotFound(resource, key.Name)
	}
	assign(into, obj.DeepCopyObject())
	return nil
}

// List returns copies of the cached objects in the selection, sorted by key.
func (c *CachedClient) List(
	ctx context.Context, like Object, selection Selection,
) (all []Object, err error) {
	informer, err := c.upToDate(ctx, like)
	if err != nil {
		return nil, err
	}
	var objs []Object
	if selection.Namespace == "" {
		objs = informer.List()
	} else {
		objs, _ = informer.ByIndex(ByNamespace, selection.Namespace) // it has the index
	}
	for _, obj := range objs {
		if selection.Matches(obj) {
			all = append(all, obj.DeepCopyObject().(Object))
		}
	}
	return all, nil
}

// OwnedBy returns copies of the cached objects that have owner among their owners, sorted
// by key.
func OwnedBy[T Object](ctx context.Context, c *CachedClient, owner Object) ([]T, error) {
	return listByIndex[T](ctx, c, ByOwner, string(owner.GetUID()))
}

// listByIndex returns copies of the cached objects that one of the cache's indices files
// under this value, sorted by key.
func listByIndex[T Object](
	ctx context.Context, c *CachedClient, index, value string,
) ([]T, error) {
	informer, err := c.upToDate(ctx, newObject[T]())
	if err != nil {
		return nil, err
	}
	objs, err := informer.ByIndex(index, value)
	if err != nil {
		return nil, err
	}
	all := make([]T, len(objs))
	for i, obj := range objs {
		all[i] = obj.DeepCopyObject().(T)
	}
	return all, nil
}

// upToDate waits until the informer for the type of like shows everything that this
// client has written, and returns that informer.
func (c *CachedClient) upToDate(
	ctx context.Context, like Object,
) (*SharedInformer, error) {
	informer, err := c.Cache.Informer(like)
	if err != nil {
		return nil, err
	}
	kind, _ := c.Cluster.KindOf(like) // the cache has already found it
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
	own.follow(informer)
	if informer.Version() < own.newest {
		return false
	}
	for uid, key := range own.gone {
		if obj := informer.Get(key); obj != nil && obj.GetUID() == uid {
			return false
		}
		delete(own.gone, uid)
	}
	return true
}

// wrote makes reads wait until the cache shows this write.
func (c *CachedClient) wrote(obj Object, gone bool) {
	kind, _ := c.Cluster.KindOf(obj) // the request has already found it
	version, _ := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
	c.Cache.mu.Lock()
	informer := c.Cache.informers[kind] // nil if nothing has read the kind
	c.Cache.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	own := c.writes[kind]
	if own == nil {
		own = &ownWrites{gone: map[types.UID]Request{}}
		c.writes[kind] = own
	}
	if informer != nil {
		own.follow(informer) // this write belongs to the new history
	}
	own.newest = max(own.newest, version)
	if gone {
		own.gone[obj.GetUID()] = KeyOf(obj)
	}
}
