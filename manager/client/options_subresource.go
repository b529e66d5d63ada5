package client

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// SubResourceGetOptions are the options of SubResourceReader.Get.
type SubResourceGetOptions struct {
	// Raw is sent to the server.
	Raw *metav1.GetOptions
}

// AsGetOptions returns the options for the server.
func (o *SubResourceGetOptions) AsGetOptions() *metav1.GetOptions {
	if o.Raw == nil {
		return &metav1.GetOptions{}
	}
	return o.Raw
}

// ApplyOptions applies the options to o, in their order, and returns it.
func (o *SubResourceGetOptions) ApplyOptions(opts []SubResourceGetOption) *SubResourceGetOptions {
	for _, opt := range opts {
		opt.ApplyToSubResourceGet(o)
	}
	return o
}

// ApplyToSubResourceGet implements SubResourceGetOption.
func (o *SubResourceGetOptions) ApplyToSubResourceGet(to *SubResourceGetOptions) {
	set(&to.Raw, o.Raw)
}

// SubResourceCreateOptions are the options of SubResourceWriter.Create.
type SubResourceCreateOptions struct {
	CreateOptions
}

// ApplyOptions applies the options to o, in their order, and returns it.
func (o *SubResourceCreateOptions) ApplyOptions(
	opts []SubResourceCreateOption,
) *SubResourceCreateOptions {
	for _, opt := range opts {
		opt.ApplyToSubResourceCreate(o)
	}
	return o
}

// ApplyToSubResourceCreate implements SubResourceCreateOption.
func (o *SubResourceCreateOptions) ApplyToSubResourceCreate(to *SubResourceCreateOptions) {
	o.ApplyToCreate(&to.CreateOptions)
}

// SubResourceUpdateOptions are the options of SubResourceWriter.Update.
type SubResourceUpdateOptions struct {
	UpdateOptions
	// SubResourceBody is sent instead of the object. The answer is stored there.
	SubResourceBody Object
}

// ApplyOptions applies the options to o, in their order, and returns it.
func (o *SubResourceUpdateOptions) ApplyOptions(
	opts []SubResourceUpdateOption,
) *SubResourceUpdateOptions {
	for _, opt := range opts {
		opt.ApplyToSubResourceUpdate(o)
	}
	return o
}

// ApplyToSubResourceUpdate implements SubResourceUpdateOption.
func (o *SubResourceUpdateOptions) ApplyToSubResourceUpdate(to *SubResourceUpdateOptions) {
	o.ApplyToUpdate(&to.UpdateOptions)
	if o.SubResourceBody != nil {
		to.SubResourceBody = o.SubResourceBody
	}
}

// SubResourcePatchOptions are the options of SubResourceWriter.Patch.
type SubResourcePatchOptions struct {
	PatchOptions
	// SubResourceBody is what the patch is made from, instead of the object. The answer is stored
	// there.
	SubResourceBody Object
}

// ApplyOptions applies the options to o, in their order, and returns it.
func (o *SubResourcePatchOptions) ApplyOptions(
	opts []SubResourcePatchOption,
) *SubResourcePatchOptions {
	for _, opt := range opts {
		opt.ApplyToSubResourcePatch(o)
	}
	return o
}

// ApplyToSubResourcePatch implements SubResourcePatchOption.
func (o *SubResourcePatchOptions) ApplyToSubResourcePatch(to *SubResourcePatchOptions) {
	o.ApplyToPatch(&to.PatchOptions)
	if o.SubResourceBody != nil {
		to.SubResourceBody = o.SubResourceBody
	}
}

// SubResourceApplyOptions are the options of SubResourceWriter.Apply.
type SubResourceApplyOptions struct {
	ApplyOptions
	// SubResourceBody is sent instead of the configuration of the object. The answer is stored
	// there.
	SubResourceBody runtime.ApplyConfiguration
}

// ApplyOpts applies the options to o, in their order, and returns it. The embedded struct already
// has the name ApplyOptions.
func (o *SubResourceApplyOptions) ApplyOpts(
	opts []SubResourceApplyOption,
) *SubResourceApplyOptions {
	for _, opt := range opts {
		opt.ApplyToSubResourceApply(o)
	}
	return o
}

// ApplyToSubResourceApply implements SubResourceApplyOption.
func (o *SubResourceApplyOptions) ApplyToSubResourceApply(to *SubResourceApplyOptions) {
	o.ApplyToApply(&to.ApplyOptions)
	if o.SubResourceBody != nil {
		to.SubResourceBody = o.SubResourceBody
	}
}

// WithSubResourceBody is for subresources with a form of their own, such as a Scale: body is sent
// instead of the object, and the answer is stored there.
func WithSubResourceBody(body Object) SubResourceUpdateAndPatchOption { return subResourceBody{body} }

type subResourceBody struct{ body Object }

func (s subResourceBody) ApplyToSubResourceUpdate(opts *SubResourceUpdateOptions) {
	opts.SubResourceBody = s.body
}

func (s subResourceBody) ApplyToSubResourcePatch(opts *SubResourcePatchOptions) {
	opts.SubResourceBody = s.body
}
