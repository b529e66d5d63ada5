package cache

import (
	"context"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loopwright/loopwright/manager/client"
)

// Get implements client.Reader. out is left as it was if there is an error.
func (c *objectCache) Get(ctx context.Context, key client.ObjectKey, out client.Object, opts ...client.GetOption) error {
	v, err := c.viewForRead(ctx, out, key.Namespace)
	if err != nil {
		return err
	}
	if !v.namespaced {
		key.Namespace = ""
	}
	part, err := v.partOf(key.Namespace)
	if err != nil {
		return fmt.Errorf("getting %s: %w", key, err)
	}
	if err := part.readable(ctx); err != nil {
		return err
	}
	object, ok := part.store.Get(key)
	if !ok {
		return apierrors.NewNotFound(v.resource, key.Name)
	}
	zeroCopy := part.scope.zeroCopy
	if len(opts) > 0 {
		zeroCopy = wantsZeroCopy(opts, zeroCopy)
	}
	return v.writeTo(out, object, zeroCopy)
}

// wantsZeroCopy is apart from Get because its options are allocated.
func wantsZeroCopy(opts []client.GetOption, otherwise bool) bool {
	if set := new(client.GetOptions).ApplyOptions(opts).UnsafeDisableDeepCopy; set != nil {
		return *set
	}
	return otherwise
}

// writeTo writes an object of the store to a reader's.
func (v *view) writeTo(out, object client.Object, zeroCopy bool) error {
	switch to := out.(type) {
	case *metav1.PartialObjectMetadata:
		to.TypeMeta = v.metadata().about
		if inside := objectMetaOf(object); zeroCopy {
			to.ObjectMeta = *inside
		} else {
			inside.DeepCopyInto(&to.ObjectMeta)
		}
		return nil
	case *unstructured.Unstructured:
		from, ok := object.(*unstructured.Unstructured)
		if !ok {
			break
		}
		if to.Object = from.Object; !zeroCopy {
			to.Object = runtime.DeepCopyJSON(from.Object)
		}
		return nil
	}
	if reflect.TypeOf(out) != reflect.TypeOf(object) {
		return fmt.Errorf("the cache has %s as %T and cannot write it to a %T", v.kindForm, object, out)
	}
	if zeroCopy {
		reflect.ValueOf(out).Elem().Set(reflect.ValueOf(object).Elem())
		return nil
	}
	return copyTo(reflect.ValueOf(out), reflect.ValueOf(object))
}
