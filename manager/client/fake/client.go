package fake

import (
	"context"
	"errors"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/apiutil"
	"github.com/loopwright/loopwright/manager/event"
)

// fakeClient is the real client. It inspects the calls, because only they show whether a custom
// resource is namespaced, and it answers lists by field from indexes.
type fakeClient struct {
	client.WithWatch
	kinds   *kinds
	mapper  meta.RESTMapper
	indexes *indexes
}

// IsObjectNamespaced implements client.Client.
func (c *fakeClient) IsObjectNamespaced(obj runtime.Object) (bool, error) {
	return apiutil.IsObjectNamespaced(obj, c.Scheme(), c.kinds)
}

// RESTMapper implements client.Client.
func (c *fakeClient) RESTMapper() meta.RESTMapper { return c.mapper }

// keyOf is empty if the object is nil, which the client itself refuses.
func keyOf(obj client.Object) client.ObjectKey {
	if event.IsNil(obj) {
		return client.ObjectKey{}
	}
	return client.ObjectKeyFromObject(obj)
}

// meet notes a call for an object in a namespace. If something is wrong with the object, the client
// says so.
func (c *fakeClient) meet(obj runtime.Object, namespace string, creates bool) {
	if gvk, err := c.GroupVersionKindFor(obj); err == nil {
		c.kinds.meet(gvk, namespace, creates)
	}
}

// Get implements client.Reader.
func (c *fakeClient) Get(
	ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption,
) error {
	c.meet(obj, key.Namespace, false)
	return c.WithWatch.Get(ctx, key, obj, opts...)
}

// Watch implements client.WithWatch. It ends with its context, even if nothing reads from it:
// client-go's would wait for a reader, in a goroutine that outlives the test.
func (c *fakeClient) Watch(
	ctx context.Context, list client.ObjectList, opts ...client.ListOption,
) (watch.Interface, error) {
	w, err := c.WithWatch.Watch(ctx, list, opts...)
	if err != nil {
		return nil, err
	}
	return &endingWatch{w, context.AfterFunc(ctx, w.Stop)}, nil
}

type endingWatch struct {
	watch.Interface
	release func() bool // of the context
}

// Stop implements watch.Interface.
func (w *endingWatch) Stop() {
	w.release()
	w.Interface.Stop()
}

// Create implements client.Writer.
func (c *fakeClient) Create(
	ctx context.Context, obj client.Object, opts ...client.CreateOption,
) error {
	c.meet(obj, keyOf(obj).Namespace, true)
	return c.explain(c.WithWatch.Create(ctx, obj, opts...))
}

// Update implements client.Writer.
func (c *fakeClient) Update(
	ctx context.Context, obj client.Object, opts ...client.UpdateOption,
) error {
	c.meet(obj, keyOf(obj).Namespace, false)
	return c.explain(c.WithWatch.Update(ctx, obj, opts...))
}

// Patch implements client.Writer.
func (c *fakeClient) Patch(
	ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption,
) error {
	c.meet(obj, keyOf(obj).Namespace, patch != nil && patch.Type() == types.ApplyPatchType)
	return c.explain(c.WithWatch.Patch(ctx, obj, patch, opts...))
}

// Delete implements client.Writer.
func (c *fakeClient) Delete(
	ctx context.Context, obj client.Object, opts ...client.DeleteOption,
) error {
	c.meet(obj, keyOf(obj).Namespace, false)
	return c.WithWatch.Delete(ctx, obj, opts...)
}

// Apply implements client.Writer.
func (c *fakeClient) Apply(
	ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption,
) error {
	gvk, namespace, ok := applied(obj)
	if ok {
		c.kinds.meet(gvk, namespace, true)
	}
	return c.explain(c.WithWatch.Apply(ctx, obj, opts...))
}

// explain says what to do if an object of a test isn't complete. Otherwise it returns the server's
// error.
func (c *fakeClient) explain(err error) error {
	var refused *apierrors.StatusError
	if apierrors.IsInvalid(err) && errors.As(err, &refused) {
		refused.ErrStatus.Message += " (if the object is not meant to be complete, build the " +
			"client with LikeControllerRuntime)"
	}
	return err
}

// Status implements client.StatusClient.
func (c *fakeClient) Status() client.SubResourceWriter { return c.SubResource("status") }

// SubResource implements client.SubResourceClientConstructor.
func (c *fakeClient) SubResource(name string) client.SubResourceClient {
	return &fakeSubResource{c, name}
}

// fakeSubResource inspects calls as fakeClient does.
type fakeSubResource struct {
	client *fakeClient
	name   string
}

// of returns the client for the subresource of an object.
func (s *fakeSubResource) of(obj client.Object) client.SubResourceClient {
	s.client.meet(obj, keyOf(obj).Namespace, false)
	return s.client.WithWatch.SubResource(s.name)
}

// Apply implements client.SubResourceWriter.
func (s *fakeSubResource) Apply(
	ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption,
) error {
	return s.client.WithWatch.SubResource(s.name).Apply(ctx, obj, opts...)
}

// Get implements client.SubResourceReader.
func (s *fakeSubResource) Get(
	ctx context.Context, obj, subResource client.Object, opts ...client.SubResourceGetOption,
) error {
	return s.of(obj).Get(ctx, obj, subResource, opts...)
}

// Create implements client.SubResourceWriter.
func (s *fakeSubResource) Create(
	ctx context.Context, obj, subResource client.Object, opts ...client.SubResourceCreateOption,
) error {
	return s.of(obj).Create(ctx, obj, subResource, opts...)
}

// Update implements client.SubResourceWriter.
func (s *fakeSubResource) Update(
	ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption,
) error {
	return s.client.explain(s.of(obj).Update(ctx, obj, opts...))
}

// Patch implements client.SubResourceWriter.
func (s *fakeSubResource) Patch(
	ctx context.Context, obj client.Object, patch client.Patch,
	opts ...client.SubResourcePatchOption,
) error {
	return s.client.explain(s.of(obj).Patch(ctx, obj, patch, opts...))
}

// applied returns the kind and the namespace of an apply configuration.
func applied(
	obj runtime.ApplyConfiguration,
) (gvk schema.GroupVersionKind, namespace string, ok bool) {
	if v := reflect.ValueOf(obj); v.Kind() == reflect.Pointer && v.IsNil() {
		return gvk, "", false
	}
	switch config := obj.(type) {
	case interface {
		GroupVersionKind() schema.GroupVersionKind
		GetNamespace() string
	}: // an unstructured one
		return config.GroupVersionKind(), config.GetNamespace(), true
	case interface {
		GetKind() *string
		GetAPIVersion() *string
		GetNamespace() *string
	}:
		gv, err := schema.ParseGroupVersion(ptr.Deref(config.GetAPIVersion(), ""))
		return gv.WithKind(ptr.Deref(config.GetKind(), "")), ptr.Deref(config.GetNamespace(),
			""), err == nil
	}
	return gvk, "", false
}
