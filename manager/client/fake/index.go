package fake

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/loopwright/loopwright/manager/client"
)

// indexes replace those of a cache. A list that selects by a field needs one, even for a field that
// a server can select by: in production the client reads from a cache, which can't.
type indexes struct {
	mu     sync.RWMutex // guards byKind
	byKind map[schema.GroupVersionKind]map[string]index
}

type index struct {
	example runtime.Object // of the type that extract expects
	extract client.IndexerFunc
}

func (in *indexes) add(gvk schema.GroupVersionKind, field string, x index) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if _, found := in.byKind[gvk][field]; found {
		return fmt.Errorf("%s has an index on the field %q already", gvk.Kind, field)
	}
	if in.byKind == nil {
		in.byKind = map[schema.GroupVersionKind]map[string]index{}
	}
	if in.byKind[gvk] == nil {
		in.byKind[gvk] = map[string]index{}
	}
	in.byKind[gvk][field] = x
	return nil
}

func (in *indexes) get(gvk schema.GroupVersionKind, field string) (index, bool) {
	in.mu.RLock()
	defer in.mu.RUnlock()
	x, found := in.byKind[gvk][field]
	return x, found
}

// AddIndex adds an index to a client of this package, as ClientBuilder.WithIndex does. It's for
// code that adds indexes at run time. It panics if it's a different client, and returns an error if
// the index already exists.
func AddIndex(
	c client.Client, obj runtime.Object, field string, extractValue client.IndexerFunc,
) error {
	in := indexesOf(c)
	if in == nil {
		panic(fmt.Sprintf("fake: AddIndex: a %T is no fake client", c))
	}
	gvk, err := c.GroupVersionKindFor(obj)
	if err != nil {
		return err
	}
	return in.add(gvk, field, index{obj, extractValue})
}

// indexesOf finds the fake client behind interceptors, and returns nil if there is none.
func indexesOf(c client.Client) *indexes {
	switch c := c.(type) {
	case *fakeClient:
		return c.indexes
	case *likeClient:
		return c.indexes
	case interface{ Unwrap() client.WithWatch }:
		return indexesOf(c.Unwrap())
	}
	return nil
}

// List implements client.Reader. A list that selects by field is complete, whatever the limit is,
// as from an index.
func (c *fakeClient) List(
	ctx context.Context, list client.ObjectList, opts ...client.ListOption,
) error {
	options := client.ListOptions{}
	options.ApplyOptions(opts)
	if options.FieldSelector == nil || len(options.FieldSelector.Requirements()) == 0 {
		return c.WithWatch.List(ctx, list, opts...)
	}
	gvk, err := c.GroupVersionKindFor(list)
	if err != nil {
		return err
	}
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	conditions, err := c.indexes.conditions(gvk, options.FieldSelector)
	if err != nil {
		return err
	}
	options.FieldSelector, options.Limit, options.Continue = nil, 0, ""
	if err := c.WithWatch.List(ctx, list, &options); err != nil {
		return err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	kept := items[:0]
	for _, item := range items {
		ok, err := c.fulfils(ctx, gvk, item.(client.Object), conditions)
		if err != nil {
			return err
		}
		if ok {
			kept = append(kept, item)
		}
	}
	return meta.SetList(list, kept)
}

// condition is one value of one index.
type condition struct {
	index
	value string
}

func (in *indexes) conditions(
	gvk schema.GroupVersionKind, selector fields.Selector,
) ([]condition, error) {
	var out []condition
	for _, r := range selector.Requirements() {
		if r.Operator != selection.Equals && r.Operator != selection.DoubleEquals {
			return nil, fmt.Errorf("list %s by %s: an index finds only what is equal", gvk.Kind,
				selector)
		}
		x, found := in.get(gvk, r.Field)
		if !found {
			return nil, fmt.Errorf("list %s by the field %q: there is no index with this name "+
				"for %s; "+
				"the cache needs IndexField for it, and this client "+
				"ClientBuilder.WithIndex", gvk.Kind, r.Field, gvk)
		}
		out = append(out, condition{x, r.Value})
	}
	return out, nil
}

// fulfils reports whether the indexes have the object under all the values. A function that expects
// a different Go type than the list's gets the object in its own type.
func (c *fakeClient) fulfils(
	ctx context.Context, gvk schema.GroupVersionKind, item client.Object,
	conditions []condition,
) (bool, error) {
	for _, want := range conditions {
		obj := item
		if reflect.TypeOf(item) != reflect.TypeOf(want.example) {
			obj = reflect.New(reflect.TypeOf(want.example).Elem()).Interface().(client.Object)
			obj.GetObjectKind().SetGroupVersionKind(gvk)
			if err := c.Get(ctx, client.ObjectKeyFromObject(item), obj); apierrors.IsNotFound(err) {
				return false, nil // it has gone meanwhile
			} else if err != nil {
				return false, err
			}
		}
		if !slices.Contains(want.extract(obj), want.value) {
			return false, nil
		}
	}
	return true, nil
}
