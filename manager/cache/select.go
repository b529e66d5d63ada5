package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/manager/client"
)

// query is what a list selects.
type query struct {
	of        *gvkInformer
	namespace string
	labels    labels.Selector // nil selects all
	fields    []fieldQuery
}

// fieldQuery is one field with its value.
type fieldQuery struct {
	index   string // its name in the stores
	value   string
	extract client.IndexerFunc
}

// These fields need no IndexField. controller-runtime's cache doesn't know them.
const (
	nameField      = "metadata.name"
	namespaceField = "metadata.namespace"
)

func nameIn(object client.Object) []string      { return []string{object.GetName()} }
func namespaceIn(object client.Object) []string { return []string{object.GetNamespace()} }

var (
	errContinue = errors.New("a list from the cache cannot be continued: " +
		"it holds all objects at once, so leave Continue out")
	errNotEqual = errors.New("a list from the cache can select fields only by equality")
)

// newQuery reads the options of a list. controller-runtime refuses an empty field selector.
func (g *gvkInformer) newQuery(options *client.ListOptions) (*query, error) {
	q := &query{of: g, namespace: options.Namespace}
	if !g.namespaced {
		q.namespace = "" // as at the server
	}
	if options.Continue != "" {
		return nil, errContinue
	}
	if options.LabelSelector != nil && !options.LabelSelector.Empty() {
		q.labels = options.LabelSelector
	}
	if options.FieldSelector == nil {
		return q, nil
	}
	requirements := options.FieldSelector.Requirements()
	if len(requirements) == 0 && !options.FieldSelector.Empty() {
		q.labels = labels.Nothing() // fields.Nothing() has no requirements either
	}
	for _, one := range requirements {
		if one.Operator != selection.Equals && one.Operator != selection.DoubleEquals {
			return nil, fmt.Errorf("%w, and not by %s%s%s", errNotEqual, one.Field, one.Operator,
				one.Value)
		}
		field := fieldQuery{g.indexName(one.Field), one.Value,
			g.cache.indexOf(g.objectKind, one.Field)}
		switch {
		case field.extract != nil:
		case one.Field == nameField:
			field.index, field.extract = nameField, nameIn
		case one.Field == namespaceField:
			field.index, field.extract = informer.NamespaceIndex, namespaceIn
		default:
			return nil,
				fmt.Errorf("the cache has no index of the field %q for %s: add one with IndexField",
					one.Field, g.objectKind)
		}
		q.fields = append(q.fields, field)
	}
	return q, nil
}

// run calls yield with the selected objects, as the reader sees them, until yield returns false.
func (q *query) run(ctx context.Context, yield func(client.Object) bool) error {
	listed, err := q.of.forList(q.namespace)
	if err != nil {
		return err
	}
	for _, in := range listed {
		if err := in.readable(ctx); err != nil {
			return err
		}
		candidates, rest := q.candidates(in)
		if q.namespace != "" && in.scope.sharded {
			var objects []client.Object
			kept := in.informer.ReadKept(q.namespace, func() { objects = slices.Collect(candidates) })
			if !kept {
				return &ShardError{q.of.GroupVersionKind, q.namespace}
			}
			candidates = slices.Values(objects)
		}
		for object := range candidates {
			if rest.matches(object) && !yield(q.of.shown(object)) {
				return nil
			}
		}
	}
	return nil
}

// matches reports whether an object is selected.
func (q *query) matches(object client.Object) bool {
	if q.namespace != "" && object.GetNamespace() != q.namespace {
		return false
	}
	if q.labels != nil && !q.labels.Matches(labels.Set(object.GetLabels())) {
		return false
	}
	if len(q.fields) > 0 {
		object = q.of.shown(object)
	}
	for _, field := range q.fields {
		if !slices.Contains(field.extract(object), field.value) {
			return false
		}
	}
	return true
}

// candidates are the smallest set of objects from the store that includes all selected ones: those
// of one name, one value of an index, one namespace, or all. rest is what they still have to match.
func (q *query) candidates(in *namespaceInformer) (candidates iter.Seq[client.Object], rest query) {
	candidates, rest = in.store.All(), *q
	fewest, namespace := math.MaxInt, cmp.Or(q.namespace, in.scope.namespace)
	if q.namespace != "" && in.scope.namespace == AllNamespaces {
		index, _ := in.store.Index(informer.NamespaceIndex)
		candidates, fewest = index.Lookup(namespace), index.Count(namespace)
	}
	for i, field := range q.fields {
		if field.index == nameField && (namespace != "" || !q.of.namespaced) {
			return oneObject(in, informer.Key{Namespace: namespace, Name: field.value}), *q
		}
		index, ok := in.store.Index(field.index)
		if ok && index.Count(field.value) < fewest {
			candidates, fewest = index.Lookup(field.value), index.Count(field.value)
			rest.fields = slices.Concat(q.fields[:i], q.fields[i+1:])
		}
	}
	return candidates, rest
}

func oneObject(in *namespaceInformer, key informer.Key) iter.Seq[client.Object] {
	return func(yield func(client.Object) bool) {
		if object, ok := in.store.Get(key); ok {
			yield(object)
		}
	}
}

// IndexField implements client.FieldIndexer. It starts an informer for the kind if there is none,
// but doesn't wait for it. You can call it at any time. A second index of the same field is an
// error.
//
// An index has one entry for each object and value. A list of one namespace finds its objects
// through the index or through the namespace, whichever has fewer of them. controller-runtime's
// index has every value twice, with the namespace in front and without.
func (c *objectCache) IndexField(
	_ context.Context, obj client.Object, field string, extractValue client.IndexerFunc,
) error {
	if extractValue == nil {
		return fmt.Errorf("indexing the field %q of a %T: the function is nil", field, obj)
	}
	kind, err := c.kindOf(obj)
	if err != nil {
		return err
	}
	if _, err := c.informerOf(kind); err != nil {
		return fmt.Errorf("indexing the field %q: %w", field, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.indices[kind][field] != nil {
		return fmt.Errorf("indexing the field %q of %s: there is an index already", field, kind)
	}
	if g := c.byGVK[kind]; g != nil { // nil if it was removed since
		if err := g.addIndex(field, extractValue); err != nil {
			return fmt.Errorf("indexing the field %q of %s: %w", field, kind, err)
		}
	}
	if c.indices[kind] == nil {
		c.indices[kind] = map[string]client.IndexerFunc{}
	}
	c.indices[kind][field] = extractValue
	return nil
}

// indexOf returns the function of a field's index, or nil.
func (c *objectCache) indexOf(kind objectKind, field string) client.IndexerFunc {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.indices[kind][field]
}

// errIndexIsThere is the error for an informer that metadata readers share, and that kept running
// when it was removed for others.
var errIndexIsThere = errors.New("there is an index of that name already")

// addIndex adds an index to the informers of all namespaces.
func (g *gvkInformer) addIndex(field string, extract client.IndexerFunc) error {
	name := g.indexName(field)
	values := func(found []string, object client.Object) []string {
		return append(found, extract(g.shown(object))...)
	}
	for _, in := range g.namespaces {
		if _, there := in.store.Index(name); there {
			return errIndexIsThere
		}
	}
	for _, in := range g.namespaces {
		if _, err := in.store.AddIndex(name, values); err != nil {
			return err
		}
	}
	return nil
}

// indexName is the name of a field's index in a store, which may have indices of whole objects and
// of their metadata.
func (g *gvkInformer) indexName(field string) string {
	return "field:" + g.form.String() + ":" + field
}
