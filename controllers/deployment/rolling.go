package deployment

import (
	"math"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// limits are what a rolling update must respect at every moment.
type limits struct {
	desired     int32 // Pods that the Deployment wants
	surge       int32 // Pods that may exist beyond those
	unavailable int32 // desired Pods that don't have to be available
}

// size has the two numbers of one ReplicaSet that newSize and oldSizes need.
type size struct {
	wanted    int32 // its spec.replicas
	available int32 // its status.availableReplicas
}

// serving is how many Pods are certain to be available after the last change. An older status may
// count Pods that are about to be deleted; the ReplicaSet controller deletes unavailable ones
// first.
func (s size) serving() int32 { return min(s.available, s.wanted) }

func (s size) idle() int32 { return s.wanted - s.serving() }

// limitsOf resolves percentages. It rounds the surge up, so that there's one at all, and the
// unavailable down. If both are zero, the rollout could never move; then it lets one Pod be
// unavailable, because a quota may not allow a surge. desired + surge doesn't overflow.
func limitsOf(spec *appsv1.DeploymentSpec) limits {
	l := limits{desired: replicasOf(spec.Replicas)}
	rolling := spec.Strategy.RollingUpdate
	if spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType || rolling == nil {
		return l
	}
	l.surge = min(scaled(rolling.MaxSurge, l.desired, true), math.MaxInt32-l.desired)
	l.unavailable = scaled(rolling.MaxUnavailable, l.desired, false)
	if l.surge == 0 && l.unavailable == 0 {
		l.unavailable = 1
	}
	l.unavailable = min(l.unavailable, l.desired)
	return l
}

// replicasOf returns the number, or 1, the API server's default.
func replicasOf(replicas *int32) int32 {
	if replicas == nil {
		return 1
	}
	return *replicas
}

// scaled resolves a number or a percentage of the whole. It returns 0 for nil, and for any other
// text, which the API server refuses anyway.
func scaled(value *intstr.IntOrString, whole int32, up bool) int32 {
	n, _ := intstr.GetScaledValueFromIntOrPercent(value, int(whole), up) // 0 with an error
	return int32(min(n, math.MaxInt32))
}

// newSize returns how many Pods the new ReplicaSet should have now: as many as the surge leaves
// room for, but no more than are desired. It shrinks the ReplicaSet only if fewer are desired.
func newSize(l limits, newRS size, oldRSs []size) int32 {
	total := newRS.wanted
	for _, old := range oldRSs {
		total += old.wanted
	}
	room := max(l.desired+l.surge-total, 0)
	return min(newRS.wanted+room, l.desired)
}

// oldSizes returns how many Pods each of the old ReplicaSets should have now. The oldest comes
// first in the lists, and shrinks first.
//
// It removes unavailable Pods first, from any ReplicaSet: they serve no requests, and a rollout
// that waited for them might wait forever. Enough Pods must be left that are available or may
// become so. Then it removes available Pods, as long as enough others are available.
func oldSizes(l limits, newRS size, oldRSs []size) []int32 {
	least := l.desired - l.unavailable
	sizes := make([]int32, len(oldRSs))
	left, serving := newRS.serving(), newRS.serving()
	for i, old := range oldRSs {
		sizes[i] = old.wanted
		left += old.wanted
		serving += old.serving()
	}
	take := func(most int32, from func(i int) int32) {
		for i := range sizes {
			n := max(min(most, from(i)), 0)
			sizes[i] -= n
			most -= n
		}
	}
	take(left-least, func(i int) int32 { return oldRSs[i].idle() })
	take(serving-least, func(i int) int32 { return sizes[i] })
	return sizes
}

// waitsFor returns how many Pods of the new ReplicaSet a rolling update is waiting for when it can
// make no step. It can't wait for anything else: while old Pods are left, and all new ones are
// available, the limits leave room to add one or to remove one.
func waitsFor(newRS size) int32 { return newRS.idle() }
