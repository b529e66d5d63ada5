// Package controllerutil has the changes that almost every controller makes: create or correct an
// object, say who owns it, and block the deletion of another one.
//
// Data flow: an object, and the changes that the caller wants -> the object in memory -> for
// CreateOrUpdate and CreateOrPatch, one read and as few writes as possible.
//
// Neighbours: below it is the client. Above it are reconcilers, and package finalizer. Package
// conditions does for the status what CreateOrPatch does for the rest.
//
// The functions that change an object's lists make new lists. So you can pass them an object that
// shares its lists with a cached one, as a copy with `copy := *object` does.
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

// OperationResult says what CreateOrUpdate or CreateOrPatch has done. It completes the sentence
// "the Deployment was ...".
type OperationResult string

const (
	// OperationResultNone means that nothing was written.
	OperationResultNone OperationResult = "unchanged"
	// OperationResultCreated means that the object was created.
	OperationResultCreated OperationResult = "created"
	// OperationResultUpdated means that the object has changed, but not its status.
	OperationResultUpdated OperationResult = "updated"
	// OperationResultUpdatedStatus means that both the object and its status have changed. This
	// took two writes.
	OperationResultUpdatedStatus OperationResult = "updatedStatus"
	// OperationResultUpdatedStatusOnly means that only the status has changed.
	OperationResultUpdatedStatusOnly OperationResult = "updatedStatusOnly"
)

// MutateFn changes an object, which it captures from its surroundings, into what it should be. It
// must leave the object's name and namespace alone.
type MutateFn func() error

// CreateOrUpdate reads the object into obj, lets f change it, and writes it if f made a difference.
// If the object doesn't exist, f changes obj as it is, and the result is created.
//
//	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
//	result, err := controllerutil.CreateOrUpdate(ctx, c, service, func() error {
//		service.Spec.Ports = []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP}}
//		return controllerutil.SetControllerReference(deployment, service, c.Scheme())
//	})
//
// Guarantees: if f makes no difference, nothing is written. If the object has changed since the
// read, the update fails with a conflict, as long as f leaves its resourceVersion alone.
//
// Caveats: before the call, set only the name; set all other fields in f, because the read
// overwrites them. An f that replaces the whole object also drops its resourceVersion, and the
// update then overwrites whatever others have changed. If f resets a field for which the server has
// a default, there's always a difference, and each call sends an update. So set single fields, or
// also all those that have defaults. Changes that f makes to the status aren't written.
//
// Errors: the client's, of which IsConflict and IsAlreadyExists mean that the object was changed or
// created after the read, or that the read came from a cache that is behind; and f's, unchanged.
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

// readOrCreate reads an object. If it doesn't exist, f changes it and it's created.
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

// mutate calls f, and makes sure that it's still the same object.
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

// AddFinalizer adds a finalizer, unless the object has it, and reports whether it did. You have to
// write the object before you make anything that the finalizer's owner has to clean up.
func AddFinalizer(o client.Object, finalizer string) (finalizersUpdated bool) {
	if ContainsFinalizer(o, finalizer) {
		return false
	}
	o.SetFinalizers(append(slices.Clone(o.GetFinalizers()), finalizer))
	return true
}

// RemoveFinalizer removes a finalizer, and reports whether the object had it. You have to write the
// object, and only after you're certain that everything has been cleaned up. A deleted object
// disappears with its last finalizer, so nobody looks at it again.
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
