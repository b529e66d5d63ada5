package client

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// GetOptions are the options of Get.
type GetOptions struct {
	// Raw is sent to the server. A cache does not look at it.
	Raw *metav1.GetOptions
	// UnsafeDisableDeepCopy makes a cache return its own object instead of a copy. It must not be
	// changed: everybody else who reads from the cache sees the change. Nil leaves it to the cache.
	UnsafeDisableDeepCopy *bool
	// DisableReadYourWritesConsistency reads at once, even if the cache has not seen an earlier
	// write yet. It says nothing to a client without CacheOptions.EnableReadYourWritesConsistency.
	DisableReadYourWritesConsistency bool
}

// AsGetOptions returns what is sent to the server.
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
	// of each kind. A cache knows those that were given to IndexField, and no operator but
	// equality.
	FieldSelector fields.Selector
	// Namespace is the namespace in which the objects are. Empty is all of them.
	Namespace string

	// Limit is the largest number of objects that one answer holds; zero is no limit. If there are
	// more, the list has a token for Continue.
	Limit int64
	// Continue asks for the objects after those of an earlier answer. The server forgets the
	// place after some minutes, and says so with an error of type apierrors.IsResourceExpired.
	Continue string

	// UnsafeDisableDeepCopy makes a cache return its own objects instead of copies. They must not
	// be changed: everybody else who reads from the cache sees the change. Nil leaves it to the
	// cache.
	UnsafeDisableDeepCopy *bool
	// DisableReadYourWritesConsistency reads at once, even if the cache has not seen an earlier
	// write yet. It says nothing to a client without CacheOptions.EnableReadYourWritesConsistency.
	DisableReadYourWritesConsistency bool

	// Raw is sent to the server where nothing is set above. Its Limit and Continue never are,
	// unless it asks for a watch. A cache does not look at it.
	Raw *metav1.ListOptions
}

// AsListOptions returns what is sent to the server. Raw stays as it is.
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
	if o.LabelSelector != nil { // a selector need not be comparable
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

// Limit is the largest number of objects that one answer to a List holds. It is no option of
// DeleteAllOf: the server would ignore it, and delete all.
type Limit int64

// ApplyToList implements ListOption.
func (l Limit) ApplyToList(opts *ListOptions) { opts.Limit = int64(l) }

// Continue asks for the objects after those of an earlier answer.
type Continue string

// ApplyToList implements ListOption.
func (c Continue) ApplyToList(opts *ListOptions) { opts.Continue = string(c) }

// UnsafeDisableDeepCopyOption says whether a cache returns its own objects instead of copies.
type UnsafeDisableDeepCopyOption bool

// UnsafeDisableDeepCopy makes a cache return its own objects, which must not be changed.
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

// InNamespace selects the objects of one namespace. Empty is all namespaces.
type InNamespace string

// ApplyToList implements ListOption.
func (n InNamespace) ApplyToList(opts *ListOptions) { opts.Namespace = string(n) }

// ApplyToDeleteAllOf implements DeleteAllOfOption.
func (n InNamespace) ApplyToDeleteAllOf(opts *DeleteAllOfOptions) { n.ApplyToList(&opts.ListOptions) }

// AsSelector returns a selector of the objects in the namespace, for those who select by fields.
func (n InNamespace) AsSelector() fields.Selector {
	return fields.OneTermEqualSelector("metadata.namespace", string(n))
}

// MatchingLabels selects objects that have all these labels, with these values. Together with
// other options for labels, an object must match all of them.
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

// HasLabels selects objects that have all these labels, whatever the values. Together with other
// options for labels, an object must match all of them.
//
// A name that no label can have selects nothing. controller-runtime leaves it out, so that the
// other objects are selected, too: for DeleteAllOf that may be all there are.
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

// MatchingLabelsSelector selects objects by a selector of labels. It takes the place of all
// options for labels before it. Without a selector it selects nothing.
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
// A client that reads from a cache needs an index for it, which FieldIndexer.IndexField makes before
// the manager starts; without one, List returns an error that says so. The API server knows the
// fields metadata.name and metadata.namespace of each kind, and a few more of some; it refuses
// others. MatchingFields takes the place of all options for fields before it.
type MatchingFields fields.Set

// ApplyToList implements ListOption.
func (m MatchingFields) ApplyToList(opts *ListOptions) {
	opts.FieldSelector = fields.Set(m).AsSelector()
}

// ApplyToDeleteAllOf implements DeleteAllOfOption.
func (m MatchingFields) ApplyToDeleteAllOf(opts *DeleteAllOfOptions) {
	m.ApplyToList(&opts.ListOptions)
}

// MatchingFieldsSelector selects objects by a selector of fields. It takes the place of all
// options for fields before it. Without a selector it selects nothing.
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
// that of one that matches everything: so it must not be sent to the server.
func (o *ListOptions) selectsNothing() bool {
	return o.LabelSelector != nil && !o.LabelSelector.Empty() && o.LabelSelector.String() == "" ||
		o.FieldSelector != nil && !o.FieldSelector.Empty() && o.FieldSelector.String() == ""
}
