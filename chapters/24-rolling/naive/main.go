// Command naive is a rolling update that adds up what the ReplicaSets ask for.
package main

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/loopwright/loopwright/chapters/24-rolling/surge"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/internal/demo/alone"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	demo.Main("Chapter 24, naive: add up the sizes",
		alone.Story(surge.Story(roll), "replicaset-controller", "deployment-controller"),
		demo.Predict(2, "the sizes of the ReplicaSets never add up to more than 25 Pods. "+
			"How many Pods are there at the peak?",
			"the third line above"))
}

func roll(c *mini.CachedClient) mini.Reconciler {
	return mini.ReconcilerFunc(
		func(ctx context.Context, req mini.Request) (mini.Result, error) {
			return mini.Result{}, oneStep(ctx, c, req)
		})
}

// oneStep adds new Pods up to 25, and takes old ones as long as 15 are available.
func oneStep(ctx context.Context, c *mini.CachedClient, req mini.Request) error {
	d, err := mini.Get[*appsv1.Deployment](ctx, c, req)
	if err != nil {
		return err
	}
	all, err := mini.OwnedBy[*appsv1.ReplicaSet](ctx, c, d)
	if err != nil {
		return err
	}
	newRS, oldRSs := mini.FindNewReplicaSet(d, all)
	if newRS == nil {
		return c.Create(ctx, surge.ReplicaSet(d))
	}
	asked, available := int32(0), int32(0)
	for _, rs := range all {
		asked += *rs.Spec.Replicas
		available += min(rs.Status.AvailableReplicas, *rs.Spec.Replicas)
	}
	more := min(surge.MostPods-asked, *d.Spec.Replicas-*newRS.Spec.Replicas)
	if more > 0 {
		*newRS.Spec.Replicas += more
		if err := c.Update(ctx, newRS); err != nil {
			return err
		}
	}
	for _, rs := range oldRSs {
		fewer := min(available-surge.MinAvailable, *rs.Spec.Replicas)
		if fewer > 0 {
			*rs.Spec.Replicas -= fewer
			available -= fewer
			if err := c.Update(ctx, rs); err != nil {
				return err
			}
		}
	}
	return nil
}
