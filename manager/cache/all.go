package cache

import (
	"context"
	"fmt"
	"iter"
	"reflect"

	"github.com/loopwright/loopwright/manager/client"
)

// All iterates over the objects of example's kind that the options select, as they are in the cache when the
// loop reaches their informer. Nothing is copied or allocated for an object, so a loop costs about what a
// loop over a slice does.
//
// Caveats: the objects belong to the cache: copy before changing. A loop sees each informer at
// one moment, whatever happens meanwhile. Limit counts; UnsafeDisableDeepCopy says nothing here.
//
// Errors: those of List, and that the cache is not one of this package. An error is the last that is yielded, with
// a nil object.
//
//	for pod, err := range cache.All(ctx, c, &corev1.Pod{}, client.InNamespace("shop")) {
func All[T client.Object](ctx context.Context, c client.Reader, example T, opts ...client.ListOption) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		from, ok := c.(*objectCache)
		if !ok {
			yield(none, fmt.Errorf("iterating over %T: a %T is no cache that New has returned", example, c))
			return
		}
		if err := all(ctx, from, example, opts, yield); err != nil {
			yield(none, err)
		}
	}
}

func all[T client.Object](ctx context.Context, c *objectCache, example T, opts []client.ListOption, yield func(T, error) bool) error {
	options := new(client.ListOptions).ApplyOptions(opts)
	v, err := c.viewForRead(ctx, example, options.Namespace)
	if err != nil {
		return err
	}
	q, err := v.newQuery(options)
	if err != nil {
		return fmt.Errorf("iterating over %s: %w", v.resource, err)
	}
	var wrong client.Object
	end := q.each(ctx, func(candidates iter.Seq[client.Object], rest *filter) (going bool) {
		if v.isConverted() || q.limit > 0 || !rest.isEmpty() {
			candidates = q.narrowed(candidates, rest)
		}
		going, wrong = walk(candidates, yield)
		return going
	})
	if wrong != nil {
		return fmt.Errorf("the cache has %s as %T and not as %s", v.kindForm, wrong, reflect.TypeFor[T]())
	}
	return end
}

// narrowed are the candidates that are asked for, as the view shows them, up to the limit.
func (q *query) narrowed(candidates iter.Seq[client.Object], rest *filter) iter.Seq[client.Object] {
	return func(yield func(client.Object) bool) {
		if q.limit > 0 && q.counted == q.limit {
			return
		}
		for object := range candidates {
			if !rest.matches(object) {
				continue
			}
			if q.view.isConverted() {
				object = q.view.metadata().of(object)
			}
			q.counted++
			if !yield(object) || q.counted == q.limit {
				return
			}
		}
	}
}

// walk is the loop over most of the objects that anybody ever reads, so it does nothing else. It returns
// false if the reader has had enough, and an object that is no T.
func walk[T client.Object](objects iter.Seq[client.Object], yield func(T, error) bool) (going bool, wrong client.Object) {
	for object := range objects {
		typed, ok := object.(T)
		if !ok {
			return false, object
		}
		if !yield(typed, nil) {
			return false, nil
		}
	}
	return true, nil
}
