package cache

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/manager/client"
)

var (
	_ client.WriteWaiter = (*objectCache)(nil)
	_ client.Progress    = (*objectCache)(nil)
)

// WriteWaiter is the part of the cache for a client whose reads wait for its writes.
type WriteWaiter = client.WriteWaiter

// Holds implements client.WriteWaiter.
func (c *objectCache) Holds(written client.Object) bool {
	in, _ := c.informerHolding(written, client.ObjectKeyFromObject(written))
	return in != nil && in.mayHold(written)
}

// Reached implements client.Progress.
func (c *objectCache) Reached(obj client.Object, key client.ObjectKey) (version string, rewinds int) {
	in, _ := c.informerHolding(obj, key)
	if in == nil {
		return "", 0
	}
	return in.informer.Health().ResourceVersion, in.informer.Rewinds()
}

// mayHold reports whether the informer's selectors may match an object. For field selectors, it can
// only check names.
func (k *namespaceInformer) mayHold(object client.Object) bool {
	if k.scope.label != nil && !k.scope.label.Matches(labels.Set(object.GetLabels())) {
		return false
	}
	if k.scope.field == nil {
		return true
	}
	for _, one := range k.scope.field.Requirements() {
		var value string
		switch one.Field {
		case "metadata.name":
			value = object.GetName()
		case "metadata.namespace":
			value = object.GetNamespace()
		default:
			continue
		}
		if (one.Operator == selection.NotEquals) == (value == one.Value) {
			return false
		}
	}
	return true
}

// ended is a context for checking whether there's anything to wait for.
var ended = func() context.Context {
	ctx, end := context.WithCancel(context.Background())
	end()
	return ctx
}()

// WaitFor implements client.WriteWaiter. The event ends the wait. An object that the selectors
// don't match has no event, and waits for a bookmark, up to a minute: call Holds first.
func (c *objectCache) WaitFor(
	ctx context.Context, obj client.Object, key client.ObjectKey, resourceVersion string,
) error {
	return c.waitAsReads(ctx, obj, key, func(ctx context.Context, in objectInformer, key informer.Key) error {
		return in.WaitFor(ctx, key, resourceVersion)
	})
}

// WaitForEnd implements client.WriteWaiter.
func (c *objectCache) WaitForEnd(
	ctx context.Context, obj client.Object, key client.ObjectKey, isOld func(client.Object) bool,
) error {
	return c.waitAsReads(ctx, obj, key, func(ctx context.Context, in objectInformer, key informer.Key) error {
		return in.WaitForEnd(ctx, key, isOld)
	})
}

type objectInformer = *informer.Informer[client.Object]

// waitAsReads waits in the informer that a read of the object would use.
func (c *objectCache) waitAsReads(
	ctx context.Context, obj client.Object, key client.ObjectKey,
	wait func(context.Context, objectInformer, informer.Key) error,
) error {
	in, key := c.informerHolding(obj, key)
	if in == nil {
		return nil
	}
	if !c.isStarted() {
		return &ErrCacheNotStarted{} // as a read would be: nothing comes that could be waited for
	}
	return in.waitAsReads(ctx, func(ctx context.Context) error { return wait(ctx, in.informer, key) })
}

// informerHolding returns the informer that a read of the object would use, and the key; or nil if
// there is none.
func (c *objectCache) informerHolding(
	obj client.Object, key client.ObjectKey,
) (*namespaceInformer, informer.Key) {
	kind, err := c.kindOf(obj)
	if err != nil {
		return nil, key
	}
	g := c.existing(kind)
	// A reader of metadata would share the informer of whole objects.
	if kind.form == informer.FormMetadata {
		for _, form := range allForms {
			if g == nil {
				g = c.existing(objectKind{kind.GroupVersionKind, form})
			}
		}
	}
	if g == nil {
		return nil, key
	}
	in, err := g.forNamespace(key.Namespace)
	if err != nil {
		return nil, key
	}
	if !g.namespaced {
		key.Namespace = ""
	}
	return in, key
}

// waitAsReads waits where a read would be answered, and fails where it would fail: the kind was
// removed, or the program may not list it. In these cases the write never arrives.
func (k *namespaceInformer) waitAsReads(
	ctx context.Context, wait func(context.Context) error,
) error {
	if k.from.isGone() {
		return fmt.Errorf("waiting for a write: %w", &KindGoneError{k.name.GroupVersionKind})
	}
	if err := k.waitForRead(ctx); err != nil {
		return fmt.Errorf("waiting for a write: %w", err)
	}
	if err := k.readable(ctx); err != nil {
		return fmt.Errorf("waiting for a write: %w", err)
	}
	if wait(ended) == nil {
		return nil // most often there's nothing to wait for
	}
	ctx, end := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		if k.from.untilGone(ctx) {
			end(&KindGoneError{k.name.GroupVersionKind})
		}
	})
	defer watching.Wait()
	defer end(nil)
	return wait(ctx)
}
