// Package informertest has a cache without a server, for tests that decide for themselves what
// happens.
//
// Neighbours: below it is controllertest, with the fake informers that it returns. It replaces
// package cache.
package informertest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller/controllertest"
)

// FakeInformers is a cache of fake informers. The zero value works. Reads find nothing and return
// no error.
type FakeInformers struct {
	// InformersByGVK are the informers that were requested. A test may put its own there.
	InformersByGVK map[schema.GroupVersionKind]cache.Informer
	// Scheme knows the kinds. The default is client-go's.
	Scheme *runtime.Scheme
	// Error is what Start and every request for an informer return.
	Error error
	// Synced is what WaitForCacheSync returns; nil means true. With false, a source of this cache
	// fails.
	Synced *bool

	mu sync.Mutex // guards InformersByGVK, and Scheme when it's set by default
}

var _ cache.Cache = (*FakeInformers)(nil)

// GetInformer implements cache.Informers.
func (c *FakeInformers) GetInformer(
	_ context.Context, obj client.Object, _ ...cache.InformerGetOption,
) (cache.Informer, error) {
	gvk, err := c.kindOf(obj)
	if err != nil {
		return nil, err
	}
	return c.informerFor(gvk)
}

// GetInformerForKind implements cache.Informers. The scheme must know the kind.
func (c *FakeInformers) GetInformerForKind(
	_ context.Context, gvk schema.GroupVersionKind, _ ...cache.InformerGetOption) (cache.Informer,
	error,
) {
	if _, err := c.scheme().New(gvk); err != nil {
		return nil, err
	}
	return c.informerFor(gvk)
}

// FakeInformerFor is GetInformer for a test that wants to call the handlers.
func (c *FakeInformers) FakeInformerFor(
	ctx context.Context, obj client.Object,
) (*controllertest.FakeInformer, error) {
	return asFake(c.GetInformer(ctx, obj))
}

// FakeInformerForKind is GetInformerForKind for the same purpose.
func (c *FakeInformers) FakeInformerForKind(
	ctx context.Context, gvk schema.GroupVersionKind,
) (*controllertest.FakeInformer, error) {
	return asFake(c.GetInformerForKind(ctx, gvk))
}

func asFake(i cache.Informer, err error) (*controllertest.FakeInformer, error) {
	if err != nil {
		return nil, err
	}
	fake, ok := i.(*controllertest.FakeInformer)
	if !ok {
		return nil, fmt.Errorf("InformersByGVK has a %T, and not a fake informer", i)
	}
	return fake, nil
}

// RemoveInformer implements cache.Informers.
func (c *FakeInformers) RemoveInformer(_ context.Context, obj client.Object) error {
	gvk, err := c.kindOf(obj)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.InformersByGVK, gvk)
	return nil
}

// WaitForCacheSync implements cache.Informers.
func (c *FakeInformers) WaitForCacheSync(context.Context) bool {
	return c.Synced == nil || *c.Synced
}

// Start implements cache.Informers. It returns at once.
func (c *FakeInformers) Start(context.Context) error { return c.Error }

// IndexField implements client.FieldIndexer. It does nothing.
func (c *FakeInformers) IndexField(
	context.Context, client.Object, string, client.IndexerFunc,
) error {
	return nil
}

// Get implements client.Reader. It does nothing.
func (c *FakeInformers) Get(
	context.Context, client.ObjectKey, client.Object, ...client.GetOption,
) error {
	return nil
}

// List implements client.Reader. It does nothing.
func (c *FakeInformers) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return nil
}

func (c *FakeInformers) scheme() *runtime.Scheme {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Scheme == nil {
		c.Scheme = scheme.Scheme
	}
	return c.Scheme
}

func (c *FakeInformers) kindOf(obj client.Object) (schema.GroupVersionKind, error) {
	kinds, _, err := c.scheme().ObjectKinds(obj)
	if err != nil {
		return schema.GroupVersionKind{}, err
	}
	if len(kinds) == 0 {
		return schema.GroupVersionKind{}, errors.New("the scheme has no kind for the object")
	}
	return kinds[0], nil
}

// informerFor makes an informer that has synced, because tests rarely want one that hasn't.
func (c *FakeInformers) informerFor(gvk schema.GroupVersionKind) (cache.Informer, error) {
	if c.Error != nil {
		return nil, c.Error
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.InformersByGVK == nil {
		c.InformersByGVK = map[schema.GroupVersionKind]cache.Informer{}
	}
	if c.InformersByGVK[gvk] == nil {
		c.InformersByGVK[gvk] = controllertest.NewFakeInformer(controllertest.Synced)
	}
	return c.InformersByGVK[gvk], nil
}
