// # Watches
//
// A kind has at most one watch for each form and each namespace that the Options name, whoever asks for it:
// readers, sources and indices. Which forms share one:
//
//	asked for        has the watch of
//	typed            its own
//	unstructured     its own
//	metadata-only    typed or unstructured objects if one of these is there already; its own otherwise
//
// Metadata is a part of every object, so a reader of metadata loses nothing. It does not have to know: what it
// reads, and what its handlers hear, is a PartialObjectMetadata. A Transform has then seen the whole object.
//
// An unstructured object is never made of a typed one. The decoder drops the fields that the Go type does not
// have, because it is older than the server, or somebody else's. A reader that changes a label and updates the
// object would delete these fields in the cluster. The other way round it would be safe, but every read
// and every event would have to be decoded once more. That costs more than the watch.
//
// A metadata informer that is there first stays, with its handlers, when a whole object is asked for later.
// A program that wants one watch asks for the whole objects first.
//
// # Kinds that come and go
//
// A kind that is not installed is an error that meta.IsNoMatchError recognises. One that was installed and is
// deleted is a *KindGoneError, which says what happens to its informer. A kind that the program may not read is an
// error with the rule that is missing. Neither is a NotFound error: that is said only of objects.
package cache

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/manager/client"
)

// view is what readers of a kind in one form have: an informer for each namespace, or one for all.
// It never changes, so it is read without a lock. A metadata-only view may have the informers of
// another form; see sharedForm.
type view struct {
	kindForm
	cache      *objectCache
	resource   schema.GroupResource
	namespaced bool
	parts      []*kindInformer // sorted by namespace
	handlers   *viewHandlers

	synced atomic.Bool // all parts have listed; a cache of what their channels say
}

// partOf is the informer that has the objects of a namespace.
func (v *view) partOf(namespace string) (*kindInformer, error) {
	if !v.namespaced {
		return v.parts[0], nil
	}
	var rest *kindInformer
	for _, part := range v.parts {
		switch part.scope.namespace {
		case namespace:
			return part, nil
		case AllNamespaces:
			rest = part
		}
	}
	if rest == nil {
		return nil, fmt.Errorf("namespace %q is not one of those that the cache has of %s", namespace, v.resource)
	}
	return rest, nil
}

// partsOf are the informers that a list of a namespace goes to. A kind without namespaces has all
// its objects in one, whatever namespace is asked for, as it is at the server.
func (v *view) partsOf(namespace string) ([]*kindInformer, error) {
	if namespace == AllNamespaces || !v.namespaced {
		return v.parts, nil
	}
	part, err := v.partOf(namespace)
	if err != nil {
		return nil, err
	}
	return []*kindInformer{part}, nil
}

// existingView is the view of a kind, or nil.
func (c *objectCache) existingView(kind kindForm) *view {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.views[kind]
}

// viewInMaking is a view that viewOf is making: perhaps it is still asking the server for the resource.
type viewInMaking struct {
	kindForm
	ended chan struct{} // closed by viewOf, when the view is there or cannot be made
}

// beginMaking notes that a view is being made, until the caller calls end.
func (c *objectCache) beginMaking(kind kindForm) (end func()) {
	making := viewInMaking{kind, make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.making = append(c.making, making)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.making = slices.DeleteFunc(c.making, func(m viewInMaking) bool { return m == making })
		close(making.ended)
	}
}

// waitForMaking waits until the views that are being made now are there, or could not be made: those of a kind, or
// all if it is nil. controller-runtime holds the lock of its informers meanwhile, so its reads wait there.
func (c *objectCache) waitForMaking(ctx context.Context, kind *kindForm) error {
	c.mu.Lock()
	making := slices.Clone(c.making)
	c.mu.Unlock()
	for _, m := range making {
		if kind != nil && m.kindForm != *kind {
			continue
		}
		select {
		case <-m.ended:
		case <-ctx.Done():
			return timeout{fmt.Errorf("the informer of %s is still being made: %w", m.kindForm, context.Cause(ctx))}
		}
	}
	return nil
}

// viewOf is the view of a kind. It is made if there is none, and then perhaps informers, too.
func (c *objectCache) viewOf(kind kindForm) (*view, error) {
	if v := c.existingView(kind); v != nil {
		return v, nil
	}
	defer c.beginMaking(kind)()
	mapping, err := c.options.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, fmt.Errorf("the resource of %s: %w", kind.GroupVersionKind, err)
	}
	of := placeOf(mapping)
	scopes, err := c.settings.scopes(kind.GroupVersionKind, of.namespaced)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if v := c.views[kind]; v != nil {
		return v, nil
	}
	if c.ended {
		return nil, fmt.Errorf("an informer of %s: %w", kind, errCacheStopped)
	}
	v := &view{kindForm: kind, cache: c, resource: of.GroupResource(), namespaced: of.namespaced}
	if v.parts, err = c.partsLocked(kind, of, scopes); err != nil {
		return nil, fmt.Errorf("an informer of %s: %w", kind, err)
	}
	v.handlers = newViewHandlers(v)
	for field, extract := range c.indices[kind] {
		if err := v.addIndex(field, extract); err != nil && !errors.Is(err, errIndexIsThere) {
			return nil, err
		}
	}
	for _, part := range v.parts {
		part.users++
		c.informers[part.name] = part
	}
	c.views[kind] = v
	select {
	case c.joined <- struct{}{}:
	default:
	}
	return v, nil
}

// partsLocked finds the informers of a view, or makes those that are not there.
func (c *objectCache) partsLocked(kind kindForm, of place, scopes []scope) ([]*kindInformer, error) {
	shared := c.sharedFormLocked(kind, scopes[0])
	var parts []*kindInformer
	for _, scope := range scopes {
		name := informerName{kindForm{kind.GroupVersionKind, shared}, scope.namespace}
		part := c.informers[name]
		if part == nil {
			var err error
			if part, err = c.newInformer(name, of, scope); err != nil {
				return nil, err
			}
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// sharedFormLocked is the form of the informers that a view uses. Metadata is a part of every form,
// so a reader of metadata needs no watch of its own where there is another. All forms of a kind have
// the same namespaces and selectors.
func (c *objectCache) sharedFormLocked(kind kindForm, first scope) informer.Form {
	if kind.form != informer.FormMetadata {
		return kind.form
	}
	for _, form := range []informer.Form{informer.FormMetadata, informer.FormTyped, informer.FormUnstructured} {
		if c.informers[informerName{kindForm{kind.GroupVersionKind, form}, first.namespace}] != nil {
			return form
		}
	}
	return informer.FormMetadata
}

// RemoveInformer implements Informers. A handler that was added to it is not called any more. Indices
// are there again when the informer is. An informer whose objects serve metadata readers as well goes
// on for these.
func (c *objectCache) RemoveInformer(_ context.Context, obj client.Object) error {
	kind, err := c.kindOf(obj)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if v := c.views[kind]; v != nil {
		c.removeLocked(v)
	}
	return nil
}

func (c *objectCache) removeLocked(v *view) {
	delete(c.views, v.kindForm)
	byType := maps.Clone(*c.byType.Load())
	maps.DeleteFunc(byType, func(_ reflect.Type, of *view) bool { return of == v })
	c.byType.Store(&byType)
	v.handlers.close()
	for _, part := range v.parts {
		if part.users--; part.users == 0 {
			delete(c.informers, part.name)
			part.stopLocked()
		}
	}
}

// viewForRead is the view for a read of a namespace into an object or a list. That namespace has listed; the
// others may be slow, or forbidden.
func (c *objectCache) viewForRead(ctx context.Context, into runtime.Object, namespace string) (*view, error) {
	if v := (*c.byType.Load())[reflect.TypeOf(into)]; v != nil && !reflect.ValueOf(into).IsNil() {
		return v, nil
	}
	kind, err := c.kindOf(into)
	if err != nil {
		return nil, err
	}
	v, err := c.viewToRead(ctx, kind)
	if err != nil {
		return nil, err
	}
	if !c.isStarted() {
		return nil, &ErrCacheNotStarted{}
	}
	if !v.synced.Load() {
		if err := v.waitForRead(ctx, namespace); err != nil {
			return nil, err
		}
		if !v.handlers.HasSynced() {
			return v, nil
		}
		v.synced.Store(true)
	}
	c.remember(into, v)
	return v, nil
}

// viewToRead is the view of a kind, which a read makes if the Options allow it.
func (c *objectCache) viewToRead(ctx context.Context, kind kindForm) (*view, error) {
	if !c.options.ReaderFailOnMissingInformer {
		return c.viewOf(kind)
	}
	if v := c.existingView(kind); v != nil {
		return v, nil
	}
	if err := c.waitForMaking(ctx, &kind); err != nil {
		return nil, err
	}
	if v := c.existingView(kind); v != nil {
		return v, nil
	}
	return nil, &ErrResourceNotCached{GVK: kind.GroupVersionKind}
}

// remember lets the next read find the view by its Go type.
func (c *objectCache) remember(into runtime.Object, v *view) {
	if !c.hasOneKind(into) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.views[v.kindForm] != v {
		return // removed since
	}
	byType := maps.Clone(*c.byType.Load())
	byType[reflect.TypeOf(into)] = v
	c.byType.Store(&byType)
}

// GetInformer implements Informers. Everybody who asks for a kind in one form gets the same informer.
func (c *objectCache) GetInformer(ctx context.Context, obj client.Object, opts ...InformerGetOption) (Informer, error) {
	kind, err := c.kindOf(obj)
	if err != nil {
		return nil, err
	}
	return c.informerOf(ctx, kind, opts)
}

// GetInformerForKind implements Informers.
func (c *objectCache) GetInformerForKind(ctx context.Context, gvk schema.GroupVersionKind, opts ...InformerGetOption) (Informer, error) {
	return c.informerOf(ctx, c.kindNamed(gvk), opts)
}

func (c *objectCache) informerOf(ctx context.Context, kind kindForm, opts []InformerGetOption) (Informer, error) {
	options := InformerGetOptions{}
	for _, set := range opts {
		set(&options)
	}
	v, err := c.viewOf(kind)
	if err != nil {
		return nil, err
	}
	waits := options.BlockUntilSynced == nil || *options.BlockUntilSynced
	if waits && c.isStarted() {
		if err := v.handlers.WaitForSync(ctx); err != nil {
			return nil, err
		}
	}
	return v.handlers, nil
}
