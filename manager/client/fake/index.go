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

// indexes stand for those of a cache. A list that selects by a field needs one, even for a field
// that a server can select by: in production the client reads from a cache, which cannot.
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

// AddIndex adds an index to a client of this package, as ClientBuilder.WithIndex does. It is for
// code that adds indexes at run time. It panics if the client is another one, and returns an error
// if there is such an index.
func AddIndex(
	c client.Client, obj runtime.Object, field string, extractValue client.IndexerFunc,
) error {
	fake, ok := unwrap(c)
	if !ok {
		panic(fmt.Sprintf("fake: AddIndex: a %T is no fake client", c))
	}
	gvk, err := fake.GroupVersionKindFor(obj)
	if err != nil {
		return err
	}
	return fake.indexes.add(gvk, field, index{obj, extractValue})
}

// unwrap finds the fake client behind interceptors.
func unwrap(c client.Client) (*fakeClient, bool) {
	for {
		if fake, ok := c.(*fakeClient); ok {
			return fake, true
		}
		wrapper, ok := c.(interface{ Unwrap() client.WithWatch })
		if !ok {
			return nil, false
		}
		c = wrapper.Unwrap()
	}
}

// List implements client.Reader. What is selected by field comes in one piece, without regard to
// a limit, as from an index.
func (c *fakeClient) List(
	ctx context.Context, list client.ObjectList, opts ...client.ListOption,
) error {
	if err := c.list(ctx, list, opts); err != nil || c.loose == nil {
		return err
	}
	return meta.EachListItem(list, func(item runtime.Object) error {
		forgetKind(item)
		return nil
	})
}

func (c *fakeClient) list(
	ctx context.Context, list client.ObjectList, opts []client.ListOption,
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
	conditions, err := c.conditions(gvk, options.FieldSelector)
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

func (c *fakeClient) conditions(
	gvk schema.GroupVersionKind, selector fields.Selector,
) ([]condition, error) {
	var out []condition
	for _, r := range selector.Requirements() {
		if r.Operator != selection.Equals && r.Operator != selection.DoubleEquals {
			return nil, fmt.Errorf("list %s by %s: an index finds only what is equal", gvk.Kind,
				selector)
		}
		x, found := c.indexes.get(gvk, r.Field)
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

// fulfils reports whether the indexes have the object under all the values. A function that
// expects another Go type than the list has gets the object in its own.
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
