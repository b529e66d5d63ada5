package client

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// GetOptions are the options of Get.
type GetOptions struct {
	// Raw is sent to the server. A cache ignores it.
	Raw *metav1.GetOptions
	// UnsafeDisableDeepCopy makes a cache return its own object instead of a copy. Don't change it:
	// all other readers of the cache would see that. Nil leaves it to the cache.
	UnsafeDisableDeepCopy *bool
	// DisableReadYourWritesConsistency reads at once, even if the cache hasn't seen an earlier
	// write yet. It has no effect on a client without CacheOptions.EnableReadYourWritesConsistency.
	DisableReadYourWritesConsistency bool
}

// AsGetOptions returns the options for the server.
func (o *GetOptions) AsGetOptions() *metav1.GetOptions {
	if o == nil || o.Raw == nil {
		return &metav1.GetOptions{}
	}
	return o.Raw
}

// ApplyOptions applies the options to o, in their order, and returns it.
func (o *GetOptions) ApplyOptions(opts []GetOption) *GetOptions {
	for _, opt := range opts {
		opt.ApplyToGet(o)
	}
	return o
}

// ApplyToGet implements GetOption.
func (o *GetOptions) ApplyToGet(to *GetOptions) {
	set(&to.Raw, o.Raw)
	set(&to.UnsafeDisableDeepCopy, o.UnsafeDisableDeepCopy)
	set(&to.DisableReadYourWritesConsistency, o.DisableReadYourWritesConsistency)
}

// ListOptions are the options of List and Watch.
type ListOptions struct {
	// LabelSelector selects objects by their labels; nil selects all.
	LabelSelector labels.Selector
	// FieldSelector selects objects by fields; nil selects all. The API server knows a few fields
	// of each kind. A cache knows those that you gave to IndexField, and can only compare for
	// equality.
	FieldSelector fields.Selector
	// Namespace is the namespace of the objects. Empty means all namespaces.
	Namespace string

	// Limit is the largest number of objects in one answer; zero means no limit. If there are more,
	// the list has a token for Continue.
	Limit int64
	// Continue returns the objects after those of an earlier answer. The server forgets the
	// position after some minutes. The error then is one for apierrors.IsResourceExpired.
	Continue string

	// UnsafeDisableDeepCopy makes a cache return its own objects instead of copies. Don't change
	// them: all other readers of the cache would see that. Nil leaves it to the cache.
	UnsafeDisableDeepCopy *bool
	// DisableReadYourWritesConsistency reads at once, even if the cache hasn't seen an earlier
	// write yet. It has no effect on a client without CacheOptions.EnableReadYourWritesConsistency.
	DisableReadYourWritesConsistency bool

	// Raw is sent to the server where the fields above are empty. Its Limit and Continue are only
	// sent with a watch. A cache ignores it.
	Raw *metav1.ListOptions
}

// AsListOptions returns the options for the server. Raw stays unchanged.
func (o *ListOptions) AsListOptions() *metav1.ListOptions {
	if o == nil {
		return &metav1.ListOptions{}
	}
	out := copyOf(o.Raw)
	if o.LabelSelector != nil {
		out.LabelSelector = o.LabelSelector.String()
	}
	if o.FieldSelector != nil {
		out.FieldSelector = o.FieldSelector.String()
	}
	if !out.Watch {
		out.Limit, out.Continue = o.Limit, o.Continue
	}
	return out
}

// ApplyOptions applies the options to o, in their order, and returns it.
func (o *ListOptions) ApplyOptions(opts []ListOption) *ListOptions {
	for _, opt := range opts {
		opt.ApplyToList(o)
	}
	return o
}

// ApplyToList implements ListOption.
func (o *ListOptions) ApplyToList(to *ListOptions) {
	if o.LabelSelector != nil { // a selector may not be comparable
		to.LabelSelector = o.LabelSelector
	}
	if o.FieldSelector != nil {
		to.FieldSelector = o.FieldSelector
	}
	set(&to.Namespace, o.Namespace)
	set(&to.Limit, max(o.Limit, 0))
	set(&to.Continue, o.Continue)
	set(&to.UnsafeDisableDeepCopy, o.UnsafeDisableDeepCopy)
	set(&to.DisableReadYourWritesConsistency, o.DisableReadYourWritesConsistency)
	set(&to.Raw, o.Raw)
}

// Limit is the largest number of objects in one answer to a List. It isn't an option of
// DeleteAllOf: the server would ignore it, and delete all.
type Limit int64

// ApplyToList implements ListOption.
func (l Limit) ApplyToList(opts *ListOptions) { opts.Limit = int64(l) }

// Continue returns the objects after those of an earlier answer.
type Continue string

// ApplyToList implements ListOption.
func (c Continue) ApplyToList(opts *ListOptions) { opts.Continue = string(c) }

// UnsafeDisableDeepCopyOption says whether a cache returns its own objects instead of copies.
type UnsafeDisableDeepCopyOption bool

// UnsafeDisableDeepCopy makes a cache return its own objects. Don't change them.
const UnsafeDisableDeepCopy = UnsafeDisableDeepCopyOption(true)

// ApplyToGet implements GetOption.
func (d UnsafeDisableDeepCopyOption) ApplyToGet(opts *GetOptions) {
	disable := bool(d)
	opts.UnsafeDisableDeepCopy = &disable
}

// ApplyToList implements ListOption.
func (d UnsafeDisableDeepCopyOption) ApplyToList(opts *ListOptions) {
	disable := bool(d)
	opts.UnsafeDisableDeepCopy = &disable
}

// InNamespace selects the objects of one namespace. Empty means all namespaces.
type InNamespace string

// ApplyToList implements ListOption.
func (n InNamespace) ApplyToList(opts *ListOptions) { opts.Namespace = string(n) }

// ApplyToDeleteAllOf implements DeleteAllOfOption.
func (n InNamespace) ApplyToDeleteAllOf(opts *DeleteAllOfOptions) { n.ApplyToList(&opts.ListOptions) }

// AsSelector returns a field selector for the objects in the namespace.
func (n InNamespace) AsSelector() fields.Selector {
	return fields.OneTermEqualSelector("metadata.namespace", string(n))
}

// MatchingLabels selects objects that have all these labels, with these values. With several
// options for labels, an object must match all of them.
type MatchingLabels map[string]string

// ApplyToList implements ListOption.
func (m MatchingLabels) ApplyToList(opts *ListOptions) {
	selector := labels.SelectorFromValidatedSet(labels.Set(m))
	if opts.LabelSelector != nil {
		requirements, _ := selector.Requirements()
		selector = opts.LabelSelector.Add(requirements...)
	}
	opts.LabelSelector = selector
}

// ApplyToDeleteAllOf implements DeleteAllOfOption.
func (m MatchingLabels) ApplyToDeleteAllOf(opts *DeleteAllOfOptions) {
	m.ApplyToList(&opts.ListOptions)
}

// HasLabels selects objects that have all these labels, with any values. With several options for
// labels, an object must match all of them.
//
// A name that no label can have selects nothing. controller-runtime drops such a name, which
// selects more objects: with DeleteAllOf, maybe all of them.
type HasLabels []string

// ApplyToList implements ListOption.
func (m HasLabels) ApplyToList(opts *ListOptions) {
	selector := opts.LabelSelector
	if selector == nil {
		selector = labels.NewSelector()
	}
	for _, label := range m {
		requirement, err := labels.NewRequirement(label, selection.Exists, nil)
		if err != nil {
			opts.LabelSelector = labels.Nothing()
			return
		}
		selector = selector.Add(*requirement)
	}
	opts.LabelSelector = selector
}

// ApplyToDeleteAllOf implements DeleteAllOfOption.
func (m HasLabels) ApplyToDeleteAllOf(opts *DeleteAllOfOptions) { m.ApplyToList(&opts.ListOptions) }

// MatchingLabelsSelector selects objects by a label selector. It replaces all options for labels
// before it. Without a selector it selects nothing.
type MatchingLabelsSelector struct {
	labels.Selector
}

// ApplyToList implements ListOption.
func (m MatchingLabelsSelector) ApplyToList(opts *ListOptions) {
	if m.Selector == nil {
		m.Selector = labels.Nothing()
	}
	opts.LabelSelector = m
}

// ApplyToDeleteAllOf implements DeleteAllOfOption.
func (m MatchingLabelsSelector) ApplyToDeleteAllOf(opts *DeleteAllOfOptions) {
	m.ApplyToList(&opts.ListOptions)
}

// MatchingFields selects objects whose fields have these values:
//
//	c.List(ctx, &pods, client.MatchingFields{"spec.nodeName": "node-1"})
//
// A client that reads from a cache needs an index for it: call FieldIndexer.IndexField before the
// manager starts. Without an index, List returns an error that says so. The API server knows the
// fields metadata.name and metadata.namespace of each kind, and a few more of some; it refuses
// others. MatchingFields replaces all options for fields before it.
type MatchingFields fields.Set

// ApplyToList implements ListOption.
func (m MatchingFields) ApplyToList(opts *ListOptions) {
	opts.FieldSelector = fields.Set(m).AsSelector()
}

// ApplyToDeleteAllOf implements DeleteAllOfOption.
func (m MatchingFields) ApplyToDeleteAllOf(opts *DeleteAllOfOptions) {
	m.ApplyToList(&opts.ListOptions)
}

// MatchingFieldsSelector selects objects by a field selector. It replaces all options for fields
// before it. Without a selector it selects nothing.
type MatchingFieldsSelector struct {
	fields.Selector
}

// ApplyToList implements ListOption.
func (m MatchingFieldsSelector) ApplyToList(opts *ListOptions) {
	if m.Selector == nil {
		m.Selector = fields.Nothing()
	}
	opts.FieldSelector = m
}

// ApplyToDeleteAllOf implements DeleteAllOfOption.
func (m MatchingFieldsSelector) ApplyToDeleteAllOf(opts *DeleteAllOfOptions) {
	m.ApplyToList(&opts.ListOptions)
}

// selectsNothing reports whether no object can match. The text of such a selector is empty, like
// that of one that matches everything, so we mustn't send it to the server.
func (o *ListOptions) selectsNothing() bool {
	return o.LabelSelector != nil && !o.LabelSelector.Empty() && o.LabelSelector.String() == "" ||
		o.FieldSelector != nil && !o.FieldSelector.Empty() && o.FieldSelector.String() == ""
}
