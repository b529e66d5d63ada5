// Command naive is a garbage collector that acts on the deletion of an owner.
package main

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/chapters/29-garbage/cascade"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	cascade.Main("Chapter 29, naive: the owner is deleted, so delete its dependents", prepare,
		demo.Predict(1,
			"a user deletes web in the foreground, and lists what there is before and "+
				"after the Pod has been drained. What does each list show?",
			"the two lists after the deletion"),
		demo.Predict(2,
			"the user deletes the Deployment db with --cascade=orphan, to keep its "+
				"ReplicaSet. What does each list show?",
			"the last list above: the ReplicaSet should have stayed"))
}

// prepare deletes the dependents of each object that is deleted, and lets it go.
func prepare(ctx context.Context, d *demo.Demo, m *mini.Manager) error {
	graph, err := mini.NewOwnerGraph(m, cascade.Kinds...)
	if err != nil {
		return err
	}
	collect := func(change mini.Change) {
		owner := change.Object().DeepCopyObject().(mini.Object)
		if change.New != nil && owner.GetDeletionTimestamp() == nil {
			return
		}
		for _, obj := range graph.Dependents(owner) {
			report(d, m.Client.Delete(ctx, obj, metav1.DeleteOptions{}))
		}
		if mini.RemoveFinalizer(owner, metav1.FinalizerDeleteDependents) ||
			mini.RemoveFinalizer(owner, metav1.FinalizerOrphanDependents) {
			report(d, m.Client.Update(ctx, owner))
		}
	}
	for _, like := range cascade.Kinds {
		informer, err := m.Cache.Informer(like)
		if err != nil {
			return err
		}
		informer.AddHandler(collect)
	}
	return nil
}

func report(d *demo.Demo, err error) {
	if err != nil && !apierrors.IsNotFound(err) {
		d.Say("%v", err)
	}
}
