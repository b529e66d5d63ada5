package cache

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loopwright/loopwright/manager/client"
)

// Get implements client.Reader. If there's an error, it leaves out unchanged.
func (c *objectCache) Get(
	ctx context.Context, key client.ObjectKey, out client.Object, opts ...client.GetOption,
) error {
	g, err := c.informerForRead(ctx, out, key.Namespace)
	if err != nil {
		return err
	}
	if !g.namespaced {
		key.Namespace = ""
	}
	in, err := g.forNamespace(key.Namespace)
	if err != nil {
		return fmt.Errorf("getting %s: %w", key, err)
	}
	if err := in.readable(ctx); err != nil {
		return err
	}
	object, ok, kept := in.informer.Get(key)
	if !kept {
		return &ShardError{g.GroupVersionKind, key.Namespace}
	}
	if !ok {
		return apierrors.NewNotFound(g.resource, key.Name)
	}
	zeroCopy := in.scope.zeroCopy
	if len(opts) > 0 {
		zeroCopy = wantsZeroCopy(opts, zeroCopy)
	}
	return g.writeTo(out, object, zeroCopy)
}

// wantsZeroCopy is separate from Get because its options are allocated.
func wantsZeroCopy(opts []client.GetOption, otherwise bool) bool {
	if set := new(client.GetOptions).ApplyOptions(opts).UnsafeDisableDeepCopy; set != nil {
		return *set
	}
	return otherwise
}

// writeTo writes an object of the store, or a copy of it, to the reader's object.
func (g *gvkInformer) writeTo(out, object client.Object, zeroCopy bool) error {
	var from runtime.Object = g.shown(object)
	if !zeroCopy {
		from = from.DeepCopyObject()
	}
	if reflect.TypeOf(out) != reflect.TypeOf(from) {
		return fmt.Errorf("the cache has %s as %T and cannot write it to a %T", g.objectKind, from,
			out)
	}
	reflect.ValueOf(out).Elem().Set(reflect.ValueOf(from).Elem())
	return nil
}

// List implements client.Reader. If there's an error, it leaves out unchanged.
//
// A list that Limit has cut off has a Continue that the cache refuses, so you can't take the list
// for a complete one. controller-runtime sets it in every list.
func (c *objectCache) List(
	ctx context.Context, out client.ObjectList, opts ...client.ListOption,
) error {
	options := new(client.ListOptions).ApplyOptions(opts)
	g, err := c.informerForRead(ctx, out, options.Namespace)
	if err != nil {
		return err
	}
	items, cutOff, err := g.list(ctx, options)
	if err == nil {
		err = meta.SetList(out, items)
	}
	if err != nil {
		return fmt.Errorf("listing %s: %w", g.resource, err)
	}
	out.SetContinue("")
	if cutOff {
		out.SetContinue("the-cache-cannot-continue")
	}
	return nil
}

// list returns the items of a list. cutOff says that there are more than the limit.
func (g *gvkInformer) list(
	ctx context.Context, options *client.ListOptions,
) (items []runtime.Object, cutOff bool, err error) {
	q, err := g.newQuery(options)
	if err != nil {
		return nil, false, err
	}
	err = q.run(ctx, func(object client.Object) bool {
		if cutOff = options.Limit > 0 && int64(len(items)) == options.Limit; !cutOff {
			items = append(items, object)
		}
		return !cutOff
	})
	if !g.listsZeroCopy(options) {
		for i, item := range items {
			items[i] = item.DeepCopyObject()
		}
	}
	return items, cutOff, err
}

// listsZeroCopy is decided for the whole list, because the caller can't tell its items apart. If
// namespaces have different settings, the items are copies.
func (g *gvkInformer) listsZeroCopy(options *client.ListOptions) bool {
	if options.UnsafeDisableDeepCopy != nil {
		return *options.UnsafeDisableDeepCopy
	}
	listed, _ := g.forList(options.Namespace)
	for _, in := range listed {
		if !in.scope.zeroCopy {
			return false
		}
	}
	return true
}

// All iterates over the objects of example's kind that the options select, as they are in the cache
// when the loop reaches their informer. It neither copies nor allocates anything per object.
//
// Caveats: the objects belong to the cache: copy before changing. A loop sees each informer at one
// moment, whatever happens meanwhile. Limit works; UnsafeDisableDeepCopy has no effect here.
//
// Errors: those of List, and that the cache isn't one of this package. An error is yielded last,
// with a nil object.
//
//	for pod, err := range cache.All(ctx, c, &corev1.Pod{}, client.InNamespace("shop")) {
func All[T client.Object](
	ctx context.Context, c client.Reader, example T, opts ...client.ListOption,
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		from, ok := c.(*objectCache)
		if !ok {
			yield(none, fmt.Errorf("iterating over %T: a %T isn't a cache from New",
				example, c))
			return
		}
		var wrongType error
		err := from.each(ctx, example, opts, func(object client.Object) bool {
			typed, ok := object.(T)
			if !ok {
				wrongType = fmt.Errorf("the cache has a %T and not a %s", object,
					reflect.TypeFor[T]())
				return false
			}
			return yield(typed, nil)
		})
		if err = cmp.Or(err, wrongType); err != nil {
			yield(none, err)
		}
	}
}

// each calls yield with the objects until it returns false.
func (c *objectCache) each(
	ctx context.Context, example client.Object, opts []client.ListOption,
	yield func(client.Object) bool,
) error {
	options := new(client.ListOptions).ApplyOptions(opts)
	g, err := c.informerForRead(ctx, example, options.Namespace)
	if err != nil {
		return err
	}
	q, err := g.newQuery(options)
	if err != nil {
		return fmt.Errorf("iterating over %s: %w", g.resource, err)
	}
	n := int64(0)
	return q.run(ctx, func(object client.Object) bool {
		n++
		return yield(object) && n != options.Limit
	})
}
