// Package claim decides which objects belong to a controller that selects them by labels, and
// adopts and releases them.
//
// A controller owns an object if its selector matches, and the object's controller reference names
// it. It adopts an object that matches and has no controller, and releases one that no longer
// matches. Decide decides which; Claim writes it; Wanting enqueues the owners that may adopt an
// orphan.
//
// Neighbours: below it is the client. Above it are the controllers that select what they own:
// ReplicaSets claim Pods, and Deployments claim ReplicaSets.
package claim

import (
	"context"
	"maps"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/manager/predicate"
	"github.com/loopwright/loopwright/manager/reconcile"
)

// Owner is a controller that claims objects, such as one ReplicaSet.
type Owner struct {
	// Object is the owner itself, as it was read.
	Object metav1.Object
	// Kind is the owner's kind, for references to it.
	Kind schema.GroupVersionKind
	// Selector selects the objects that the owner wants.
	Selector labels.Selector
}

// Verdict is what an owner does with an object.
type Verdict int

// The verdicts.
const (
	// Ignore: another owner has the object, or this one doesn't want it.
	Ignore Verdict = iota
	// Keep: the owner has the object, and wants it.
	Keep
	// Adopt: the object is an orphan, and the owner wants it.
	Adopt
	// Release: the owner has the object, but no longer selects it.
	Release
)

// String returns the verdict's name.
func (v Verdict) String() string { return [...]string{"ignore", "keep", "adopt", "release"}[v] }

// Decide returns what the owner does with an object.
//
// An owner that is being deleted keeps its objects, but doesn't adopt or release any: the garbage
// collector decides about them by their owner references. An object that is being deleted isn't
// adopted, because it will be gone soon.
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
	case isLeaving || !matches || object.GetDeletionTimestamp() != nil ||
		object.GetNamespace() != o.Object.GetNamespace():
		return Ignore
	default:
		return Adopt
	}
}

// Reference returns the controller reference to the owner.
func (o *Owner) Reference() metav1.OwnerReference {
	return *metav1.NewControllerRef(o.Object, o.Kind)
}

// Index is a field of objects: the name of the owner that controls them, for owners of one kind. It
// also finds orphans.
//
// It's the owner's name and not its UID, so that a controller can list the objects before it reads
// the owner. The list may wait for the controller's own writes; an owner that was read before would
// be out of date after the wait.
type Index struct {
	// Kind is the owners' kind. Objects that an owner of another kind controls aren't in the
	// index.
	Kind schema.GroupKind
}

// Add adds the index for objects of a kind to a cache.
func (i Index) Add(ctx context.Context, to client.FieldIndexer, objects client.Object) error {
	return to.IndexField(ctx, objects, i.field(), i.values)
}

// Of selects the objects that an owner of this name controls, or an earlier one of the same name.
func (i Index) Of(name string) client.MatchingFields {
	return client.MatchingFields{i.field(): name}
}

// Orphans selects the objects without a controller.
func (i Index) Orphans() client.MatchingFields { return client.MatchingFields{i.field(): orphans} }

// orphans isn't a valid name of an owner.
const orphans = "-"

func (i Index) field() string { return "controller:" + i.Kind.String() }

func (i Index) values(object client.Object) []string {
	controller := metav1.GetControllerOfNoCopy(object)
	switch {
	case controller == nil:
		return []string{orphans}
	case controller.Kind == i.Kind.Kind && groupOf(controller.APIVersion) == i.Kind.Group:
		return []string{controller.Name}
	}
	return nil
}

func groupOf(apiVersion string) string {
	version, _ := schema.ParseGroupVersion(apiVersion) // empty with an error
	return version.Group
}

// BecomesOrphan passes objects that an owner might adopt: new ones without a controller, and
// orphans that have just lost their controller or got other labels. No owner needs the event of an
// orphan's deletion.
var BecomesOrphan = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool { return isOrphan(e.Object) },
	UpdateFunc: func(e event.UpdateEvent) bool {
		return isOrphan(e.ObjectNew) &&
			(!isOrphan(e.ObjectOld) ||
				!maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels()))
	},
	DeleteFunc:  func(event.DeleteEvent) bool { return false },
	GenericFunc: func(event.GenericEvent) bool { return false },
}

func isOrphan(object client.Object) bool {
	return metav1.GetControllerOfNoCopy(object) == nil && object.GetDeletionTimestamp() == nil
}

// Wanting maps an orphan to the owners that select it. The cache may lack the newest owner; then
// the owner's own event comes, and its reconcile finds the orphan. An empty selector is a mistake,
// and selects nothing here.
func Wanting(
	objects client.Reader, owners client.ObjectList,
	selectorOf func(owner client.Object) *metav1.LabelSelector,
) handler.MapFunc {
	return func(ctx context.Context, orphan client.Object) (requests []reconcile.Request) {
		if !isOrphan(orphan) {
			return nil
		}
		list := owners.DeepCopyObject().(client.ObjectList)
		err := objects.List(ctx, list, client.InNamespace(orphan.GetNamespace()),
			client.UnsafeDisableDeepCopy)
		if err == nil {
			err = meta.EachListItem(list, func(item runtime.Object) error {
				owner := item.(client.Object)
				selector, err := metav1.LabelSelectorAsSelector(selectorOf(owner))
				if err == nil && !selector.Empty() &&
					selector.Matches(labels.Set(orphan.GetLabels())) {
					requests = append(requests,
						reconcile.Request{NamespacedName: client.ObjectKeyFromObject(owner)})
				}
				return nil
			})
		}
		if err != nil {
			log.FromContext(ctx).Error(err, "Looking for those that adopt an object", "object",
				client.ObjectKeyFromObject(orphan))
		}
		return requests
	}
}
