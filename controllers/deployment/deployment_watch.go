package deployment

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

// becomesOrphan lets ReplicaSets through that somebody might adopt: new ones without a controller, and those that have
// lost theirs, or whose labels have changed. The end of an orphan concerns nobody.
var becomesOrphan = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool { return isOrphan(e.Object) },
	UpdateFunc: func(e event.UpdateEvent) bool {
		return isOrphan(e.ObjectNew) && (!isOrphan(e.ObjectOld) || !maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels()))
	},
	DeleteFunc:  func(event.DeleteEvent) bool { return false },
	GenericFunc: func(event.GenericEvent) bool { return false },
}

func isOrphan(rs client.Object) bool {
	return metav1.GetControllerOfNoCopy(rs) == nil && rs.GetDeletionTimestamp() == nil
}

// wanting returns a function that maps an orphan to the Deployments that select it. It looks into the cache, which may
// not have the newest Deployment; but then the Deployment's own event comes, and its reconcile finds the orphan.
func wanting(objects client.Reader) handler.MapFunc {
	return func(ctx context.Context, rs client.Object) (requests []reconcile.Request) {
		if !isOrphan(rs) {
			return nil
		}
		var deployments appsv1.DeploymentList
		if err := objects.List(ctx, &deployments, client.InNamespace(rs.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
			log.FromContext(ctx).Error(err, "Looking for a Deployment that adopts a ReplicaSet", "replicaSet", client.ObjectKeyFromObject(rs))
			return nil
		}
		for i := range deployments.Items {
			d := &deployments.Items[i]
			selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
			if err == nil && !selector.Empty() && selector.Matches(labels.Set(rs.GetLabels())) {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(d)})
			}
		}
		return requests
	}
}
