package mini

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ScaleOrRoll is a Reconciler that rolls out as Roll does. If a user scales a Deployment
// in the middle of a rollout, its ReplicaSets keep their proportions: a bad template
// gets no further because of that. While a Deployment is paused, it can be scaled, and
// does not roll.
func (c *Deployments) ScaleOrRoll(ctx context.Context, req Request) (Result, error) {
	r, err := c.getRollout(ctx, req)
	if err != nil || r == nil {
		return Result{}, err
	}
	return Result{}, c.scaleOrRoll(ctx, r)
}

func (c *Deployments) scaleOrRoll(ctx context.Context, r *rollout) error {
	if !r.d.Spec.Paused && !isScalingEvent(r) {
		return c.roll(ctx, r)
	}
	for _, s := range scale(r) {
		// Even if the size stays, the ReplicaSet has to remember the new whole. Otherwise
		// the scaling event would never be over.
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

// active returns the ReplicaSets that ask for Pods.
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
	number, err := strconv.ParseInt(rs.Annotations[key], 10, 32)
	return int32(number), err == nil
}

// scale gives the ReplicaSets the sizes that they should have in a Deployment of this
// size. Like a rollout, it waits with growing until all Pods that have to go are gone.
func scale(r *rollout) []scaling {
	rsList, allowed := active(r.allRSs()), int32(0)
	if *r.d.Spec.Replicas > 0 {
		allowed = *r.d.Spec.Replicas + MaxSurge(r.d)
	}
	var plan []scaling
	switch {
	case len(rsList) > 1 && isSaturated(r):
		for _, rs := range r.oldRSs {
			if *rs.Spec.Replicas > 0 {
				plan = append(plan, scaling{rs, 0})
			}
		}
	case len(rsList) > 1:
		plan = proportional(r.d, rsList, allowed)
	default:
		if rs := findActiveOrLatest(r); rs != nil {
			plan = []scaling{{rs, *r.d.Spec.Replicas}}
		}
	}
	grows := slices.ContainsFunc(plan, func(s scaling) bool {
		return s.replicas > *s.rs.Spec.Replicas
	})
	if grows && !settled(r.allRSs()...) {
		return nil
	}
	return plan
}

// findActiveOrLatest returns the only ReplicaSet that asks for Pods. If none does, it is
// the new one, or else the latest.
func findActiveOrLatest(r *rollout) *appsv1.ReplicaSet {
	all := r.allRSs()
	if rsList := active(all); len(rsList) > 0 {
		return rsList[0]
	}
	if len(all) > 0 {
		return all[len(all)-1]
	}
	return nil
}

// isSaturated returns true if the rollout is at its end: old ReplicaSets have no part in
// what comes next.
func isSaturated(r *rollout) bool {
	return r.newRS != nil && !isScalingEvent(&rollout{d: r.d, newRS: r.newRS}) &&
		*r.newRS.Spec.Replicas == *r.d.Spec.Replicas &&
		r.newRS.Status.AvailableReplicas == *r.d.Spec.Replicas
}

// proportional divides allowed Pods among the ReplicaSets as they have shared the Pods
// so far. The largest comes first, and gets what the rounding leaves over. Of equals, the
// newest grows first and the oldest shrinks first.
func proportional(
	d *appsv1.Deployment, rsList []*appsv1.ReplicaSet, allowed int32,
) (plan []scaling) {
	toAdd := allowed - specReplicas(rsList...)
	if toAdd > 0 {
		rsList = slices.Clone(rsList)
		slices.Reverse(rsList) // newest first
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
	for i := range plan { // the first takes all, but cannot have fewer than 0
		n := max(toAdd-added, -plan[i].replicas)
		plan[i].replicas += n
		added += n
	}
	return plan
}

// GetReplicaSetProportion returns how many of the toAdd Pods, of which added have been
// given away already, are for this ReplicaSet. To shrink, all of them are negative.
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
// part of the whole: of all Pods that the Deployment might have when it got its size.
func getReplicaSetFraction(rs *appsv1.ReplicaSet, d *appsv1.Deployment) int32 {
	size := *rs.Spec.Replicas
	if *d.Spec.Replicas == 0 {
		return -size
	}
	before, _ := replicasAnnotation(rs, MaxReplicasAnnotation)
	before = cmp.Or(before, d.Status.Replicas)
	if before == 0 {
		return 0 // another client has removed the annotation
	}
	whole := *d.Spec.Replicas + MaxSurge(d)
	part := math.Round(float64(size) * float64(whole) / float64(before))
	return int32(part) - size
}

// Rollback does what kubectl rollout undo does: it writes the template of an old revision
// into the Deployment. Revision 0 is the one before. The rest is a rollout like any
// other. Its new ReplicaSet is the old one, found by its template.
func (c *Deployments) Rollback(ctx context.Context, req Request, revision int64) error {
	r, err := c.getRollout(ctx, req)
	if err != nil {
		return err
	}
	if r == nil {
		return fmt.Errorf("there is no Deployment %s", req)
	}
	rs := findRevision(r, revision)
	if rs == nil {
		return fmt.Errorf("deployment %s has no ReplicaSet of revision %d", req, revision)
	}
	rollbackToTemplate(r.d, rs)
	return c.Client.Update(ctx, r.d)
}

// findRevision returns nil if there is none. Revision 0 is the highest of the old ones.
func findRevision(r *rollout, revision int64) (found *appsv1.ReplicaSet) {
	if revision == 0 {
		for _, rs := range r.oldRSs {
			revision = max(revision, Revision(rs))
		}
	}
	for _, rs := range r.allRSs() {
		if Revision(rs) == revision {
			found = rs
		}
	}
	return found
}

// rollbackToTemplate makes the Deployment what it was when the ReplicaSet was its new
// one. The annotations go with it: kubernetes.io/change-cause says why it was made.
func rollbackToTemplate(d *appsv1.Deployment, rs *appsv1.ReplicaSet) {
	rs = rs.DeepCopy()
	delete(rs.Spec.Template.Labels, hashLabel)
	d.Spec.Template = rs.Spec.Template
	for key := range d.Annotations {
		if !isOwnAnnotation(key) {
			delete(d.Annotations, key)
		}
	}
	for key, value := range rs.Annotations {
		if !isOwnAnnotation(key) {
			metav1.SetMetaDataAnnotation(&d.ObjectMeta, key, value)
		}
	}
}
