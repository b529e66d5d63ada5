package fake

import (
	"context"
	"errors"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/apiutil"
	"github.com/loopwright/loopwright/manager/event"
)

// fakeClient is the real client. It looks at calls in passing, because only they say whether a
// custom resource is in namespaces, and it answers lists by field from indexes.
type fakeClient struct {
	client.WithWatch
	// loose is for objects without a namespace, of any kind. It is nil unless the client is like
	// controller-runtime's, and WithWatch is for objects in namespaces then.
	loose   client.WithWatch
	kinds   *kinds
	mapper  meta.RESTMapper
	indexes *indexes
}

// in returns the client for an object in a namespace, or in none.
func (c *fakeClient) in(namespace string) client.WithWatch {
	if namespace == "" && c.loose != nil {
		return c.loose
	}
	return c.WithWatch
}

// IsObjectNamespaced implements client.Client.
func (c *fakeClient) IsObjectNamespaced(obj runtime.Object) (bool, error) {
	return apiutil.IsObjectNamespaced(obj, c.Scheme(), c.kinds)
}

// RESTMapper implements client.Client.
func (c *fakeClient) RESTMapper() meta.RESTMapper { return c.mapper }

// keyOf is empty if the object is nil, which is the client's to refuse.
func keyOf(obj client.Object) client.ObjectKey {
	if event.IsNil(obj) {
		return client.ObjectKey{}
	}
	return client.ObjectKeyFromObject(obj)
}

// meet notes that there is a call for an object in a namespace. What is wrong with the object is
// the client's to say.
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
	if err := c.find(obj, key.Name); err != nil {
		return err
	}
	return c.in(key.Namespace).Get(ctx, key, obj, opts...)
}

// find is the answer to a request for an object without a name. controller-runtime's client finds
// none; others refuse the request.
func (c *fakeClient) find(obj runtime.Object, name string) error {
	if c.loose == nil || name != "" {
		return nil
	}
	gvk, err := c.GroupVersionKindFor(obj)
	if err != nil {
		return err
	}
	mapping, err := c.kinds.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return err
	}
	return apierrors.NewNotFound(mapping.Resource.GroupResource(), name)
}

// Watch implements client.WithWatch. It ends with its context, even if nobody reads it: that of
// client-go would wait for a reader, in a goroutine that outlives the test.
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
	return c.finish(obj, c.in(keyOf(obj).Namespace).Create(ctx, obj, opts...))
}

// Update implements client.Writer.
func (c *fakeClient) Update(
	ctx context.Context, obj client.Object, opts ...client.UpdateOption,
) error {
	c.meet(obj, keyOf(obj).Namespace, false)
	return c.finish(obj, c.in(keyOf(obj).Namespace).Update(ctx, obj, opts...))
}

// Patch implements client.Writer.
func (c *fakeClient) Patch(
	ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption,
) error {
	c.meet(obj, keyOf(obj).Namespace, patch != nil && patch.Type() == types.ApplyPatchType)
	return c.finish(obj, c.in(keyOf(obj).Namespace).Patch(ctx, obj, patch, opts...))
}

// Delete implements client.Writer.
func (c *fakeClient) Delete(
	ctx context.Context, obj client.Object, opts ...client.DeleteOption,
) error {
	c.meet(obj, keyOf(obj).Namespace, false)
	if err := c.find(obj, keyOf(obj).Name); err != nil {
		return err
	}
	return c.in(keyOf(obj).Namespace).Delete(ctx, obj, opts...)
}

// Apply implements client.Writer.
func (c *fakeClient) Apply(
	ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption,
) error {
	gvk, namespace, ok := applied(obj)
	if ok {
		c.kinds.meet(gvk, namespace, true)
	}
	return c.explain(c.in(namespace).Apply(ctx, obj, opts...))
}

// finish is the end of a write that has an answer.
func (c *fakeClient) finish(obj client.Object, err error) error {
	if c.loose != nil && err == nil {
		forgetKind(obj)
	}
	return c.explain(err)
}

// forgetKind does what controller-runtime's fake client does: it leaves no kind in an object with a
// Go type. Other clients leave it as it was.
func forgetKind(obj runtime.Object) {
	switch obj.(type) {
	case runtime.Unstructured, *metav1.PartialObjectMetadata:
	default:
		obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
}

// explain says what to do if an object of a test is not complete. The error is the server's
// otherwise.
func (c *fakeClient) explain(err error) error {
	var refused *apierrors.StatusError
	if c.loose == nil && apierrors.IsInvalid(err) && errors.As(err, &refused) {
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

// fakeSubResource looks at calls as fakeClient does.
type fakeSubResource struct {
	client *fakeClient
	name   string
}

// of returns the client for the subresource of an object.
func (s *fakeSubResource) of(obj client.Object) client.SubResourceClient {
	s.client.meet(obj, keyOf(obj).Namespace, false)
	return s.client.in(keyOf(obj).Namespace).SubResource(s.name)
}

// Apply implements client.SubResourceWriter.
func (s *fakeSubResource) Apply(
	ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption,
) error {
	_, namespace, _ := applied(obj)
	return s.client.in(namespace).SubResource(s.name).Apply(ctx, obj, opts...)
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
	return s.client.finish(obj, s.of(obj).Update(ctx, obj, opts...))
}

// Patch implements client.SubResourceWriter.
func (s *fakeSubResource) Patch(
	ctx context.Context, obj client.Object, patch client.Patch,
	opts ...client.SubResourcePatchOption,
) error {
	return s.client.finish(obj, s.of(obj).Patch(ctx, obj, patch, opts...))
}

// applied returns the kind and the namespace of something to apply.
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
