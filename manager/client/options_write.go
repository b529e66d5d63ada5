package client

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CreateOptions are the options of Create.
type CreateOptions struct {
	// DryRun is empty, or has the one element metav1.DryRunAll: the server does everything but
	// store the object.
	DryRun []string
	// FieldManager owns the fields that are written; see FieldOwner.
	FieldManager string
	// FieldValidation says what the server does about fields that it doesn't know; see the type of
	// that name.
	FieldValidation string
	// DisableReadYourWritesConsistency makes later reads not wait for this write.
	DisableReadYourWritesConsistency bool
	// Raw is sent to the server where the fields above are empty. In controller-runtime the fields
	// above overwrite Raw even if they're empty, so a dry run in Raw becomes a real write.
	Raw *metav1.CreateOptions
}

// AsCreateOptions returns the options for the server. Raw stays unchanged.
func (o *CreateOptions) AsCreateOptions() *metav1.CreateOptions {
	if o == nil {
		return &metav1.CreateOptions{}
	}
	out := copyOf(o.Raw)
	setDryRun(&out.DryRun, o.DryRun)
	set(&out.FieldManager, o.FieldManager)
	set(&out.FieldValidation, o.FieldValidation)
	return out
}

// ApplyOptions applies the options to o, in their order, and returns it.
func (o *CreateOptions) ApplyOptions(opts []CreateOption) *CreateOptions {
	for _, opt := range opts {
		opt.ApplyToCreate(o)
	}
	return o
}

// ApplyToCreate implements CreateOption.
func (o *CreateOptions) ApplyToCreate(to *CreateOptions) {
	setDryRun(&to.DryRun, o.DryRun)
	set(&to.FieldManager, o.FieldManager)
	set(&to.FieldValidation, o.FieldValidation)
	set(&to.DisableReadYourWritesConsistency, o.DisableReadYourWritesConsistency)
	set(&to.Raw, o.Raw)
}

// UpdateOptions are the options of Update. See CreateOptions for the fields.
type UpdateOptions struct {
	DryRun                           []string
	FieldManager                     string
	FieldValidation                  string
	DisableReadYourWritesConsistency bool
	Raw                              *metav1.UpdateOptions
}

// AsUpdateOptions returns the options for the server. Raw stays unchanged.
func (o *UpdateOptions) AsUpdateOptions() *metav1.UpdateOptions {
	if o == nil {
		return &metav1.UpdateOptions{}
	}
	out := copyOf(o.Raw)
	setDryRun(&out.DryRun, o.DryRun)
	set(&out.FieldManager, o.FieldManager)
	set(&out.FieldValidation, o.FieldValidation)
	return out
}

// ApplyOptions applies the options to o, in their order, and returns it.
func (o *UpdateOptions) ApplyOptions(opts []UpdateOption) *UpdateOptions {
	for _, opt := range opts {
		opt.ApplyToUpdate(o)
	}
	return o
}

// ApplyToUpdate implements UpdateOption.
func (o *UpdateOptions) ApplyToUpdate(to *UpdateOptions) {
	setDryRun(&to.DryRun, o.DryRun)
	set(&to.FieldManager, o.FieldManager)
	set(&to.FieldValidation, o.FieldValidation)
	set(&to.DisableReadYourWritesConsistency, o.DisableReadYourWritesConsistency)
	set(&to.Raw, o.Raw)
}

// PatchOptions are the options of Patch. See CreateOptions for the fields.
type PatchOptions struct {
	DryRun []string
	// Force takes fields away from other owners. It's only for the patch Apply; with any other, the
	// server refuses it.
	Force                            *bool
	FieldManager                     string
	FieldValidation                  string
	DisableReadYourWritesConsistency bool
	Raw                              *metav1.PatchOptions
}

// AsPatchOptions returns the options for the server. Raw stays unchanged.
func (o *PatchOptions) AsPatchOptions() *metav1.PatchOptions {
	if o == nil {
		return &metav1.PatchOptions{}
	}
	out := copyOf(o.Raw)
	setDryRun(&out.DryRun, o.DryRun)
	set(&out.Force, o.Force)
	set(&out.FieldManager, o.FieldManager)
	set(&out.FieldValidation, o.FieldValidation)
	return out
}

// ApplyOptions applies the options to o, in their order, and returns it.
func (o *PatchOptions) ApplyOptions(opts []PatchOption) *PatchOptions {
	for _, opt := range opts {
		opt.ApplyToPatch(o)
	}
	return o
}

// ApplyToPatch implements PatchOption.
func (o *PatchOptions) ApplyToPatch(to *PatchOptions) {
	setDryRun(&to.DryRun, o.DryRun)
	set(&to.Force, o.Force)
	set(&to.FieldManager, o.FieldManager)
	set(&to.FieldValidation, o.FieldValidation)
	set(&to.DisableReadYourWritesConsistency, o.DisableReadYourWritesConsistency)
	set(&to.Raw, o.Raw)
}

// ApplyOptions are the options of Apply. There's no field validation: for an Apply, the server is
// always strict.
type ApplyOptions struct {
	DryRun []string
	// Force takes fields away from other owners. Without it, a field that somebody else has set to
	// another value is a conflict.
	Force *bool
	// FieldManager owns the fields that are applied. The server requires it.
	FieldManager                     string
	DisableReadYourWritesConsistency bool
}

// AsPatchOptions returns the options for the server.
func (o *ApplyOptions) AsPatchOptions() *metav1.PatchOptions {
	return &metav1.PatchOptions{DryRun: o.DryRun, Force: o.Force, FieldManager: o.FieldManager}
}

// ApplyOptions applies the options to o, in their order, and returns it.
func (o *ApplyOptions) ApplyOptions(opts []ApplyOption) *ApplyOptions {
	for _, opt := range opts {
		opt.ApplyToApply(o)
	}
	return o
}

// ApplyToApply implements ApplyOption.
func (o *ApplyOptions) ApplyToApply(to *ApplyOptions) {
	setDryRun(&to.DryRun, o.DryRun)
	set(&to.Force, o.Force)
	set(&to.FieldManager, o.FieldManager)
	set(&to.DisableReadYourWritesConsistency, o.DisableReadYourWritesConsistency)
}

// DeleteOptions are the options of Delete.
type DeleteOptions struct {
	// GracePeriodSeconds is how long the object has to end, in seconds. Zero deletes it at once;
	// nil uses the object's own grace period.
	GracePeriodSeconds *int64
	// Preconditions make the server refuse with a conflict if it's a different object.
	Preconditions *metav1.Preconditions
	// PropagationPolicy says what happens to the objects that this one owns; see the type of that
	// name. Nil leaves it to the kind.
	PropagationPolicy *metav1.DeletionPropagation
	// DisableReadYourWritesConsistency makes later reads not wait for this write.
	DisableReadYourWritesConsistency bool
	// Raw is sent to the server where the other fields are empty. In controller-runtime they
	// overwrite Raw even if they're empty, so a precondition in Raw is lost.
	Raw *metav1.DeleteOptions
	// DryRun is empty, or has the one element metav1.DryRunAll: nothing is deleted.
	DryRun []string
}

// AsDeleteOptions returns the options for the server. Raw stays unchanged.
func (o *DeleteOptions) AsDeleteOptions() *metav1.DeleteOptions {
	if o == nil {
		return &metav1.DeleteOptions{}
	}
	out := copyOf(o.Raw)
	set(&out.GracePeriodSeconds, o.GracePeriodSeconds)
	set(&out.Preconditions, o.Preconditions)
	set(&out.PropagationPolicy, o.PropagationPolicy)
	setDryRun(&out.DryRun, o.DryRun)
	return out
}

// ApplyOptions applies the options to o, in their order, and returns it.
func (o *DeleteOptions) ApplyOptions(opts []DeleteOption) *DeleteOptions {
	for _, opt := range opts {
		opt.ApplyToDelete(o)
	}
	return o
}

// ApplyToDelete implements DeleteOption.
func (o *DeleteOptions) ApplyToDelete(to *DeleteOptions) {
	set(&to.GracePeriodSeconds, o.GracePeriodSeconds)
	set(&to.Preconditions, o.Preconditions)
	set(&to.PropagationPolicy, o.PropagationPolicy)
	set(&to.DisableReadYourWritesConsistency, o.DisableReadYourWritesConsistency)
	set(&to.Raw, o.Raw)
	setDryRun(&to.DryRun, o.DryRun)
}

// GracePeriodSeconds is how long the object has to end, in seconds.
type GracePeriodSeconds int64

// ApplyToDelete implements DeleteOption.
func (s GracePeriodSeconds) ApplyToDelete(opts *DeleteOptions) {
	seconds := int64(s)
	opts.GracePeriodSeconds = &seconds
}

// ApplyToDeleteAllOf implements DeleteAllOfOption.
func (s GracePeriodSeconds) ApplyToDeleteAllOf(opts *DeleteAllOfOptions) {
	s.ApplyToDelete(&opts.DeleteOptions)
}

// Preconditions identify the object by its UID or its version, so that an object that was recreated
// under the same name, or has changed, isn't deleted by mistake.
type Preconditions metav1.Preconditions

// ApplyToDelete implements DeleteOption.
func (p Preconditions) ApplyToDelete(opts *DeleteOptions) {
	preconditions := metav1.Preconditions(p)
	opts.Preconditions = &preconditions
}

// ApplyToDeleteAllOf implements DeleteAllOfOption.
func (p Preconditions) ApplyToDeleteAllOf(opts *DeleteAllOfOptions) {
	p.ApplyToDelete(&opts.DeleteOptions)
}

// PropagationPolicy says what happens to the objects that the deleted one owns: the garbage
// collector deletes them afterwards (metav1.DeletePropagationBackground), before (Foreground), or
// not at all (Orphan).
type PropagationPolicy metav1.DeletionPropagation

// ApplyToDelete implements DeleteOption.
func (p PropagationPolicy) ApplyToDelete(opts *DeleteOptions) {
	policy := metav1.DeletionPropagation(p)
	opts.PropagationPolicy = &policy
}

// ApplyToDeleteAllOf implements DeleteAllOfOption.
func (p PropagationPolicy) ApplyToDeleteAllOf(opts *DeleteAllOfOptions) {
	p.ApplyToDelete(&opts.DeleteOptions)
}

// DeleteAllOfOptions are the options of DeleteAllOf: which objects, and how.
type DeleteAllOfOptions struct {
	ListOptions
	DeleteOptions
}

// ApplyOptions applies the options to o, in their order, and returns it.
func (o *DeleteAllOfOptions) ApplyOptions(opts []DeleteAllOfOption) *DeleteAllOfOptions {
	for _, opt := range opts {
		opt.ApplyToDeleteAllOf(o)
	}
	return o
}

// ApplyToDeleteAllOf implements DeleteAllOfOption.
func (o *DeleteAllOfOptions) ApplyToDeleteAllOf(to *DeleteAllOfOptions) {
	o.ApplyToList(&to.ListOptions)
	o.ApplyToDelete(&to.DeleteOptions)
}
