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

// Index is the field by which objects are found that an owner of a kind controls, and those that nobody controls.
//
// It has the owner's name and not its UID. So a controller can list what it has made before it reads the owner, and
// the wait for its own writes, which the list may have to make, does not make the owner old.
type Index struct {
	// Kind is the owners' kind. An object that something of another kind controls is not in the index.
	Kind schema.GroupKind
}

// Add adds the index for objects of a kind to a cache.
func (i Index) Add(ctx context.Context, to client.FieldIndexer, objects client.Object) error {
	return to.IndexField(ctx, objects, i.field(), i.values)
}

// Of selects what an owner of this name controls, or one that had the name before.
func (i Index) Of(name string) client.MatchingFields { return client.MatchingFields{i.field(): name} }

// Orphans selects what nobody controls.
func (i Index) Orphans() client.MatchingFields { return client.MatchingFields{i.field(): orphans} }

// orphans is no name that an owner can have.
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

// BecomesOrphan lets objects through that somebody might adopt: new ones without a controller, and those that have lost
// theirs, or whose labels have changed. The end of an orphan concerns nobody.
var BecomesOrphan = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool { return isOrphan(e.Object) },
	UpdateFunc: func(e event.UpdateEvent) bool {
		return isOrphan(e.ObjectNew) && (!isOrphan(e.ObjectOld) || !maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels()))
	},
	DeleteFunc:  func(event.DeleteEvent) bool { return false },
	GenericFunc: func(event.GenericEvent) bool { return false },
}

func isOrphan(object client.Object) bool {
	return metav1.GetControllerOfNoCopy(object) == nil && object.GetDeletionTimestamp() == nil
}

// Wanting maps an orphan to the owners that select it. It looks for them in the cache, which may not have the newest
// one; but then the owner's own event comes, and its reconcile finds the orphan. An empty selector is a mistake, and
// selects nothing here.
func Wanting(objects client.Reader, owners client.ObjectList, selectorOf func(owner client.Object) *metav1.LabelSelector) handler.MapFunc {
	return func(ctx context.Context, orphan client.Object) (requests []reconcile.Request) {
		if !isOrphan(orphan) {
			return nil
		}
		list := owners.DeepCopyObject().(client.ObjectList)
		err := objects.List(ctx, list, client.InNamespace(orphan.GetNamespace()), client.UnsafeDisableDeepCopy)
		if err == nil {
			err = meta.EachListItem(list, func(item runtime.Object) error {
				owner := item.(client.Object)
				selector, err := metav1.LabelSelectorAsSelector(selectorOf(owner))
				if err == nil && !selector.Empty() && selector.Matches(labels.Set(orphan.GetLabels())) {
					requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(owner)})
				}
				return nil
			})
		}
		if err != nil {
			log.FromContext(ctx).Error(err, "Looking for those that adopt an object", "object", client.ObjectKeyFromObject(orphan))
		}
		return requests
	}
}
