package client

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

// NewDryRunClient returns a client whose writes are all dry runs, whatever a call's options are.
func NewDryRunClient(c Client) Client {
	return &addingClient{Client: c, after: addedOptions{
		create: []CreateOption{DryRunAll}, update: []UpdateOption{DryRunAll},
		patch: []PatchOption{DryRunAll},
		apply: []ApplyOption{DryRunAll}, delete: []DeleteOption{DryRunAll},
		deleteAllOf: []DeleteAllOfOption{DryRunAll},
		subCreate:   []SubResourceCreateOption{DryRunAll},
		subUpdate:   []SubResourceUpdateOption{DryRunAll},
		subPatch:    []SubResourcePatchOption{DryRunAll},
		subApply:    []SubResourceApplyOption{DryRunAll},
	}}
}

// WithFieldOwner returns a client whose writes have this owner, unless a call sets another.
func WithFieldOwner(c Client, fieldOwner string) Client {
	owner := FieldOwner(fieldOwner)
	return &addingClient{Client: c, before: addedOptions{
		create: []CreateOption{owner}, update: []UpdateOption{owner}, patch: []PatchOption{owner},
		apply:     []ApplyOption{owner},
		subCreate: []SubResourceCreateOption{owner}, subUpdate: []SubResourceUpdateOption{owner},
		subPatch: []SubResourcePatchOption{owner}, subApply: []SubResourceApplyOption{owner},
	}}
}

// WithFieldValidation returns a client whose writes validate fields this way, unless a call sets
// another. An Apply is always strict.
func WithFieldValidation(c Client, validation FieldValidation) Client {
	return &addingClient{Client: c, before: addedOptions{
		create: []CreateOption{validation}, update: []UpdateOption{validation},
		patch:     []PatchOption{validation},
		subCreate: []SubResourceCreateOption{validation},
		subUpdate: []SubResourceUpdateOption{validation},
		subPatch:  []SubResourcePatchOption{validation},
	}}
}

// addingClient adds options to those of each call: some before them, which the call may override,
// and some after them, which it may not.
type addingClient struct {
	Client
	before, after addedOptions
}

type addedOptions struct {
	create      []CreateOption
	update      []UpdateOption
	patch       []PatchOption
	apply       []ApplyOption
	delete      []DeleteOption
	deleteAllOf []DeleteAllOfOption
	subCreate   []SubResourceCreateOption
	subUpdate   []SubResourceUpdateOption
	subPatch    []SubResourcePatchOption
	subApply    []SubResourceApplyOption
}

// Create implements Writer. Here and below, the caller's slice stays unchanged: it may have spare
// capacity, and be used by several goroutines.
func (c *addingClient) Create(ctx context.Context, obj Object, opts ...CreateOption) error {
	return c.Client.Create(ctx, obj, slices.Concat(c.before.create, opts, c.after.create)...)
}

// Update implements Writer.
func (c *addingClient) Update(ctx context.Context, obj Object, opts ...UpdateOption) error {
	return c.Client.Update(ctx, obj, slices.Concat(c.before.update, opts, c.after.update)...)
}

// Patch implements Writer.
func (c *addingClient) Patch(
	ctx context.Context, obj Object, patch Patch, opts ...PatchOption,
) error {
	return c.Client.Patch(ctx, obj, patch, slices.Concat(c.before.patch, opts, c.after.patch)...)
}

// Apply implements Writer.
func (c *addingClient) Apply(
	ctx context.Context, obj runtime.ApplyConfiguration, opts ...ApplyOption,
) error {
	return c.Client.Apply(ctx, obj, slices.Concat(c.before.apply, opts, c.after.apply)...)
}

// Delete implements Writer.
func (c *addingClient) Delete(ctx context.Context, obj Object, opts ...DeleteOption) error {
	return c.Client.Delete(ctx, obj, slices.Concat(c.before.delete, opts, c.after.delete)...)
}

// DeleteAllOf implements Writer.
func (c *addingClient) DeleteAllOf(
	ctx context.Context, obj Object, opts ...DeleteAllOfOption,
) error {
	return c.Client.DeleteAllOf(ctx, obj, slices.Concat(c.before.deleteAllOf, opts,
		c.after.deleteAllOf)...)
}

// Status implements StatusClient.
func (c *addingClient) Status() SubResourceWriter { return c.SubResource("status") }

// SubResource implements SubResourceClientConstructor.
func (c *addingClient) SubResource(subResource string) SubResourceClient {
	return &addingSubResource{c.Client.SubResource(subResource), c}
}

type addingSubResource struct {
	SubResourceClient
	options *addingClient
}

// Create implements SubResourceWriter.
func (s *addingSubResource) Create(
	ctx context.Context, obj, subResource Object, opts ...SubResourceCreateOption,
) error {
	return s.SubResourceClient.Create(ctx, obj, subResource,
		slices.Concat(s.options.before.subCreate, opts, s.options.after.subCreate)...)
}

// Update implements SubResourceWriter.
func (s *addingSubResource) Update(
	ctx context.Context, obj Object, opts ...SubResourceUpdateOption,
) error {
	return s.SubResourceClient.Update(ctx, obj,
		slices.Concat(s.options.before.subUpdate, opts, s.options.after.subUpdate)...)
}

// Patch implements SubResourceWriter.
func (s *addingSubResource) Patch(
	ctx context.Context, obj Object, patch Patch, opts ...SubResourcePatchOption,
) error {
	return s.SubResourceClient.Patch(ctx, obj, patch,
		slices.Concat(s.options.before.subPatch, opts, s.options.after.subPatch)...)
}

// Apply implements SubResourceWriter.
func (s *addingSubResource) Apply(
	ctx context.Context, obj runtime.ApplyConfiguration, opts ...SubResourceApplyOption,
) error {
	return s.SubResourceClient.Apply(ctx, obj,
		slices.Concat(s.options.before.subApply, opts, s.options.after.subApply)...)
}
