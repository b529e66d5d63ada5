// # Watches
//
// A kind has at most one watch for each namespace in the Options, however many readers, sources and
// indices use it. Typed, unstructured and metadata-only objects have their own:
//
//	requested        watch
//	typed            its own
//	unstructured     its own
//	metadata-only    that of typed or unstructured objects if there is one; otherwise its own
//
// Metadata is a part of every object, so a reader of metadata loses nothing and doesn't notice: its
// reads and its handlers get a PartialObjectMetadata. But a Transform has then seen the whole
// object.
//
// An unstructured object is never made from a typed one. The decoder drops the fields that the Go
// type doesn't have, because it's older than the server, or somebody else's. A reader that changes
// a label and updates the object would delete these fields in the cluster. The other direction
// would be safe, but every read and every event would have to be decoded again, which costs more
// than the watch.
//
// A metadata informer that exists first stays, with its handlers, when somebody requests whole
// objects later. If you want only one watch, request the whole objects first.
//
// # Kinds that come and go
//
// If a kind isn't installed, you get an error that meta.IsNoMatchError recognises. If it was
// installed and then deleted, you get a *KindGoneError, which says what happens to its informer. If
// the program may not read it, the error names the missing rule. None of these is a NotFound error:
// that's only for objects.
package cache

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/manager/client"
)

// gvkInformer is the informer of a kind as readers see it: one for each namespace, or one for all.
// It isn't an Informer itself; public is. It never changes, so you can read it without a lock. A
// gvkInformer of metadata may use the informers of whole objects; see sharedFormLocked.
type gvkInformer struct {
	objectKind
	cache      *objectCache
	resource   schema.GroupResource
	namespaced bool
	namespaces []*namespaceInformer // sorted by namespace
	public     *publicInformer
}

// forNamespace returns the informer that has the objects of a namespace. The one for all namespaces
// has the objects of those that have none of their own.
func (g *gvkInformer) forNamespace(namespace string) (*namespaceInformer, error) {
	if !g.namespaced {
		return g.namespaces[0], nil
	}
	for _, of := range []string{namespace, AllNamespaces} {
		for _, in := range g.namespaces {
			if in.scope.namespace == of {
				return in, nil
			}
		}
	}
	return nil, fmt.Errorf("namespace %q is not one of those that the cache has of %s", namespace,
		g.resource)
}

// forList returns the informers for a list of a namespace. A kind without namespaces has all its
// objects in one informer, whatever namespace the list names, as on the server.
func (g *gvkInformer) forList(namespace string) ([]*namespaceInformer, error) {
	if namespace == AllNamespaces || !g.namespaced {
		return g.namespaces, nil
	}
	in, err := g.forNamespace(namespace)
	if err != nil {
		return nil, err
	}
	return []*namespaceInformer{in}, nil
}

// existing returns the informer of a kind, or nil.
func (c *objectCache) existing(kind objectKind) *gvkInformer {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.byGVK[kind]
}

// informerInMaking is an informer that informerOf is making: it may still be asking the server for
// the resource.
type informerInMaking struct {
	objectKind
	ended chan struct{} // closed by informerOf, when the informer exists or can't be made
}

// beginMaking notes that an informer is being made, until the caller calls end.
func (c *objectCache) beginMaking(kind objectKind) (end func()) {
	making := informerInMaking{kind, make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.making = append(c.making, making)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.making = slices.DeleteFunc(c.making, func(m informerInMaking) bool { return m == making })
		close(making.ended)
	}
}

// waitForMaking waits for the informers that are being made now, until they exist or have failed.
// It waits for those of a kind, or for all if kind is nil. controller-runtime holds the lock of its
// informers meanwhile, so its reads wait there.
func (c *objectCache) waitForMaking(ctx context.Context, kind *objectKind) error {
	c.mu.RLock()
	making := slices.Clone(c.making)
	c.mu.RUnlock()
	for _, m := range making {
		if kind != nil && m.objectKind != *kind {
			continue
		}
		select {
		case <-m.ended:
		case <-ctx.Done():
			return timeout{fmt.Errorf("the informer of %s is still being made: %w", m.objectKind,
				context.Cause(ctx))}
		}
	}
	return nil
}

// informerOf returns the informer of a kind, and makes it if there is none.
func (c *objectCache) informerOf(kind objectKind) (*gvkInformer, error) {
	if g := c.existing(kind); g != nil {
		return g, nil
	}
	defer c.beginMaking(kind)()
	mapping, err := c.options.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, fmt.Errorf("the resource of %s: %w", kind.GroupVersionKind, err)
	}
	scopes, err := c.settings.scopes(kind.GroupVersionKind, isNamespaced(mapping))
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if g := c.byGVK[kind]; g != nil {
		return g, nil
	}
	if c.ended {
		return nil, fmt.Errorf("an informer of %s: %w", kind, errCacheStopped)
	}
	g := &gvkInformer{
		objectKind: kind, cache: c, resource: mapping.Resource.GroupResource(),
		namespaced: isNamespaced(mapping),
	}
	shared := objectKind{kind.GroupVersionKind, c.sharedFormLocked(kind, scopes[0])}
	for _, scope := range scopes {
		name := informerName{shared, scope.namespace}
		in := c.byNamespace[name]
		if in == nil {
			if in, err = c.newInformer(name, mapping, scope); err != nil {
				return nil, fmt.Errorf("an informer of %s: %w", kind, err)
			}
		}
		g.namespaces = append(g.namespaces, in)
	}
	g.public = newPublicInformer(g)
	for field, extract := range c.indices[kind] {
		if err := g.addIndex(field, extract); err != nil && !errors.Is(err, errIndexIsThere) {
			return nil, err
		}
	}
	for _, in := range g.namespaces {
		in.users++
		c.byNamespace[in.name] = in
	}
	c.byGVK[kind] = g
	select {
	case c.joined <- struct{}{}:
	default:
	}
	return g, nil
}

func isNamespaced(mapping *meta.RESTMapping) bool {
	return mapping.Scope.Name() == meta.RESTScopeNameNamespace
}

// sharedFormLocked is the form of the objects in a kind's informers. A reader of metadata needs no
// watch of its own if there is another one. All forms of a kind have the same namespaces and
// selectors.
func (c *objectCache) sharedFormLocked(kind objectKind, first scope) informer.Form {
	if kind.form != informer.FormMetadata {
		return kind.form
	}
	for _, form := range allForms {
		if c.byNamespace[informerName{objectKind{kind.GroupVersionKind, form},
			first.namespace}] != nil {
			return form
		}
	}
	return informer.FormMetadata
}

// RemoveInformer implements Informers. The informer's handlers are no longer called. Indices come
// back with the informer. If its objects also serve metadata readers, the informer keeps running
// for these.
func (c *objectCache) RemoveInformer(_ context.Context, obj client.Object) error {
	kind, err := c.kindOf(obj)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if g := c.byGVK[kind]; g != nil {
		c.removeLocked(g)
	}
	return nil
}

func (c *objectCache) removeLocked(g *gvkInformer) {
	delete(c.byGVK, g.objectKind)
	g.public.close()
	for _, in := range g.namespaces {
		if in.users--; in.users == 0 {
			delete(c.byNamespace, in.name)
			in.stopLocked()
		}
	}
}

// informerForRead returns the informer for reading a namespace into an object or a list. That
// namespace has listed; the others may be slow, or forbidden.
func (c *objectCache) informerForRead(
	ctx context.Context, into runtime.Object, namespace string,
) (*gvkInformer, error) {
	kind, err := c.kindOf(into)
	if err != nil {
		return nil, err
	}
	g, err := c.informerToRead(ctx, kind)
	if err != nil {
		return nil, err
	}
	if !c.isStarted() {
		return nil, &ErrCacheNotStarted{}
	}
	return g, g.waitForRead(ctx, namespace)
}

// informerToRead returns the informer of a kind. If there is none, it starts one, if the Options
// allow that.
func (c *objectCache) informerToRead(ctx context.Context, kind objectKind) (*gvkInformer, error) {
	if !c.options.ReaderFailOnMissingInformer {
		return c.informerOf(kind)
	}
	if g := c.existing(kind); g != nil {
		return g, nil
	}
	if err := c.waitForMaking(ctx, &kind); err != nil {
		return nil, err
	}
	if g := c.existing(kind); g != nil {
		return g, nil
	}
	return nil, &ErrResourceNotCached{GVK: kind.GroupVersionKind}
}

// GetInformer implements Informers. All callers get the same informer for the same kind of objects.
func (c *objectCache) GetInformer(
	ctx context.Context, obj client.Object, opts ...InformerGetOption,
) (Informer, error) {
	kind, err := c.kindOf(obj)
	if err != nil {
		return nil, err
	}
	return c.getInformer(ctx, kind, opts)
}

// GetInformerForKind implements Informers.
//
// If the scheme doesn't know the kind, the objects are unstructured. In controller-runtime that's
// an error.
func (c *objectCache) GetInformerForKind(
	ctx context.Context, gvk schema.GroupVersionKind, opts ...InformerGetOption,
) (Informer, error) {
	kind := objectKind{gvk, informer.FormUnstructured}
	if c.options.Scheme.Recognizes(gvk) {
		kind.form = informer.FormTyped
	}
	return c.getInformer(ctx, kind, opts)
}

func (c *objectCache) getInformer(
	ctx context.Context, kind objectKind, opts []InformerGetOption,
) (Informer, error) {
	options := InformerGetOptions{}
	for _, set := range opts {
		set(&options)
	}
	g, err := c.informerOf(kind)
	if err != nil {
		return nil, err
	}
	waits := options.BlockUntilSynced == nil || *options.BlockUntilSynced
	if waits && c.isStarted() {
		if err := g.public.WaitForSync(ctx); err != nil {
			return nil, err
		}
	}
	return g.public, nil
}
