package mini

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
)

// ScaleOrRoll is a Reconciler that rolls out as Roll does. If a user scales a Deployment
// in the middle of a rollout, its ReplicaSets keep their proportions, so a bad template
// doesn't get any further by that. A paused Deployment can be scaled, but doesn't roll.
func (c *Deployments) ScaleOrRoll(ctx context.Context, req Request) (Result, error) {
	r, err := c.getRollout(ctx, req)
	if r == nil {
		return Result{}, err // nil if there's nothing to do
	}
	return Result{}, c.scaleOrRoll(ctx, r)
}

func (c *Deployments) scaleOrRoll(ctx context.Context, r *rollout) error {
	if !r.d.Spec.Paused && !isScalingEvent(r) {
		return c.roll(ctx, r)
	}
	for _, s := range scale(r) {
		// Even if its size stays, the ReplicaSet has to remember the new whole, or the
		// scaling event would never be over.
		if err := c.scaleReplicaSet(ctx, r.d, s); err != nil {
			return err
		}
	}
	return nil
}

// isScalingEvent returns true if a ReplicaSet got its size when the user wanted another
// number of Pods.
func isScalingEvent(r *rollout) bool {
	return slices.ContainsFunc(active(r.allRSs()), func(rs *appsv1.ReplicaSet) bool {
		desired, known := replicasAnnotation(rs, DesiredReplicasAnnotation)
		return known && desired != *r.d.Spec.Replicas
	})
}

// active returns the ReplicaSets whose size isn't 0.
func active(rsList []*appsv1.ReplicaSet) (all []*appsv1.ReplicaSet) {
	for _, rs := range rsList {
		if *rs.Spec.Replicas > 0 {
			all = append(all, rs)
		}
	}
	return all
}

// replicasAnnotation returns a number that scaleReplicaSet has written.
func replicasAnnotation(rs *appsv1.ReplicaSet, key string) (n int32, known bool) {
	number, err := strconv.Atoi(rs.Annotations[key])
	return int32(number), err == nil
}

// scale returns the sizes that the ReplicaSets should have in a Deployment of this size.
// Like a rollout, it grows none of them until all surplus Pods have been deleted.
func scale(r *rollout) (plan []scaling) {
	if rs := findActiveOrLatest(r); rs != nil {
		plan = []scaling{{rs, *r.d.Spec.Replicas}}
	} else {
		plan = proportional(r.d, active(r.allRSs()))
	}
	for _, s := range plan {
		if s.replicas > *s.rs.Spec.Replicas && !settled(r.allRSs()...) {
			return nil
		}
	}
	return plan
}

// findActiveOrLatest returns the ReplicaSet that has all Pods, the only one whose size
// isn't 0. If there's no such ReplicaSet, it returns the new one, or else the latest. If
// there are several, it returns nil.
func findActiveOrLatest(r *rollout) *appsv1.ReplicaSet {
	all := r.allRSs()
	rsList := active(all)
	if len(rsList) > 1 || len(all) == 0 {
		return nil
	}
	if len(rsList) == 1 {
		return rsList[0]
	}
	return all[len(all)-1]
}

// proportional divides the Pods among the ReplicaSets as they have shared them so far.
// The largest comes first, and gets what rounding leaves over. Among equals, the newest
// grows first and the oldest shrinks first. rsList has the oldest first.
func proportional(
	d *appsv1.Deployment, rsList []*appsv1.ReplicaSet,
) (plan []scaling) {
	allowed := *d.Spec.Replicas
	if allowed > 0 {
		allowed += MaxSurge(d)
	}
	toAdd := allowed - specReplicas(rsList...)
	if toAdd > 0 {
		slices.Reverse(rsList)
	}
	slices.SortStableFunc(rsList, func(a, b *appsv1.ReplicaSet) int {
		return cmp.Compare(*b.Spec.Replicas, *a.Spec.Replicas)
	})
	added := int32(0)
	for _, rs := range rsList {
		n := GetReplicaSetProportion(rs, d, toAdd, added)
		plan = append(plan, scaling{rs, *rs.Spec.Replicas + n})
		added += n
	}
	for i := range plan { // the first takes it all, but can't go below 0
		n := max(toAdd-added, -plan[i].replicas)
		plan[i].replicas += n
		added += n
	}
	return plan
}

// GetReplicaSetProportion returns how many of the toAdd Pods go to this ReplicaSet.
// Others have already got added of them. To shrink, all of these numbers are negative.
func GetReplicaSetProportion(
	rs *appsv1.ReplicaSet, d *appsv1.Deployment, toAdd, added int32,
) int32 {
	fraction := getReplicaSetFraction(rs, d)
	if toAdd > 0 {
		return max(min(fraction, toAdd-added), 0)
	}
	return min(max(fraction, toAdd-added), 0)
}

// getReplicaSetFraction returns by how many Pods the ReplicaSet changes if it keeps its
// part of the whole. The whole is all Pods, surge included, that the Deployment was
// allowed when the ReplicaSet got its size.
func getReplicaSetFraction(rs *appsv1.ReplicaSet, d *appsv1.Deployment) int32 {
	size := *rs.Spec.Replicas
	if *d.Spec.Replicas == 0 {
		return -size
	}
	before, _ := replicasAnnotation(rs, MaxReplicasAnnotation)
	if before == 0 {
		return 0 // another client has removed the annotation
	}
	whole := *d.Spec.Replicas + MaxSurge(d)
	part := math.Round(float64(size) * float64(whole) / float64(before))
	return int32(part) - size
}
