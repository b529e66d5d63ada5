// Command two-managers has two managers with one lease: the second one's controller never starts.
package main

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ctrl "github.com/loopwright/loopwright"
	"github.com/loopwright/loopwright/examples/internal/run"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/reconcile"
)

func main() { run.Main("two-managers", twoManagers) }

func twoManagers(ctx context.Context, p run.Program) error {
	orders, err1 := manage(ctx, p, "orders")
	bills, err2 := manage(ctx, p, "bills")
	if err := errors.Join(err1, err2, p.Make(ctx, p.Deployment("web"))); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return orders.Start(ctx) })
	group.Go(func() error {
		select {
		case <-orders.Elected():
			return bills.Start(ctx)
		case <-ctx.Done():
			return nil
		}
	})
	return group.Wait()
}

// manage returns a manager whose controller writes the manager's name on each Deployment.
func manage(ctx context.Context, p run.Program, name string) (ctrl.Manager, error) {
	lease := "shop"
	// region mended
	if p.Mended {
		lease = name
	}
	// endregion mended
	mgr, err := p.Manager(ctx, name, ctrl.Options{
		LeaderElection: true, LeaderElectionID: lease, LeaderElectionNamespace: p.Namespace,
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return nil, err
	}
	c := mgr.GetClient()
	return mgr, ctrl.NewControllerManagedBy(mgr).Named(name).For(&appsv1.Deployment{}).
		Complete(reconcile.AsReconciler(c, marker{c, name}))
}

type marker struct {
	client.Client
	name string
}

func (m marker) Reconcile(
	ctx context.Context, deployment *appsv1.Deployment,
) (reconcile.Result, error) {
	if deployment.Labels[m.name] == "yes" {
		return reconcile.Result{}, nil
	}
	before := deployment.DeepCopy()
	metav1.SetMetaDataLabel(&deployment.ObjectMeta, m.name, "yes")
	return reconcile.Result{}, m.Patch(ctx, deployment, client.MergeFrom(before))
}
