package cache

import (
	"context"
	"fmt"

	"github.com/loopwright/loopwright/manager/client"
)

// List implements client.Reader. out is left as it was if there is an error.
//
// A list that Limit has cut off has a Continue that the cache refuses, so that nobody takes the list for
// the whole. controller-runtime sets it in every list.
func (c *objectCache) List(ctx context.Context, out client.ObjectList, opts ...client.ListOption) error {
	options := new(client.ListOptions).ApplyOptions(opts)
	v, err := c.viewForRead(ctx, out, options.Namespace)
	if err != nil {
		return err
	}
	q, err := v.newQuery(options)
	if err != nil {
		return fmt.Errorf("listing %s: %w", v.resource, err)
	}
	objects, cutOff, err := q.collect(ctx)
	if err != nil {
		return fmt.Errorf("listing %s: %w", v.resource, err)
	}
	if err := v.fill(out, objects, v.listsZeroCopy(options)); err != nil {
		return fmt.Errorf("listing %s: %w", v.resource, err)
	}
	out.SetContinue("")
	if cutOff {
		out.SetContinue("the-cache-cannot-continue")
	}
	return nil
}

// collect takes the objects out of the store. cutOff says that there are more than the limit.
func (q *query) collect(ctx context.Context) (objects []client.Object, cutOff bool, err error) {
	if q.labels == nil && len(q.fields) == 0 && len(q.names) == 0 && q.limit <= 0 {
		objects = make([]client.Object, 0, q.view.size(q.namespace))
	}
	err = q.run(ctx, func(object client.Object) bool {
		if cutOff = q.limit > 0 && int64(len(objects)) == q.limit; !cutOff {
			objects = append(objects, object)
		}
		return !cutOff
	})
	return objects, cutOff, err
}

// size is about how many objects a namespace has, if that is known without counting.
func (v *view) size(namespace string) int {
	parts, _ := v.partsOf(namespace)
	if namespace != "" && len(parts) == 1 && parts[0].scope.namespace == AllNamespaces && v.namespaced {
		return 0
	}
	all := 0
	for _, part := range parts {
		all += part.store.Len()
	}
	return all
}

// listsZeroCopy is decided for the whole list: the caller cannot tell its items apart. If namespaces
// have different settings, it is a copy.
func (v *view) listsZeroCopy(options *client.ListOptions) bool {
	if options.UnsafeDisableDeepCopy != nil {
		return *options.UnsafeDisableDeepCopy
	}
	parts, err := v.partsOf(options.Namespace)
	if err != nil {
		return false
	}
	for _, part := range parts {
		if !part.scope.zeroCopy {
			return false
		}
	}
	return true
}
