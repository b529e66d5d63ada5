package deployment

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
)

// isScaled reports whether spec.replicas has changed since the controller last sized the
// ReplicaSets. Scaling isn't a rollout: the ReplicaSets keep their shares.
func (r *rollout) isScaled() bool {
	for _, rs := range r.active() {
		if sized, ok := numberIn(rs, desiredAnnotation); ok && sized != r.desired() {
			return true
		}
	}
	return false
}

func isRolling(d *appsv1.Deployment) bool {
	return d.Spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType
}

type resize struct {
	rs *appsv1.ReplicaSet
	to int32
}

func (r resize) grows() int32 { return r.to - replicasOf(r.rs.Spec.Replicas) }

// scaledSizes returns the new sizes of the ReplicaSets of a Deployment that was scaled or is
// paused. Those that shrink come first, so that the total never exceeds what is allowed.
func (r *rollout) scaledSizes() []resize {
	sizes := r.shares()
	if _, rollsBack := rollbackTo(r.d); !rollsBack && !r.d.Spec.Paused {
		sizes = r.lessGrowth(sizes)
	}
	slices.SortStableFunc(sizes, func(a, b resize) int { return cmp.Compare(a.grows(), b.grows()) })
	return sizes
}

// lessGrowth lets no ReplicaSet grow by Pods that roll would take away next. Otherwise they might
// exist, and serve, by the time they're deleted.
//
// There are two cases in which it leaves the sizes alone. Without a new ReplicaSet, roll may never
// come to its next step, because the API server refuses to create one. And if a ReplicaSet shrinks,
// oldSizes would count on Pods that are about to be deleted.
func (r *rollout) lessGrowth(sizes []resize) []resize {
	shrinks := func(one resize) bool { return one.grows() < 0 }
	switch {
	case !isRolling(r.d): // recreate takes all old ones away first
		return slices.DeleteFunc(sizes, func(one resize) bool { return one.rs != r.newRS })
	case r.newRS == nil || slices.ContainsFunc(sizes, shrinks):
		return sizes
	}
	newRS, oldRSs := r.sizes()
	for _, one := range sizes {
		if old := slices.Index(r.oldRSs, one.rs); old >= 0 {
			oldRSs[old].wanted = one.to
		}
	}
	rolled := oldSizes(limitsOf(&r.d.Spec), newRS, oldRSs)
	for i, one := range sizes {
		if old := slices.Index(r.oldRSs, one.rs); old >= 0 {
			sizes[i].to = max(rolled[old], replicasOf(one.rs.Spec.Replicas))
		}
	}
	return sizes
}

// shares returns the sizes that keep the shares of the ReplicaSets.
func (r *rollout) shares() []resize {
	active := r.active()
	switch {
	case len(active) == 1:
		return []resize{{active[0], r.desired()}}
	case len(active) == 0 && r.newRS != nil:
		return []resize{{r.newRS, r.desired()}}
	case len(active) == 0 && len(r.oldRSs) > 0: // paused before its template could be rolled out
		return []resize{{r.oldRSs[len(r.oldRSs)-1], r.desired()}}
	case r.isSaturated():
		return r.toZero(active)
	case isRolling(r.d):
		return r.proportionalSizes(active)
	}
	return nil // Recreate has no proportional scaling; roll sets the sizes next
}

// isSaturated reports whether the new ReplicaSet has all desired Pods, and they are available. Then
// the other ReplicaSets are left over, for example an adopted one.
func (r *rollout) isSaturated() bool {
	if r.newRS == nil {
		return false
	}
	sized, ok := numberIn(r.newRS, desiredAnnotation)
	return ok && sized == r.desired() &&
		sizeOf(r.newRS) == size{wanted: r.desired(), available: r.desired()}
}

func (r *rollout) toZero(active []*appsv1.ReplicaSet) (out []resize) {
	for _, rs := range active {
		if rs != r.newRS {
			out = append(out, resize{rs, 0})
		}
	}
	return out
}

func (r *rollout) proportionalSizes(active []*appsv1.ReplicaSet) []resize {
	l := limitsOf(&r.d.Spec)
	allowed := l.desired + l.surge
	if l.desired == 0 {
		allowed = 0
	}
	shares, out := make([]share, len(active)), make([]resize, len(active))
	for i, rs := range active {
		whole, _ := numberIn(rs, maxAnnotation)
		shares[i] = share{size: replicasOf(rs.Spec.Replicas), whole: whole}
	}
	for i, to := range proportional(shares, allowed, r.d.Status.Replicas) {
		out[i] = resize{active[i], to}
	}
	return out
}

// share is the input of proportional scaling for one ReplicaSet.
type share struct {
	size int32 // its spec.replicas; more than 0
	// whole is how many Pods all ReplicaSets together were allowed when this one got its size, from
	// maxAnnotation; 0 if it isn't known.
	whole int32
}

// proportional is proportional scaling: it divides the allowed Pods among the ReplicaSets, the
// oldest first, in the proportion of their sizes so far. If a user scales up in the middle of a bad
// rollout, the bad ReplicaSet grows no faster than the good one.
//
// The largest ReplicaSet gets, or gives, what rounding leaves over. Of equals, the newest grows
// first, and the oldest shrinks first. The sizes always add up to allowed. Kubernetes takes the
// rest from one ReplicaSet only: of four ReplicaSets with one Pod each it keeps three Pods where
// two are allowed.
//
// current is how many Pods exist. It replaces a whole that isn't known.
func proportional(shares []share, allowed, current int32) []int32 {
	sizes := make([]int32, len(shares))
	change := allowed
	for i, s := range shares {
		sizes[i] = s.size
		change -= s.size
	}
	rest := change // Pods to add, or to remove if it's negative
	order := largestFirst(shares, change > 0)
	for _, i := range order {
		if rest == 0 {
			break
		}
		part := fraction(shares[i], allowed, current)
		if change > 0 {
			part = min(part, rest)
		} else {
			part = max(part, rest)
		}
		sizes[i] += part
		rest -= part
	}
	for _, i := range order {
		part := max(rest, -sizes[i])
		sizes[i] += part
		rest -= part
	}
	return sizes
}

// fraction returns by how many Pods a ReplicaSet should grow, rounded to the nearest number, if all
// ReplicaSets together are allowed this many.
func fraction(s share, allowed, current int32) int32 {
	whole := cmp.Or(s.whole, current)
	if whole <= 0 {
		return 0
	}
	size, of, to := int64(s.size), int64(whole), int64(allowed) // the product may need 64 bits
	return int32((2*size*to+of)/(2*of) - size)
}

// largestFirst returns the indices of the shares, the largest first. Of equals, the newest or the
// oldest is first.
func largestFirst(shares []share, newest bool) []int {
	order := make([]int, len(shares))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		age := cmp.Compare(a, b)
		if newest {
			age = -age
		}
		return cmp.Or(cmp.Compare(shares[b].size, shares[a].size), age)
	})
	return order
}
