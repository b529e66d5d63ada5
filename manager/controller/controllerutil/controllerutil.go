// Package controllerutil has the changes that almost every controller makes: it makes an object or
// corrects it, says who owns it, and holds up the deletion of another one.
//
// Data flow: an object, and what the caller wants of it -> the change in memory -> for
// CreateOrUpdate and CreateOrPatch, one read and as few writes as possible.
//
// Neighbours: below it is the client. Above it are reconcilers, and package finalizer. Package
// conditions does for the status what CreateOrPatch does for the rest.
//
// The functions that change an object's lists make new lists. An object that shares its lists with
// a cached one, as a copy with `copy := *object` does, can be given to them.
package controllerutil

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/loopwright/loopwright/manager/client"
)

// OperationResult says what CreateOrUpdate or CreateOrPatch has done. It ends the sentence "the
// Deployment was ...".
type OperationResult string

const (
	// OperationResultNone means that nothing was written.
	OperationResultNone OperationResult = "unchanged"
	// OperationResultCreated means that the object is new.
	OperationResultCreated OperationResult = "created"
	// OperationResultUpdated means that the object has changed, and its status has not.
	OperationResultUpdated OperationResult = "updated"
	// OperationResultUpdatedStatus means that the object has changed, and so has its status. This
	// took two writes.
	OperationResultUpdatedStatus OperationResult = "updatedStatus"
	// OperationResultUpdatedStatusOnly means that nothing but the status has changed.
	OperationResultUpdatedStatusOnly OperationResult = "updatedStatusOnly"
)

// MutateFn changes an object, which it knows from its surroundings, into what it should be. It
// must leave the object's name and namespace as they are.
type MutateFn func() error

// CreateOrUpdate reads the object into obj, lets f change it, and writes it if f made a
// difference. If the object is not there, f changes obj as it is, and that is created.
//
//	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
//	result, err := controllerutil.CreateOrUpdate(ctx, c, service, func() error {
//		service.Spec.Ports = []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP}}
//		return controllerutil.SetControllerReference(deployment, service, c.Scheme())
//	})
//
// Guarantees: if f makes no difference, nothing is written. The update is a conflict if the object
// has changed since it was read, as long as f leaves its resourceVersion alone.
//
// Caveats: set fields in f, and nothing but the name before: what was read replaces the rest. An f
// that replaces the whole object takes its resourceVersion away, and the update overwrites whatever
// others have changed. Where f resets a field that the server gives a default, there is always a
// difference, and each call sends an update. So set single fields, or all those that have defaults.
// What f changes in the status is not written.
//
// Errors: those of the client, of which IsConflict and IsAlreadyExists mean that the object was
// changed or made after the read, or that the read came from a cache that is behind; those of f, as
// they are.
func CreateOrUpdate(
	ctx context.Context, c client.Client, obj client.Object, f MutateFn,
) (OperationResult, error) {
	found, err := readOrCreate(ctx, c, obj, f)
	if err != nil {
		return OperationResultNone, err
	}
	if !found {
		return OperationResultCreated, nil
	}
	before := obj.DeepCopyObject()
	if err := mutate(obj, f); err != nil {
		return OperationResultNone, err
	}
	// To Semantic, an empty list is none, and 1000m are one CPU. But it takes longer.
	if reflect.DeepEqual(before, obj) || equality.Semantic.DeepEqual(before, obj) {
		return OperationResultNone, nil
	}
	if err := c.Update(ctx, obj); err != nil {
		return OperationResultNone, err
	}
	return OperationResultUpdated, nil
}

// readOrCreate reads an object. If it is not there, it is changed by f and created.
func readOrCreate(
	ctx context.Context, c client.Client, obj client.Object, f MutateFn,
) (found bool, err error) {
	err = c.Get(ctx, client.ObjectKeyFromObject(obj), obj)
	if !apierrors.IsNotFound(err) {
		return true, err
	}
	if err := mutate(obj, f); err != nil {
		return false, err
	}
	return false, c.Create(ctx, obj)
}

// mutate calls f, and makes sure that it is still about the same object.
func mutate(obj client.Object, f MutateFn) error {
	if f == nil {
		return nil
	}
	was := client.ObjectKeyFromObject(obj)
	if err := f(); err != nil {
		return err
	}
	if is := client.ObjectKeyFromObject(obj); is != was {
		return fmt.Errorf("the function that changes %s made %s of it: set name and namespace "+
			"before the call", was, is)
	}
	return nil
}

// AddFinalizer adds a finalizer, unless the object has it, and reports whether it did. The caller
// has to write the object: before the finalizer's owner makes what has to be cleaned up.
func AddFinalizer(o client.Object, finalizer string) (finalizersUpdated bool) {
	if ContainsFinalizer(o, finalizer) {
		return false
	}
	o.SetFinalizers(append(slices.Clone(o.GetFinalizers()), finalizer))
	return true
}

// RemoveFinalizer removes a finalizer, and reports whether the object had it. The caller has to
// write the object: after it is certain that everything has been cleaned up. Nobody looks at the
// object again once its last finalizer is gone.
func RemoveFinalizer(o client.Object, finalizer string) (finalizersUpdated bool) {
	if !ContainsFinalizer(o, finalizer) {
		return false
	}
	o.SetFinalizers(slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(f string) bool {
		return f == finalizer
	}))
	return true
}

// ContainsFinalizer reports whether the object has the finalizer.
func ContainsFinalizer(o client.Object, finalizer string) bool {
	return slices.Contains(o.GetFinalizers(), finalizer)
}
