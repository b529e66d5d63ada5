package client

import (
	"context"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
)

// A write may take an object out of a cache, whose selectors do not match it any more. Then a read must not show it
// as it was before. But for which event should the read wait? If an earlier write has taken it out, this one has no
// event, and the cache reaches its version with the next bookmark only, a minute later.
//
// So a read waits for nothing if the cache does not show the object. The cache may be late, and be about to show it as
// it was before: the version stays in the log until the cache has reached it, and the read looks at what it has read.

// departures are the versions in which objects have left the cache. A nil map has none.
type departures map[ObjectKey]string

func (d departures) with(key ObjectKey, version string) departures {
	if d == nil {
		d = departures{}
	}
	d[key] = version
	return d
}

// awaitExit waits until the cache does not show the object older than in the version in which it has left. It
// returns the version as seen if the cache has reached it, and as left if it has not.
func (c *consistentClient) awaitExit(ctx context.Context, example Object, key ObjectKey, version string) (seen, left string, err error) {
	isOld := func(object Object) bool { return isNewer(version, object.GetResourceVersion()) }
	if err := c.waiter.WaitForEnd(ctx, example, key, isOld); err != nil {
		return "", "", err
	}
	if c.waiter.WaitFor(ended, example, key, version) != nil {
		return "", version, nil
	}
	return version, "", nil
}

// readAfter reads when the cache has caught up, and again if what it has read has left the cache.
func readAfter[T runtime.Object](into T, catchUp func() (departures, error), read func(into T) error) error {
	for {
		leaving, err := catchUp()
		if err != nil {
			return err
		}
		if leaving == nil {
			return read(into)
		}
		tried, ok := into.DeepCopyObject().(T) // into stays as it was if there is an error
		if !ok || reflect.TypeOf(tried) != reflect.TypeOf(into) {
			tried = into // its method is that of a type inside it
		}
		if err := read(tried); err != nil {
			return err
		}
		if !leaving.areIn(tried) {
			reflect.ValueOf(into).Elem().Set(reflect.ValueOf(tried).Elem())
			return nil
		}
	}
}

// areIn reports whether an object, or one of a list, is shown as it was before it has left.
func (d departures) areIn(read runtime.Object) bool {
	isOld := func(object runtime.Object) bool {
		about, err := meta.Accessor(object)
		if err != nil {
			return false
		}
		version, leaves := d[ObjectKey{Namespace: about.GetNamespace(), Name: about.GetName()}]
		return leaves && isNewer(version, about.GetResourceVersion())
	}
	if !meta.IsListType(read) {
		return isOld(read)
	}
	found := false
	_ = meta.EachListItem(read, func(item runtime.Object) error { // a list that cannot be read was not filled by a cache
		found = found || isOld(item)
		return nil
	})
	return found
}

// ended is for questions whether there is something to wait for.
var ended = func() context.Context {
	ctx, end := context.WithCancel(context.Background())
	end()
	return ctx
}()
