// Command missing-predicate has a controller that keeps the size of each Deployment in a ConfigMap.
// The size is in the spec, and another program changes the status all the time.
package main

import (
	"context"
	"errors"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ctrl "github.com/loopwright/loopwright"
	"github.com/loopwright/loopwright/examples/internal/run"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/predicate"
	"github.com/loopwright/loopwright/manager/reconcile"
)

func main() { run.Main("missing-predicate", missingPredicate) }

func missingPredicate(ctx context.Context, p run.Program) error {
	mgr, err := p.Manager(ctx, "missing-predicate", ctrl.Options{})
	if err != nil {
		return err
	}
	c := mgr.GetClient()
	sizes := ctrl.NewControllerManagedBy(mgr).Named("sizes").For(&appsv1.Deployment{})
	// region mended
	if p.Mended {
		sizes.WithEventFilter(predicate.GenerationChangedPredicate{})
	}
	// endregion mended
	err = errors.Join(
		sizes.Complete(reconcile.AsReconciler(c, keeper{c})),
		mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return report(ctx, p) })),
		p.Make(ctx, p.Deployment("web")))
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}

type keeper struct{ client.Client }

func (k keeper) Reconcile(
	ctx context.Context, deployment *appsv1.Deployment,
) (reconcile.Result, error) {
	size := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: deployment.Namespace, Name: deployment.Name,
	}}
	_, err := ctrl.CreateOrUpdate(ctx, k, size, func() error {
		size.Data = map[string]string{"replicas": strconv.Itoa(int(*deployment.Spec.Replicas))}
		return nil
	})
	return reconcile.Result{}, err
}

// report is the other program: it writes a new status ten times a second.
func report(ctx context.Context, p run.Program) error {
	for ctx.Err() == nil {
		before := p.Deployment("web")
		after := before.DeepCopy()
		after.Status.Conditions = []appsv1.DeploymentCondition{{
			Type: "Measured", Status: corev1.ConditionTrue, Reason: "Measured",
			Message: time.Now().Format(time.RFC3339Nano),
		}}
		err := p.User.Status().Patch(ctx, after, client.MergeFrom(before))
		if err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	return nil
}
