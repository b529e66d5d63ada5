// Command naive reports the status of a Deployment without saying of what, and since when.
package main

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/chapters/23-deployment/deadline"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	demo.Main("Chapter 23, naive: a status without a generation", deadline.Story(deployments))
}

// deployments returns the controller of chapter 22, which also writes a status.
func deployments(m *mini.Manager) (*mini.Controller, error) {
	c, err := mini.NewDeploymentController(m)
	if err == nil {
		c.Reconciler = mini.ReconcilerFunc(func(
			ctx context.Context, req mini.Request,
		) (mini.Result, error) {
			return report(ctx, m.Client, req)
		})
	}
	return c, err
}

// report rolls out, and then writes what it counts. It looks again after 2 seconds, so
// that it does not miss the deadline.
func report(
	ctx context.Context, c *mini.CachedClient, req mini.Request,
) (mini.Result, error) {
	_, err := (&mini.Deployments{Client: c}).ScaleOrRoll(ctx, req)
	if err != nil {
		return mini.Result{}, err
	}
	d, err := mini.Get[*appsv1.Deployment](ctx, c, req)
	if err != nil {
		return mini.Result{}, err
	}
	progress := appsv1.DeploymentCondition{
		Type: appsv1.DeploymentProgressing, Status: "True", Reason: "ReplicaSetUpdated",
		LastUpdateTime: metav1.Now(),
	}
	deadline := time.Duration(*d.Spec.ProgressDeadlineSeconds) * time.Second
	for _, was := range d.Status.Conditions {
		if time.Since(was.LastUpdateTime.Time) >= deadline {
			progress.Status, progress.Reason = "False", "ProgressDeadlineExceeded"
		}
	}
	d.Status = appsv1.DeploymentStatus{
		Conditions: []appsv1.DeploymentCondition{progress},
	}
	sets, err := mini.OwnedBy[*appsv1.ReplicaSet](ctx, c, d)
	for _, rs := range sets {
		d.Status.Replicas += rs.Status.Replicas
		d.Status.ReadyReplicas += rs.Status.ReadyReplicas
		d.Status.AvailableReplicas += rs.Status.AvailableReplicas
		if mini.EqualIgnoreHash(&rs.Spec.Template, &d.Spec.Template) {
			d.Status.UpdatedReplicas = rs.Status.Replicas
		}
	}
	if err != nil {
		return mini.Result{}, err
	}
	return mini.Result{RequeueAfter: 2 * time.Second}, c.UpdateStatus(ctx, d)
}
