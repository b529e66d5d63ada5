package client

import (
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

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

// MatchingFields selects objects whose fields have these values. It takes the place of all options
// for fields before it.
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
