package controllerutil

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loopwright/loopwright/manager/client"
)

// HasOwnerReference reports whether one of the references is to an object of obj's group, kind and
// name. It may be another one, which had that name before: to know, compare the UIDs, as
// metav1.IsControlledBy does.
//
// Errors: the scheme has to know obj's kind.
func HasOwnerReference(
	ownerRefs []metav1.OwnerReference, obj client.Object, scheme *runtime.Scheme,
) (bool, error) {
	name, err := nameOf(obj, scheme)
	if err != nil {
		return false, err
	}
	return indexOwner(ownerRefs, name) >= 0, nil
}

// HasControllerReference reports whether the object has a controller.
func HasControllerReference(object metav1.Object) bool {
	return slices.ContainsFunc(object.GetOwnerReferences(), isController)
}

// RemoveOwnerReference removes the object's reference to owner, in memory. An object that loses its
// last owner stays.
//
// Errors: there is no such reference; the scheme has to know the owner's kind.
func RemoveOwnerReference(owner, object metav1.Object, scheme *runtime.Scheme) error {
	return removeOwner(owner, object, scheme, func(metav1.OwnerReference) bool { return true })
}

// RemoveControllerReference removes the object's reference to owner, which is its controller, in
// memory. Another one can be set then.
//
// Errors: there is no such reference, or it is not that of the controller; the scheme has to know
// the owner's kind.
func RemoveControllerReference(owner, object metav1.Object, scheme *runtime.Scheme) error {
	return removeOwner(owner, object, scheme, isController)
}

func removeOwner(
	owner, object metav1.Object, scheme *runtime.Scheme, may func(metav1.OwnerReference) bool,
) error {
	name, err := nameOf(owner, scheme)
	if err != nil {
		return err
	}
	owners := object.GetOwnerReferences()
	at := indexOwner(owners, name)
	switch {
	case at < 0:
		return fmt.Errorf("the object %s/%s is not owned by the %s %s", object.GetNamespace(),
			object.GetName(), name.Kind, name.Name)
	case !may(owners[at]):
		return fmt.Errorf("the object %s/%s is owned by the %s %s, but not controlled by it",
			object.GetNamespace(), object.GetName(), name.Kind, name.Name)
	}
	object.SetOwnerReferences(slices.Delete(slices.Clone(owners), at, at+1))
	return nil
}
