package controllerutil

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/apiutil"
)

// OwnerReferenceOption changes an owner reference before it is set.
type OwnerReferenceOption func(*metav1.OwnerReference)

// WithBlockOwnerDeletion says whether a foreground deletion of the owner waits for the object.
func WithBlockOwnerDeletion(blockOwnerDeletion bool) OwnerReferenceOption {
	return func(ref *metav1.OwnerReference) { ref.BlockOwnerDeletion = &blockOwnerDeletion }
}

// AlreadyOwnedError says that another object controls the object. Two controllers would undo each
// other's work.
type AlreadyOwnedError struct {
	// Object is the object that you wanted to control.
	Object metav1.Object
	// Owner is its controller.
	Owner metav1.OwnerReference
}

func (e *AlreadyOwnedError) Error() string {
	return fmt.Sprintf("the object %s/%s is controlled by the %s %s already: remove one of the "+
		"two owners, or give the object another name",
		e.Object.GetNamespace(), e.Object.GetName(), e.Owner.Kind, e.Owner.Name)
}

// SetControllerReference makes owner the controller of controlled, in memory. The garbage collector
// deletes the object after its last owner, and EnqueueRequestForOwner enqueues the controller when
// the object changes. A foreground deletion of the owner waits for the object, unless an option
// says otherwise.
//
// An object has one controller. If that is an object with the owner's name and kind, the reference
// is replaced. So an owner that was deleted and created again takes over its predecessor's objects.
//
// Errors: AlreadyOwnedError if something else controls the object; an owner in a namespace can own
// only objects in that namespace; the scheme has to know the owner's kind.
func SetControllerReference(
	owner, controlled metav1.Object, scheme *runtime.Scheme, opts ...OwnerReferenceOption,
) error {
	ref, err := referenceTo(owner, controlled, scheme)
	if err != nil {
		return err
	}
	ref.Controller, ref.BlockOwnerDeletion = new(true), new(true)
	for _, opt := range opts {
		opt(&ref)
	}
	if controller := metav1.GetControllerOf(controlled); controller != nil &&
		!sameOwner(*controller, ref) {
		return &AlreadyOwnedError{Object: controlled, Owner: *controller}
	}
	controlled.SetOwnerReferences(withOwner(controlled.GetOwnerReferences(), ref))
	return nil
}

// SetOwnerReference makes owner one of the object's owners, in memory, but not its controller. A
// reference to an object with this name and kind is replaced.
//
// Errors: an owner in a namespace can own only objects in that namespace; the scheme has to know
// the owner's kind.
func SetOwnerReference(
	owner, object metav1.Object, scheme *runtime.Scheme, opts ...OwnerReferenceOption,
) error {
	ref, err := referenceTo(owner, object, scheme)
	if err != nil {
		return err
	}
	for _, opt := range opts {
		opt(&ref)
	}
	object.SetOwnerReferences(withOwner(object.GetOwnerReferences(), ref))
	return nil
}

// referenceTo returns a reference from object to owner.
func referenceTo(
	owner, object metav1.Object, scheme *runtime.Scheme,
) (metav1.OwnerReference, error) {
	if err := mayOwn(owner, object); err != nil {
		return metav1.OwnerReference{}, err
	}
	ref, err := nameOf(owner, scheme)
	ref.UID = owner.GetUID()
	return ref, err
}

// mayOwn returns an error unless owner is where the garbage collector would look for it. A
// reference has no namespace, so it would look in the object's, find nothing, and delete the
// object. For an object without a namespace it wouldn't know where to look, and never delete it.
func mayOwn(owner, object metav1.Object) error {
	from, to := owner.GetNamespace(), object.GetNamespace()
	switch {
	case from == "" || from == to:
		return nil
	case to == "":
		return fmt.Errorf("%s/%s cannot own %s, which is in no namespace: the garbage collector "+
			"would not know where to look for the owner, and never delete the object",
			from, owner.GetName(), object.GetName())
	default:
		return fmt.Errorf("%s/%s cannot own %s/%s, which is in another namespace: the garbage "+
			"collector would not find the owner, and delete the object",
			from, owner.GetName(), to, object.GetName())
	}
}

// nameOf returns a reference with only the owner's kind and name.
func nameOf(owner metav1.Object, scheme *runtime.Scheme) (metav1.OwnerReference, error) {
	typed, ok := owner.(runtime.Object)
	if !ok {
		return metav1.OwnerReference{},
			fmt.Errorf("a %T has no kind, and cannot be an owner: use the object, not its metadata",
				owner)
	}
	gvk, err := apiutil.GVKForObject(typed, scheme)
	if err != nil {
		return metav1.OwnerReference{}, err
	}
	return metav1.OwnerReference{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind,
		Name: owner.GetName()}, nil
}

// HasOwnerReference reports whether one of the references is to an object with obj's group, kind
// and name. That may be an earlier object with this name: to be sure, compare the UIDs, as
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
// Errors: there's no such reference; the scheme has to know the owner's kind.
func RemoveOwnerReference(owner, object metav1.Object, scheme *runtime.Scheme) error {
	return removeOwner(owner, object, scheme, func(metav1.OwnerReference) bool { return true })
}

// RemoveControllerReference removes the object's reference to owner, its controller, in memory.
// After that, you can set another one.
//
// Errors: there's no such reference, or it isn't the controller's; the scheme has to know the
// owner's kind.
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

// sameOwner reports whether both references name the same owner. The version doesn't count, because
// an object is the same in all versions. Neither does the UID: an owner that was created again
// replaces the earlier one of that name.
func sameOwner(a, b metav1.OwnerReference) bool {
	left, err := schema.ParseGroupVersion(a.APIVersion)
	right, err2 := schema.ParseGroupVersion(b.APIVersion)
	return err == nil && err2 == nil && left.Group == right.Group && a.Kind == b.Kind &&
		a.Name == b.Name
}

// indexOwner returns the index of the first reference to that owner, or -1.
func indexOwner(owners []metav1.OwnerReference, owner metav1.OwnerReference) int {
	return slices.IndexFunc(owners, func(ref metav1.OwnerReference) bool {
		return sameOwner(ref, owner)
	})
}

// withOwner returns a new list, in which ref replaces the reference to that owner, or else is at
// the end.
func withOwner(owners []metav1.OwnerReference, ref metav1.OwnerReference) []metav1.OwnerReference {
	owners = slices.Clone(owners)
	if at := indexOwner(owners, ref); at >= 0 {
		owners[at] = ref
		return owners
	}
	return append(owners, ref)
}

func isController(ref metav1.OwnerReference) bool {
	return ref.Controller != nil && *ref.Controller
}
