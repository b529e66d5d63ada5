package claim

import (
	"context"
	"maps"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/manager/predicate"
	"github.com/loopwright/loopwright/manager/reconcile"
)

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
