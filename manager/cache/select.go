package cache

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/manager/client"
)

// query is what a list asks for.
type query struct {
	view      *view
	namespace string
	labels    labels.Selector // nil selects all
	fields    []fieldQuery
	names     []string // metadata.name must be each of these
	limit     int64
	counted   int64 // how many an iteration has yielded
}

// fieldQuery is one field with its value.
type fieldQuery struct {
	index   string // its name in the stores
	value   string
	extract client.IndexerFunc
}

var (
	errContinue = errors.New("a list from the cache cannot be continued: it holds all objects at once, so leave Continue out")
	errNotEqual = errors.New("a list from the cache can select fields only by equality")
)

// newQuery reads the options of a list.
//
// controller-runtime does not know metadata.name and metadata.namespace unless they are indexed, and refuses an
// empty field selector.
func (v *view) newQuery(options *client.ListOptions) (query, error) {
	q := query{view: v, namespace: options.Namespace, limit: options.Limit}
	if options.Continue != "" {
		return q, errContinue
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
	return q, q.addFields(requirements)
}

func (q *query) addFields(requirements fields.Requirements) error {
	for _, one := range requirements {
		if one.Operator != selection.Equals && one.Operator != selection.DoubleEquals {
			return fmt.Errorf("%w, and not by %s%s%s", errNotEqual, one.Field, one.Operator, one.Value)
		}
		extract := q.view.cache.indexOf(q.view.kindForm, one.Field)
		switch {
		case extract != nil:
			q.fields = append(q.fields, fieldQuery{q.view.indexName(one.Field), one.Value, extract})
		case one.Field == "metadata.name":
			q.names = append(q.names, one.Value)
		case one.Field == "metadata.namespace":
			q.fields = append(q.fields, fieldQuery{informer.NamespaceIndex, one.Value, namespaceOf})
		default:
			return fmt.Errorf("the cache has no index of the field %q for %s: add one with IndexField", one.Field, q.view.kindForm)
		}
	}
	return nil
}

func namespaceOf(object client.Object) []string { return []string{object.GetNamespace()} }

// indexOf is the function of a field's index, or nil.
func (c *objectCache) indexOf(kind kindForm, field string) client.IndexerFunc {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.indices[kind][field]
}

// run calls yield with the objects that are asked for, as they are in the store, until it returns false.
func (q *query) run(ctx context.Context, yield func(client.Object) bool) error {
	return q.each(ctx, func(candidates iter.Seq[client.Object], rest *filter) bool {
		for object := range candidates {
			if rest.matches(object) && !yield(object) {
				return false
			}
		}
		return true
	})
}

// each calls visit for each part, with a set of objects that an index offers, and with what is still to be
// asked of them, until it returns false.
func (q *query) each(ctx context.Context, visit func(candidates iter.Seq[client.Object], rest *filter) bool) error {
	parts, err := q.view.partsOf(q.namespace)
	if err != nil {
		return err
	}
	going := true
	for _, part := range parts {
		if err := part.readable(ctx); err != nil {
			return err
		}
		if going {
			going = visit(q.candidates(part))
		}
	}
	return nil
}

// filter is what of a query the candidates do not fulfil by themselves.
type filter struct {
	namespace string
	labels    labels.Selector
	fields    []fieldQuery
	names     []string
	show      *toMetadata // before it is given to the functions of fields
}

func (f *filter) isEmpty() bool {
	return f.namespace == "" && f.labels == nil && len(f.fields) == 0 && len(f.names) == 0
}

func (f *filter) matches(object client.Object) bool {
	if f.namespace != "" && object.GetNamespace() != f.namespace {
		return false
	}
	for _, name := range f.names {
		if object.GetName() != name {
			return false
		}
	}
	if f.labels != nil && !f.labels.Matches(labels.Set(object.GetLabels())) {
		return false
	}
	if len(f.fields) == 0 {
		return true
	}
	if f.show != nil {
		object = f.show.of(object)
	}
	for _, field := range f.fields {
		if !slices.Contains(field.extract(object), field.value) {
			return false
		}
	}
	return true
}

// candidates are objects among which all that are asked for are, and what is still to be asked of them.
func (q *query) candidates(part *kindInformer) (iter.Seq[client.Object], *filter) {
	rest := &filter{labels: q.labels, fields: q.fields, names: q.names}
	if q.view.isConverted() {
		show := q.view.metadata()
		rest.show = &show
	}
	if q.view.namespaced && part.scope.namespace == AllNamespaces {
		rest.namespace = q.namespace
	}
	if len(q.names) > 0 && (rest.namespace != "" || part.scope.namespace != "" || !q.view.namespaced) {
		return oneObject(part, informer.Key{Namespace: part.namespaceFor(q), Name: q.names[0]}), rest
	}
	best, fewest, used := part.store.All(), -1, -1
	for i, field := range q.fields {
		if index, ok := part.store.Index(field.index); ok {
			if count := index.Count(field.value); fewest < 0 || count < fewest {
				best, fewest, used = index.Lookup(field.value), count, i
			}
		}
	}
	if rest.namespace != "" {
		byNamespace, _ := part.store.Index(informer.NamespaceIndex)
		if fewest < 0 || byNamespace.Count(rest.namespace) < fewest {
			rest.namespace = ""
			return byNamespace.Lookup(q.namespace), rest
		}
	}
	if used >= 0 {
		rest.fields = slices.Concat(q.fields[:used], q.fields[used+1:])
	}
	return best, rest
}

// namespaceFor is the only namespace of which the query wants objects from this part.
func (k *kindInformer) namespaceFor(q *query) string {
	switch {
	case !q.view.namespaced:
		return ""
	case k.scope.namespace != AllNamespaces:
		return k.scope.namespace
	}
	return q.namespace
}

func oneObject(part *kindInformer, key informer.Key) iter.Seq[client.Object] {
	return func(yield func(client.Object) bool) {
		if object, ok := part.store.Get(key); ok {
			yield(object)
		}
	}
}

// IndexField implements client.FieldIndexer. It starts an informer for the kind if there is none, does not wait
// for it, and may be called at any time. A second index of one field is an error.
//
// An index has one entry for each object and value. A list of one namespace finds its objects through the
// index or through the namespace, whichever has fewer of them. controller-runtime's has every value twice,
// with the namespace before it and without.
func (c *objectCache) IndexField(_ context.Context, obj client.Object, field string, extractValue client.IndexerFunc) error {
	if extractValue == nil {
		return fmt.Errorf("indexing the field %q of a %T: the function is nil", field, obj)
	}
	kind, err := c.kindOf(obj)
	if err != nil {
		return err
	}
	if _, err := c.viewOf(kind); err != nil {
		return fmt.Errorf("indexing the field %q: %w", field, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.indices[kind][field] != nil {
		return fmt.Errorf("indexing the field %q of %s: there is an index already", field, kind)
	}
	if c.indices[kind] == nil {
		c.indices[kind] = map[string]client.IndexerFunc{}
	}
	if v := c.views[kind]; v != nil { // somebody may have removed it since
		if err := v.addIndex(field, extractValue); err != nil {
			return fmt.Errorf("indexing the field %q of %s: %w", field, kind, err)
		}
	}
	c.indices[kind][field] = extractValue
	return nil
}

// errIndexIsThere is for an informer that serves another view, too, and was not stopped with this one.
var errIndexIsThere = errors.New("there is an index of that name already")

// addIndex adds an index to all parts.
func (v *view) addIndex(field string, extract client.IndexerFunc) error {
	name := v.indexName(field)
	var values informer.IndexFunc[client.Object] = func(found []string, object client.Object) []string {
		return append(found, extract(object)...)
	}
	if v.isConverted() {
		show := v.metadata()
		values = func(found []string, object client.Object) []string { return append(found, extract(show.of(object))...) }
	}
	for _, part := range v.parts {
		if _, there := part.store.Index(name); there {
			return errIndexIsThere
		}
	}
	for _, part := range v.parts {
		if _, err := part.store.AddIndex(name, values); err != nil {
			return err
		}
	}
	return nil
}

// indexName is what the index of a field is called in a store, where there may be those of two forms.
func (v *view) indexName(field string) string { return "field:" + v.form.String() + ":" + field }
