package deployment

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
)

// isScaled reports whether the Deployment asks for another number than it did when its ReplicaSets got their sizes. That
// is no rollout: the ReplicaSets keep their shares.
func (f *family) isScaled() bool {
	for _, rs := range f.active() {
		if sized, ok := numberIn(rs, desiredAnnotation); ok && sized != f.desired() {
			return true
		}
	}
	return false
}

func isRolling(d *appsv1.Deployment) bool {
	return d.Spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType
}

// resize is a new size for a ReplicaSet.
type resize struct {
	rs *appsv1.ReplicaSet
	to int32
}

func (r resize) grows() int32 { return r.to - replicasOf(r.rs.Spec.Replicas) }

// scaledSizes are the sizes of the ReplicaSets of a Deployment that was scaled, or is paused.
func (f *family) scaledSizes() []resize {
	active := f.active()
	switch {
	case len(active) == 1:
		return []resize{{active[0], f.desired()}}
	case len(active) == 0 && f.newSet != nil:
		return []resize{{f.newSet, f.desired()}}
	case len(active) == 0 && len(f.oldSets) > 0: // paused before its template could be rolled out
		return []resize{{f.oldSets[len(f.oldSets)-1], f.desired()}}
	case f.isSaturated():
		return f.toZero(active)
	case isRolling(f.d):
		return f.proportionalSizes(active)
	}
	return nil // Recreate has no shares, and its rollout is next
}

// isSaturated reports whether the new ReplicaSet has all the Pods that are desired, and they serve. Then the others are
// leftovers, such as one that was adopted.
func (f *family) isSaturated() bool {
	if f.newSet == nil {
		return false
	}
	sized, ok := numberIn(f.newSet, desiredAnnotation)
	return ok && sized == f.desired() && sizeOf(f.newSet) == size{wanted: f.desired(), available: f.desired()}
}

func (f *family) toZero(active []*appsv1.ReplicaSet) (out []resize) {
	for _, rs := range active {
		if rs != f.newSet {
			out = append(out, resize{rs, 0})
		}
	}
	return out
}

func (f *family) proportionalSizes(active []*appsv1.ReplicaSet) []resize {
	l := limitsOf(&f.d.Spec)
	allowed := l.desired + l.surge
	if l.desired == 0 {
		allowed = 0
	}
	shares, out := make([]share, len(active)), make([]resize, len(active))
	for i, rs := range active {
		whole, _ := numberIn(rs, maxAnnotation)
		shares[i] = share{size: replicasOf(rs.Spec.Replicas), whole: whole}
	}
	for i, to := range proportional(shares, allowed, f.d.Status.Replicas) {
		out[i] = resize{active[i], to}
	}
	// Those that shrink come first, so that there are never more than are allowed in between.
	slices.SortStableFunc(out, func(a, b resize) int { return cmp.Compare(a.grows(), b.grows()) })
	return out
}
