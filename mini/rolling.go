package mini

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// What a ReplicaSet remembers of its Deployment from when it got its size.
const (
	DesiredReplicasAnnotation = "deployment.kubernetes.io/desired-replicas"
	MaxReplicasAnnotation     = "deployment.kubernetes.io/max-replicas" // with the surge
)

// ResolveFenceposts returns how many Pods there may be beyond the desired number, and how
// many may be missing from it. Both are rounded to the careful side: the surge up, the
// missing Pods down. If both are 0, nothing could move, so one Pod may be missing.
func ResolveFenceposts(
	maxSurge, maxUnavailable *intstr.IntOrString, desired int32,
) (surge, unavailable int32, err error) {
	scaled := intstr.GetScaledValueFromIntOrPercent
	up, err := scaled(maxSurge, int(desired), true)
	if err != nil {
		return 0, 0, err
	}
	down, err := scaled(maxUnavailable, int(desired), false)
	if err != nil {
		return 0, 0, err
	}
	if up == 0 && down == 0 {
		down = 1
	}
	return int32(up), int32(down), nil
}

// fenceposts are those of a Deployment. Recreate has no surge, and no Pod that it would
// have to keep.
func fenceposts(d *appsv1.Deployment) (surge, unavailable int32) {
	rolling := d.Spec.Strategy.RollingUpdate
	if rolling == nil {
		return 0, 0
	}
	surge, unavailable, _ = ResolveFenceposts( // the API server has validated both
		rolling.MaxSurge, rolling.MaxUnavailable, *d.Spec.Replicas)
	return surge, min(unavailable, *d.Spec.Replicas)
}

// MaxSurge returns how many Pods a Deployment may have beyond the desired number.
func MaxSurge(d *appsv1.Deployment) int32 {
	surge, _ := fenceposts(d)
	return surge
}

// MaxUnavailable returns how many of a Deployment's desired Pods may be missing.
func MaxUnavailable(d *appsv1.Deployment) int32 {
	_, unavailable := fenceposts(d)
	return unavailable
}

// NewRSNewReplicas returns the size that the new ReplicaSet should have: it grows into
// the room that's left, but never beyond the desired number. allRSs includes newRS.
func NewRSNewReplicas(
	d *appsv1.Deployment, allRSs []*appsv1.ReplicaSet, newRS *appsv1.ReplicaSet,
) int32 {
	room := *d.Spec.Replicas + MaxSurge(d) - specReplicas(allRSs...)
	return min(*newRS.Spec.Replicas+max(room, 0), *d.Spec.Replicas)
}

// Roll is a Reconciler that rolls out Deployments with the strategy of each.
func (c *Deployments) Roll(ctx context.Context, req Request) (Result, error) {
	r, err := c.getRollout(ctx, req)
	if r == nil {
		return Result{}, err // nil if there's nothing to do
	}
	return Result{}, c.roll(ctx, r)
}

func (c *Deployments) roll(ctx context.Context, r *rollout) error {
	if r.d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return c.rolloutRecreate(ctx, r)
	}
	return c.rolloutRolling(ctx, r)
}

// rolloutRolling takes one step: as many new Pods and as few old ones as the fenceposts
// allow now. Then a ReplicaSet's status changes, and that event brings the next step.
func (c *Deployments) rolloutRolling(ctx context.Context, r *rollout) error {
	if err := c.getNewReplicaSet(ctx, r); err != nil {
		return err
	}
	if err := c.scaleReplicaSets(ctx, r.d, reconcileNewReplicaSet(r)); err != nil {
		return err
	}
	return c.scaleReplicaSets(ctx, r.d, reconcileOldReplicaSets(r))
}

// rolloutRecreate creates the new Pods when the last old one has ended. By then its
// volumes are free, and two versions never run at the same time.
func (c *Deployments) rolloutRecreate(ctx context.Context, r *rollout) error {
	var down []scaling
	for _, rs := range r.oldRSs {
		down = append(down, scaling{rs, 0})
	}
	if err := c.scaleReplicaSets(ctx, r.d, down); err != nil {
		return err
	}
	running, err := c.oldPodsRunning(ctx, r)
	if err != nil {
		return err
	}
	if running {
		return nil // we'll get an event when the last one ends
	}
	if err := c.getNewReplicaSet(ctx, r); err != nil {
		return err
	}
	return c.scaleReplicaSets(ctx, r.d, []scaling{{r.newRS, *r.d.Spec.Replicas}})
}

// oldPodsRunning reads the Pods themselves, because a ReplicaSet's status doesn't count
// Pods that have been deleted but still run.
func (c *Deployments) oldPodsRunning(ctx context.Context, r *rollout) (bool, error) {
	for _, rs := range r.oldRSs {
		pods, err := OwnedBy[*corev1.Pod](ctx, c.Client, rs)
		if err != nil {
			return false, err
		}
		pods = slices.DeleteFunc(pods, isPodTerminal)
		if len(pods) > 0 || !settled(rs) { // it may be about to create some
			return true, nil
		}
	}
	return false, nil
}

// scaling is a decision: this ReplicaSet should have this many Pods.
type scaling struct {
	rs       *appsv1.ReplicaSet
	replicas int32
}

// reconcileNewReplicaSet grows the new ReplicaSet into the room that the others leave.
func reconcileNewReplicaSet(r *rollout) []scaling {
	n := NewRSNewReplicas(r.d, r.allRSs(), r.newRS)
	if n > *r.newRS.Spec.Replicas && !settled(r.allRSs()...) {
		return nil
	}
	return []scaling{{r.newRS, n}}
}

// settled returns true if no ReplicaSet has more Pods than its size. If the controller
// hasn't seen the new size yet, it may still be creating Pods for the old one. If another
// ReplicaSet grew at that moment, there would be more Pods than the surge allows.
func settled(rsList ...*appsv1.ReplicaSet) bool {
	for _, rs := range rsList {
		if rs.Status.ObservedGeneration < rs.Generation ||
			rs.Status.Replicas > *rs.Spec.Replicas {
			return false
		}
	}
	return true
}

// reconcileOldReplicaSets removes the old Pods that the Deployment can do without.
func reconcileOldReplicaSets(r *rollout) []scaling {
	minAvailable := *r.d.Spec.Replicas - MaxUnavailable(r.d)
	var plan []scaling
	for _, rs := range r.oldRSs {
		plan = append(plan, scaling{rs, *rs.Spec.Replicas})
	}
	// A new Pod that isn't available yet can't replace an old one.
	cleanupUnhealthyReplicas(plan,
		specReplicas(r.oldRSs...)+availableReplicas(r.newRS)-minAvailable)
	scaleDownOldReplicaSetsForRollingUpdate(plan,
		availableReplicas(r.allRSs()...)-minAvailable)
	return plan
}

// cleanupUnhealthyReplicas removes Pods that don't serve, oldest ReplicaSet first. A
// rollout that waited for them to become available might wait forever.
func cleanupUnhealthyReplicas(plan []scaling, maxCleanup int32) {
	for i, s := range plan {
		n := max(min(maxCleanup, s.replicas-availableReplicas(s.rs)), 0)
		plan[i].replicas -= n
		maxCleanup -= n
	}
}

// scaleDownOldReplicaSetsForRollingUpdate removes Pods that serve, oldest ReplicaSet
// first, as long as enough others do.
func scaleDownOldReplicaSetsForRollingUpdate(plan []scaling, spare int32) {
	for i, s := range plan {
		n := max(min(spare, s.replicas), 0)
		plan[i].replicas -= n
		spare -= n
	}
}

// specReplicas returns the sum of the ReplicaSets' sizes.
func specReplicas(rsList ...*appsv1.ReplicaSet) (sum int32) {
	for _, rs := range rsList {
		sum += *rs.Spec.Replicas
	}
	return sum
}

// availableReplicas returns how many Pods are sure to serve. A status may be older than
// the size, and count Pods that have to go.
func availableReplicas(rsList ...*appsv1.ReplicaSet) (sum int32) {
	for _, rs := range rsList {
		sum += min(rs.Status.AvailableReplicas, *rs.Spec.Replicas)
	}
	return sum
}

// scaleReplicaSets carries out the plan. It writes only ReplicaSets whose size changes.
func (c *Deployments) scaleReplicaSets(
	ctx context.Context, d *appsv1.Deployment, plan []scaling,
) error {
	for _, s := range plan {
		if *s.rs.Spec.Replicas == s.replicas {
			continue
		}
		if err := c.scaleReplicaSet(ctx, d, s); err != nil {
			return err
		}
	}
	return nil
}

// scaleReplicaSet writes the size, and what the ReplicaSet has to remember with it.
func (c *Deployments) scaleReplicaSet(
	ctx context.Context, d *appsv1.Deployment, s scaling,
) error {
	return c.updateReplicaSet(ctx, s.rs, func() {
		desired := *d.Spec.Replicas
		*s.rs.Spec.Replicas = s.replicas
		meta := &s.rs.ObjectMeta
		metav1.SetMetaDataAnnotation(meta, DesiredReplicasAnnotation, fmt.Sprint(desired))
		metav1.SetMetaDataAnnotation(meta, MaxReplicasAnnotation,
			fmt.Sprint(desired+MaxSurge(d)))
	})
}
