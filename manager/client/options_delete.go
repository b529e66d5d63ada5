package client

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DeleteOptions are the options of Delete.
type DeleteOptions struct {
	// GracePeriodSeconds is the time that the object has to end, in seconds. Zero deletes it at
	// once, nil after the time that the object itself asks for.
	GracePeriodSeconds *int64
	// Preconditions make the server refuse, with a conflict, if the object is not the one that is
	// meant.
	Preconditions *metav1.Preconditions
	// PropagationPolicy says what happens to the objects that this one owns; see the type of that
	// name. Nil leaves it to the kind.
	PropagationPolicy *metav1.DeletionPropagation
	// DisableReadYourWritesConsistency lets later reads not wait for this write.
	DisableReadYourWritesConsistency bool
	// Raw is sent to the server where nothing is set in the other fields. In controller-runtime
	// they overwrite Raw even if they are empty, so that a precondition in Raw is none.
	Raw *metav1.DeleteOptions
	// DryRun is empty, or has the one element metav1.DryRunAll: nothing is deleted.
	DryRun []string
}

// AsDeleteOptions returns what is sent to the server. Raw stays as it is.
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

// GracePeriodSeconds is the time that the object has to end, in seconds.
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

// Preconditions name the object that is meant by its UID or its version, so that one that was
// made under the same name, or was changed, is not deleted by mistake.
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
// collector deletes them afterwards (metav1.DeletePropagationBackground), or before
// (Foreground), or not at all (Orphan).
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
