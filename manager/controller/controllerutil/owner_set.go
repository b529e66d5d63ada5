package controllerutil

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loopwright/loopwright/manager/client/apiutil"
)

// OwnerReferenceOption changes an owner reference before it is set.
type OwnerReferenceOption func(*metav1.OwnerReference)

// WithBlockOwnerDeletion says whether the owner has to wait for the object, when somebody deletes
// the owner in the foreground.
func WithBlockOwnerDeletion(blockOwnerDeletion bool) OwnerReferenceOption {
	return func(ref *metav1.OwnerReference) { ref.BlockOwnerDeletion = &blockOwnerDeletion }
}

// AlreadyOwnedError says that another object controls the object. Two that did so would undo each
// other's work.
type AlreadyOwnedError struct {
	// Object is the one that was to be controlled.
	Object metav1.Object
	// Owner controls it already.
	Owner metav1.OwnerReference
}

func (e *AlreadyOwnedError) Error() string {
	return fmt.Sprintf("the object %s/%s is controlled by the %s %s already: remove one of the "+
		"two owners, or give the object another name",
		e.Object.GetNamespace(), e.Object.GetName(), e.Owner.Kind, e.Owner.Name)
}

// SetControllerReference makes owner the controller of controlled, in memory. The garbage collector
// deletes the object after its last owner, and EnqueueRequestForOwner asks for the controller when
// the object changes. A foreground deletion of the owner waits for the object, unless an option
// says otherwise.
//
// An object has one controller. If it is an object of the owner's name and kind, the reference is
// replaced. So an owner that was deleted and made again takes over what its predecessor has left.
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

// SetOwnerReference makes owner one of the owners of object, in memory, and not its controller. A
// reference to an object of this name and kind is replaced.
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

// referenceTo is a reference by which owner may own object.
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
// reference has no namespace, so it would look in that of the object, find nothing, and delete the
// object. For an object in no namespace it would not know where to look, and never delete it.
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

// nameOf is a reference that has the owner's kind and name, and nothing else.
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
