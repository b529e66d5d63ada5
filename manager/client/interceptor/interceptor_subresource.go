package interceptor

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loopwright/loopwright/manager/client"
)

// subResourceInterceptor does for one subresource what interceptor does for the objects.
type subResourceInterceptor struct {
	client.SubResourceClient
	of   *interceptor
	name string
}

// Get implements client.SubResourceReader.
func (s *subResourceInterceptor) Get(ctx context.Context, obj, subResource client.Object, opts ...client.SubResourceGetOption) error {
	if s.of.funcs.SubResourceGet != nil {
		return s.of.funcs.SubResourceGet(ctx, s.of.WithWatch, s.name, obj, subResource, opts...)
	}
	return s.SubResourceClient.Get(ctx, obj, subResource, opts...)
}

// Create implements client.SubResourceWriter.
func (s *subResourceInterceptor) Create(ctx context.Context, obj, subResource client.Object, opts ...client.SubResourceCreateOption) error {
	if s.of.funcs.SubResourceCreate != nil {
		return s.of.funcs.SubResourceCreate(ctx, s.of.WithWatch, s.name, obj, subResource, opts...)
	}
	return s.SubResourceClient.Create(ctx, obj, subResource, opts...)
}

// Update implements client.SubResourceWriter.
func (s *subResourceInterceptor) Update(ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption) error {
	if s.of.funcs.SubResourceUpdate != nil {
		return s.of.funcs.SubResourceUpdate(ctx, s.of.WithWatch, s.name, obj, opts...)
	}
	return s.SubResourceClient.Update(ctx, obj, opts...)
}

// Patch implements client.SubResourceWriter.
func (s *subResourceInterceptor) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	if s.of.funcs.SubResourcePatch != nil {
		return s.of.funcs.SubResourcePatch(ctx, s.of.WithWatch, s.name, obj, patch, opts...)
	}
	return s.SubResourceClient.Patch(ctx, obj, patch, opts...)
}

// Apply implements client.SubResourceWriter.
func (s *subResourceInterceptor) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
	if s.of.funcs.SubResourceApply != nil {
		return s.of.funcs.SubResourceApply(ctx, s.of.WithWatch, s.name, obj, opts...)
	}
	return s.SubResourceClient.Apply(ctx, obj, opts...)
}
