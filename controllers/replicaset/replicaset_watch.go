package replicaset

import (
	"context"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/manager/predicate"
	"github.com/loopwright/loopwright/manager/reconcile"
)

// becomesOrphan lets Pods through that somebody might adopt: new ones without a controller, and those that have lost
// theirs, or whose labels have changed. The end of an orphan concerns nobody.
var becomesOrphan = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool { return isOrphan(e.Object) },
	UpdateFunc: func(e event.UpdateEvent) bool {
		return isOrphan(e.ObjectNew) && (!isOrphan(e.ObjectOld) || !maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels()))
	},
	DeleteFunc:  func(event.DeleteEvent) bool { return false },
	GenericFunc: func(event.GenericEvent) bool { return false },
}

func isOrphan(pod client.Object) bool {
	return metav1.GetControllerOfNoCopy(pod) == nil && pod.GetDeletionTimestamp() == nil
}

// wanting returns a function that maps an orphan to the ReplicaSets that select it. It looks into the cache, which may
// not have the newest ReplicaSet; but then the ReplicaSet's own event comes, and its reconcile finds the orphan.
func wanting(objects client.Reader) handler.MapFunc {
	return func(ctx context.Context, pod client.Object) (requests []reconcile.Request) {
		if !isOrphan(pod) {
			return nil
		}
		var sets appsv1.ReplicaSetList
		if err := objects.List(ctx, &sets, client.InNamespace(pod.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
			log.FromContext(ctx).Error(err, "Looking for a ReplicaSet that adopts a Pod", "pod", client.ObjectKeyFromObject(pod))
			return nil
		}
		for i := range sets.Items {
			selector, err := metav1.LabelSelectorAsSelector(sets.Items[i].Spec.Selector)
			if err == nil && selector.Matches(labels.Set(pod.GetLabels())) {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&sets.Items[i])})
			}
		}
		return requests
	}
}
