package cache

import (
	"context"
	"errors"
	"fmt"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/manager/client"
)

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
