package reconcile

import (
	"context"
	"fmt"
	"reflect"

	"github.com/loopwright/loopwright/manager/client"
)

// ObjectReconciler is a Reconciler that gets the object instead of its name.
type ObjectReconciler[object client.Object] interface {
	Reconcile(context.Context, object) (Result, error)
}

// AsReconciler makes a Reconciler, which reads the object and passes it on. If the object is not
// there, there is nothing to do, and rec is not called. The object is a copy, which rec may change, unless
// the cache was told UnsafeDisableDeepCopy.
//
// object must be a pointer to a Go type that the client's scheme knows: an unstructured object would
// have to know its kind before it is read.
func AsReconciler[object client.Object](c client.Client, rec ObjectReconciler[object]) Reconciler {
	goType := reflect.TypeFor[object]()
	return Func(func(ctx context.Context, request Request) (Result, error) {
		if goType.Kind() != reflect.Pointer {
			return Result{}, TerminalError(fmt.Errorf("AsReconciler needs a pointer to a Go type, and %s is none", goType))
		}
		obj := reflect.New(goType.Elem()).Interface().(object)
		if err := c.Get(ctx, request.NamespacedName, obj); err != nil {
			return Result{}, client.IgnoreNotFound(err)
		}
		return rec.Reconcile(ctx, obj)
	})
}
