package client

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loopwright/loopwright/manager/internal/anyvalue"
	"github.com/loopwright/loopwright/trace"
)

// recordingClient records each write, and the reconcile that it was made in.
type recordingClient struct {
	Client
	recorder *trace.Recorder
}

// write calls one method of the wrapped client. After that, obj has the server's answer.
func (c *recordingClient) write(
	ctx context.Context, op string, obj runtime.Object, call func() error,
) error {
	began := time.Now()
	err := call()
	e := trace.Event{
		Layer: "client", Kind: trace.Write, Op: op, Took: time.Since(began),
	}
	if !anyvalue.IsNil(obj) {
		if gvk, unknown := c.GroupVersionKindFor(obj); unknown == nil {
			e.Object = gvk.Kind
		}
		if object, ok := obj.(Object); ok {
			e.Namespace, e.Name = object.GetNamespace(), object.GetName()
			e.Version = object.GetResourceVersion()
		}
	}
	c.record(ctx, e, err)
	return err
}

func (c *recordingClient) record(ctx context.Context, e trace.Event, err error) {
	switch {
	case apierrors.IsConflict(err):
		e.Outcome, e.Reason = trace.Conflict, err.Error()
	case err != nil:
		e.Outcome, e.Reason = trace.Failed, err.Error()
	}
	c.recorder.RecordBy(ctx, e)
}

// apply is write for a configuration, which has no version. Some have no name either.
func (c *recordingClient) apply(
	ctx context.Context, op string, obj runtime.ApplyConfiguration, call func() error,
) error {
	began := time.Now()
	err := call()
	e := trace.Event{Layer: "client", Kind: trace.Write, Op: op, Took: time.Since(began)}
	if a, unknown := describeApplied(obj); unknown == nil {
		e.Object, e.Namespace, e.Name = a.gvk.Kind, a.key.Namespace, a.key.Name
	}
	c.record(ctx, e, err)
	return err
}

// Create implements Writer.
func (c *recordingClient) Create(ctx context.Context, obj Object, opts ...CreateOption) error {
	return c.write(ctx, "create", obj, func() error { return c.Client.Create(ctx, obj, opts...) })
}

// Update implements Writer.
func (c *recordingClient) Update(ctx context.Context, obj Object, opts ...UpdateOption) error {
	return c.write(ctx, "update", obj, func() error { return c.Client.Update(ctx, obj, opts...) })
}

// Patch implements Writer.
func (c *recordingClient) Patch(
	ctx context.Context, obj Object, patch Patch, opts ...PatchOption,
) error {
	return c.write(ctx, "patch", obj, func() error {
		return c.Client.Patch(ctx, obj, patch, opts...)
	})
}

// Apply implements Writer.
func (c *recordingClient) Apply(
	ctx context.Context, obj runtime.ApplyConfiguration, opts ...ApplyOption,
) error {
	return c.apply(ctx, "apply", obj, func() error { return c.Client.Apply(ctx, obj, opts...) })
}

// Delete implements Writer.
func (c *recordingClient) Delete(ctx context.Context, obj Object, opts ...DeleteOption) error {
	return c.write(ctx, "delete", obj, func() error { return c.Client.Delete(ctx, obj, opts...) })
}

// DeleteAllOf implements Writer.
func (c *recordingClient) DeleteAllOf(
	ctx context.Context, obj Object, opts ...DeleteAllOfOption,
) error {
	return c.write(ctx, "delete all", obj, func() error {
		return c.Client.DeleteAllOf(ctx, obj, opts...)
	})
}

// Status implements StatusClient.
func (c *recordingClient) Status() SubResourceWriter { return c.SubResource("status") }

// SubResource implements SubResourceClientConstructor.
func (c *recordingClient) SubResource(subResource string) SubResourceClient {
	return &recordingSubResource{c.Client.SubResource(subResource), c, subResource}
}

type recordingSubResource struct {
	SubResourceClient
	client *recordingClient
	name   string
}

// Create implements SubResourceWriter.
func (s *recordingSubResource) Create(
	ctx context.Context, obj, subResource Object, opts ...SubResourceCreateOption,
) error {
	return s.client.write(ctx, "create "+s.name, obj, func() error {
		return s.SubResourceClient.Create(ctx, obj, subResource, opts...)
	})
}

// Update implements SubResourceWriter.
func (s *recordingSubResource) Update(
	ctx context.Context, obj Object, opts ...SubResourceUpdateOption,
) error {
	return s.client.write(ctx, "update "+s.name, obj, func() error {
		return s.SubResourceClient.Update(ctx, obj, opts...)
	})
}

// Patch implements SubResourceWriter.
func (s *recordingSubResource) Patch(
	ctx context.Context, obj Object, patch Patch, opts ...SubResourcePatchOption,
) error {
	return s.client.write(ctx, "patch "+s.name, obj, func() error {
		return s.SubResourceClient.Patch(ctx, obj, patch, opts...)
	})
}

// Apply implements SubResourceWriter.
func (s *recordingSubResource) Apply(
	ctx context.Context, obj runtime.ApplyConfiguration, opts ...SubResourceApplyOption,
) error {
	return s.client.apply(ctx, "apply "+s.name, obj, func() error {
		return s.SubResourceClient.Apply(ctx, obj, opts...)
	})
}
