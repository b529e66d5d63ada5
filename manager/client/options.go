package client

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// An option changes the options of one call. Each kind of call has its own interface, so the
// compiler refuses an option that the call doesn't have. The structs of options are options, too:
// when you apply one to another, it sets there whatever is set in it.

// CreateOption sets one of CreateOptions.
type CreateOption interface{ ApplyToCreate(*CreateOptions) }

// UpdateOption sets one of UpdateOptions.
type UpdateOption interface{ ApplyToUpdate(*UpdateOptions) }

// PatchOption sets one of PatchOptions.
type PatchOption interface{ ApplyToPatch(*PatchOptions) }

// ApplyOption sets one of ApplyOptions.
type ApplyOption interface{ ApplyToApply(*ApplyOptions) }

// DeleteOption sets one of DeleteOptions.
type DeleteOption interface{ ApplyToDelete(*DeleteOptions) }

// DeleteAllOfOption sets one of DeleteAllOfOptions.
type DeleteAllOfOption interface{ ApplyToDeleteAllOf(*DeleteAllOfOptions) }

// GetOption sets one of GetOptions.
type GetOption interface{ ApplyToGet(*GetOptions) }

// ListOption sets one of ListOptions.
type ListOption interface{ ApplyToList(*ListOptions) }

// SubResourceGetOption sets one of SubResourceGetOptions.
type SubResourceGetOption interface {
	ApplyToSubResourceGet(*SubResourceGetOptions)
}

// SubResourceCreateOption sets one of SubResourceCreateOptions.
type SubResourceCreateOption interface {
	ApplyToSubResourceCreate(*SubResourceCreateOptions)
}

// SubResourceUpdateOption sets one of SubResourceUpdateOptions.
type SubResourceUpdateOption interface {
	ApplyToSubResourceUpdate(*SubResourceUpdateOptions)
}

// SubResourcePatchOption sets one of SubResourcePatchOptions.
type SubResourcePatchOption interface {
	ApplyToSubResourcePatch(*SubResourcePatchOptions)
}

// SubResourceApplyOption sets one of SubResourceApplyOptions.
type SubResourceApplyOption interface {
	ApplyToSubResourceApply(*SubResourceApplyOptions)
}

// SubResourceUpdateAndPatchOption is an option of both.
type SubResourceUpdateAndPatchOption interface {
	SubResourceUpdateOption
	SubResourcePatchOption
}

// set writes value to field unless it's the zero value: an option that isn't set changes nothing.
func set[T comparable](field *T, value T) {
	var zero T
	if value != zero {
		*field = value
	}
}

// setDryRun does the same for a slice. An empty one isn't zero: it means no dry run.
func setDryRun(field *[]string, value []string) {
	if value != nil {
		*field = value
	}
}

// copyOf returns a copy to write to, so that one struct of options can serve several calls, even
// concurrently.
func copyOf[T any](raw *T) *T {
	out := new(T)
	if raw != nil {
		*out = *raw
	}
	return out
}

// The options below are for several kinds of calls.

// DryRunAll makes the server do everything but store the result: defaults, admission and validation
// work as in a real write.
var DryRunAll = dryRunAll{}

type dryRunAll struct{}

// ApplyToCreate implements CreateOption.
func (dryRunAll) ApplyToCreate(opts *CreateOptions) { opts.DryRun = []string{metav1.DryRunAll} }

// ApplyToUpdate implements UpdateOption.
func (dryRunAll) ApplyToUpdate(opts *UpdateOptions) { opts.DryRun = []string{metav1.DryRunAll} }

// ApplyToPatch implements PatchOption.
func (dryRunAll) ApplyToPatch(opts *PatchOptions) { opts.DryRun = []string{metav1.DryRunAll} }

// ApplyToApply implements ApplyOption.
func (dryRunAll) ApplyToApply(opts *ApplyOptions) { opts.DryRun = []string{metav1.DryRunAll} }

// ApplyToDelete implements DeleteOption.
func (dryRunAll) ApplyToDelete(opts *DeleteOptions) { opts.DryRun = []string{metav1.DryRunAll} }

// ApplyToDeleteAllOf implements DeleteAllOfOption.
func (dryRunAll) ApplyToDeleteAllOf(opts *DeleteAllOfOptions) {
	opts.DryRun = []string{metav1.DryRunAll}
}

// ApplyToSubResourceCreate implements SubResourceCreateOption.
func (dryRunAll) ApplyToSubResourceCreate(opts *SubResourceCreateOptions) {
	opts.DryRun = []string{metav1.DryRunAll}
}

// ApplyToSubResourceUpdate implements SubResourceUpdateOption.
func (dryRunAll) ApplyToSubResourceUpdate(opts *SubResourceUpdateOptions) {
	opts.DryRun = []string{metav1.DryRunAll}
}

// ApplyToSubResourcePatch implements SubResourcePatchOption.
func (dryRunAll) ApplyToSubResourcePatch(opts *SubResourcePatchOptions) {
	opts.DryRun = []string{metav1.DryRunAll}
}

// ApplyToSubResourceApply implements SubResourceApplyOption.
func (dryRunAll) ApplyToSubResourceApply(opts *SubResourceApplyOptions) {
	opts.DryRun = []string{metav1.DryRunAll}
}

// FieldOwner is the name under which the server notes which fields the caller has set. Fields of an
// Apply belong to this name, until it applies without them: then they're removed.
type FieldOwner string

// ApplyToCreate implements CreateOption.
func (f FieldOwner) ApplyToCreate(opts *CreateOptions) { opts.FieldManager = string(f) }

// ApplyToUpdate implements UpdateOption.
func (f FieldOwner) ApplyToUpdate(opts *UpdateOptions) { opts.FieldManager = string(f) }

// ApplyToPatch implements PatchOption.
func (f FieldOwner) ApplyToPatch(opts *PatchOptions) { opts.FieldManager = string(f) }

// ApplyToApply implements ApplyOption.
func (f FieldOwner) ApplyToApply(opts *ApplyOptions) { opts.FieldManager = string(f) }

// ApplyToSubResourceCreate implements SubResourceCreateOption.
func (f FieldOwner) ApplyToSubResourceCreate(opts *SubResourceCreateOptions) {
	opts.FieldManager = string(f)
}

// ApplyToSubResourceUpdate implements SubResourceUpdateOption.
func (f FieldOwner) ApplyToSubResourceUpdate(opts *SubResourceUpdateOptions) {
	opts.FieldManager = string(f)
}

// ApplyToSubResourcePatch implements SubResourcePatchOption.
func (f FieldOwner) ApplyToSubResourcePatch(opts *SubResourcePatchOptions) {
	opts.FieldManager = string(f)
}

// ApplyToSubResourceApply implements SubResourceApplyOption.
func (f FieldOwner) ApplyToSubResourceApply(opts *SubResourceApplyOptions) {
	opts.FieldManager = string(f)
}

// FieldValidation says what the server does about fields that the kind doesn't have, and about
// duplicate fields. It drops them (metav1.FieldValidationIgnore), drops them with a warning (Warn),
// which is the default, or refuses the object (Strict). An Apply is always strict.
type FieldValidation string

// ApplyToCreate implements CreateOption.
func (f FieldValidation) ApplyToCreate(opts *CreateOptions) { opts.FieldValidation = string(f) }

// ApplyToUpdate implements UpdateOption.
func (f FieldValidation) ApplyToUpdate(opts *UpdateOptions) { opts.FieldValidation = string(f) }

// ApplyToPatch implements PatchOption.
func (f FieldValidation) ApplyToPatch(opts *PatchOptions) { opts.FieldValidation = string(f) }

// ApplyToSubResourceCreate implements SubResourceCreateOption.
func (f FieldValidation) ApplyToSubResourceCreate(opts *SubResourceCreateOptions) {
	opts.FieldValidation = string(f)
}

// ApplyToSubResourceUpdate implements SubResourceUpdateOption.
func (f FieldValidation) ApplyToSubResourceUpdate(opts *SubResourceUpdateOptions) {
	opts.FieldValidation = string(f)
}

// ApplyToSubResourcePatch implements SubResourcePatchOption.
func (f FieldValidation) ApplyToSubResourcePatch(opts *SubResourcePatchOptions) {
	opts.FieldValidation = string(f)
}

// ForceOwnership takes fields away from other owners, where an Apply would otherwise be a conflict.
// For a controller this is right: it knows what the fields should be, and would only try again.
var ForceOwnership = forceOwnership{}

type forceOwnership struct{}

// ApplyToPatch implements PatchOption.
func (forceOwnership) ApplyToPatch(opts *PatchOptions) { opts.Force = yes() }

// ApplyToApply implements ApplyOption.
func (forceOwnership) ApplyToApply(opts *ApplyOptions) { opts.Force = yes() }

// ApplyToSubResourcePatch implements SubResourcePatchOption.
func (forceOwnership) ApplyToSubResourcePatch(opts *SubResourcePatchOptions) { opts.Force = yes() }

// ApplyToSubResourceApply implements SubResourceApplyOption.
func (forceOwnership) ApplyToSubResourceApply(opts *SubResourceApplyOptions) { opts.Force = yes() }

func yes() *bool {
	yes := true
	return &yes
}

// DisableReadYourWritesConsistency makes a read not wait for earlier writes, or makes later reads
// not wait for this write. It has no effect on a client without
// CacheOptions.EnableReadYourWritesConsistency.
const DisableReadYourWritesConsistency = disableReadYourWritesConsistency(true)

type disableReadYourWritesConsistency bool

// ApplyToGet implements GetOption.
func (disableReadYourWritesConsistency) ApplyToGet(opts *GetOptions) {
	opts.DisableReadYourWritesConsistency = true
}

// ApplyToList implements ListOption.
func (disableReadYourWritesConsistency) ApplyToList(opts *ListOptions) {
	opts.DisableReadYourWritesConsistency = true
}

// ApplyToCreate implements CreateOption.
func (disableReadYourWritesConsistency) ApplyToCreate(opts *CreateOptions) {
	opts.DisableReadYourWritesConsistency = true
}

// ApplyToUpdate implements UpdateOption.
func (disableReadYourWritesConsistency) ApplyToUpdate(opts *UpdateOptions) {
	opts.DisableReadYourWritesConsistency = true
}

// ApplyToPatch implements PatchOption.
func (disableReadYourWritesConsistency) ApplyToPatch(opts *PatchOptions) {
	opts.DisableReadYourWritesConsistency = true
}

// ApplyToApply implements ApplyOption.
func (disableReadYourWritesConsistency) ApplyToApply(opts *ApplyOptions) {
	opts.DisableReadYourWritesConsistency = true
}

// ApplyToDelete implements DeleteOption.
func (disableReadYourWritesConsistency) ApplyToDelete(opts *DeleteOptions) {
	opts.DisableReadYourWritesConsistency = true
}

// ApplyToSubResourceCreate implements SubResourceCreateOption.
func (disableReadYourWritesConsistency) ApplyToSubResourceCreate(opts *SubResourceCreateOptions) {
	opts.DisableReadYourWritesConsistency = true
}

// ApplyToSubResourceUpdate implements SubResourceUpdateOption.
func (disableReadYourWritesConsistency) ApplyToSubResourceUpdate(opts *SubResourceUpdateOptions) {
	opts.DisableReadYourWritesConsistency = true
}

// ApplyToSubResourcePatch implements SubResourcePatchOption.
func (disableReadYourWritesConsistency) ApplyToSubResourcePatch(opts *SubResourcePatchOptions) {
	opts.DisableReadYourWritesConsistency = true
}

// ApplyToSubResourceApply implements SubResourceApplyOption.
func (disableReadYourWritesConsistency) ApplyToSubResourceApply(opts *SubResourceApplyOptions) {
	opts.DisableReadYourWritesConsistency = true
}
