package cache

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/manager/client"
)

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
