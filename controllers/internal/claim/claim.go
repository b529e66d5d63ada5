// Package claim decides which objects belong to a controller that selects them by labels, and adopts and releases
// them.
//
// Two things must agree before a controller counts an object as its own: the selector matches, and the object's
// controller reference names the controller. An object that matches and has no controller is adopted; one that does
// not match any more is released. Decide says which; Claim does it; Wanting wakes those whom an orphan concerns.
//
// Neighbours: below it is the client. Above it are the controllers that select what they own: ReplicaSets claim Pods,
// and Deployments claim ReplicaSets.
package claim

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Owner is a controller that claims objects, such as one ReplicaSet.
type Owner struct {
	// Object is the owner itself, as it was read.
	Object metav1.Object
	// Kind is the owner's kind, for references to it.
	Kind schema.GroupVersionKind
	// Selector selects what the owner wants.
	Selector labels.Selector
}

// Verdict is what an owner does about an object.
type Verdict int

// The verdicts.
const (
	// Ignore: the object is somebody else's, or nobody's business.
	Ignore Verdict = iota
	// Keep: the object belongs to the owner.
	Keep
	// Adopt: the object belongs to nobody, and the owner wants it.
	Adopt
	// Release: the object belongs to the owner, which does not select it any more.
	Release
)

// String is the verdict's name.
func (v Verdict) String() string { return [...]string{"ignore", "keep", "adopt", "release"}[v] }

// Decide says what the owner does about an object.
//
// An owner that is being deleted keeps what it has, because that takes no write, but it does not adopt or release: the
// garbage collector decides what becomes of its objects, and reads that from their owner references. What is being
// deleted itself is not adopted, because it would be gone before it is of any use.
func (o *Owner) Decide(object metav1.Object) Verdict {
	isLeaving := o.Object.GetDeletionTimestamp() != nil
	matches := o.Selector.Matches(labels.Set(object.GetLabels()))
	switch controller := metav1.GetControllerOfNoCopy(object); {
	case controller != nil && controller.UID != o.Object.GetUID():
		return Ignore
	case controller != nil && matches:
		return Keep
	case controller != nil && isLeaving:
		return Ignore
	case controller != nil:
		return Release
	case isLeaving || !matches || object.GetDeletionTimestamp() != nil || object.GetNamespace() != o.Object.GetNamespace():
		return Ignore
	default:
		return Adopt
	}
}

// Reference is what an object has that the owner controls.
func (o *Owner) Reference() metav1.OwnerReference { return *metav1.NewControllerRef(o.Object, o.Kind) }
