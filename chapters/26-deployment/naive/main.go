// Command naive reports the status of a Deployment without saying of what, and since when.
package main

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/chapters/26-deployment/deadline"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/internal/demo/alone"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	demo.Main("Chapter 26, naive: a status without a generation",
		alone.Story(deadline.Story(deployments), "replicaset-controller", "deployment-controller"),
		demo.Predict(1, "what does kubectl rollout status say in each step? "+
			"When does the second step fail?",
			"the first line of each step").Until(3))
}

// deployments returns the controller of chapter 25, which also writes a status.
func deployments(m *mini.Manager) (*mini.Controller, error) {
	c, err := mini.NewDeploymentController(m)
	if err == nil {
		c.Reconciler = report(m.Client)
	}
	return c, err
}

// report rolls out, and then writes what it counts. It looks again after 2 seconds, so
// that it does not miss the deadline.
func report(c *mini.CachedClient) mini.ReconcilerFunc {
	return func(ctx context.Context, req mini.Request) (result mini.Result, err error) {
		if _, err := (&mini.Deployments{Client: c}).ScaleOrRoll(ctx, req); err != nil {
			return result, err
		}
		d, err := mini.Get[*appsv1.Deployment](ctx, c, req)
		if err != nil {
			return result, err
		}
		progress := appsv1.DeploymentCondition{
			Type: appsv1.DeploymentProgressing, Status: "True",
			Reason: "ReplicaSetUpdated", LastUpdateTime: metav1.Now(),
		}
		deadline := time.Duration(*d.Spec.ProgressDeadlineSeconds) * time.Second
		for _, was := range d.Status.Conditions {
			if time.Since(was.LastUpdateTime.Time) >= deadline {
				progress.Status, progress.Reason = "False", "ProgressDeadlineExceeded"
			}
		}
		d.Status = appsv1.DeploymentStatus{}
		d.Status.Conditions = append(d.Status.Conditions, progress)
		sets, err := mini.OwnedBy[*appsv1.ReplicaSet](ctx, c, d)
		if err != nil {
			return result, err
		}
		for _, rs := range sets {
			d.Status.Replicas += rs.Status.Replicas
			d.Status.ReadyReplicas += rs.Status.ReadyReplicas
			d.Status.AvailableReplicas += rs.Status.AvailableReplicas
			if mini.EqualIgnoreHash(&rs.Spec.Template, &d.Spec.Template) {
				d.Status.UpdatedReplicas = rs.Status.Replicas
			}
		}
		result.RequeueAfter = 2 * time.Second
		return result, c.UpdateStatus(ctx, d)
	}
}
