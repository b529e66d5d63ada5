//go:build figures

// This file lets the figures of the book use the cores of package deployment, which are not exported. It is compiled
// into that package by an overlay (docs/book/figures/build), and is no part of any other build. What reads from a
// cluster or writes to one is left out there.

package deployment

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Limits are what a rolling update must respect.
type Limits struct{ Desired, Surge, Unavailable int }

// Size is what the arithmetic knows of one ReplicaSet.
type Size struct{ Wanted, Available int }

// LimitsOf resolves numbers and percentages, as in a Deployment's YAML.
func LimitsOf(replicas int, maxSurge, maxUnavailable string) Limits {
	surge, unavailable, n := intstr.Parse(maxSurge), intstr.Parse(maxUnavailable), int32(replicas)
	l := limitsOf(&appsv1.DeploymentSpec{Replicas: &n, Strategy: appsv1.DeploymentStrategy{
		Type:          appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &surge, MaxUnavailable: &unavailable},
	}})
	return Limits{int(l.desired), int(l.surge), int(l.unavailable)}
}

func (l Limits) inside() limits {
	return limits{int32(l.Desired), int32(l.Surge), int32(l.Unavailable)}
}

func (s Size) inside() size { return size{int32(s.Wanted), int32(s.Available)} }

func inside(sizes []Size) []size {
	out := make([]size, len(sizes))
	for i, s := range sizes {
		out[i] = s.inside()
	}
	return out
}

// NewSize is how many Pods the new ReplicaSet should ask for now.
func NewSize(l Limits, newSet Size, oldSets []Size) int {
	return int(newSize(l.inside(), newSet.inside(), inside(oldSets)))
}

// OldSizes is how many Pods each of the old ones should ask for now.
func OldSizes(l Limits, newSet Size, oldSets []Size) []int {
	var out []int
	for _, n := range oldSizes(l.inside(), newSet.inside(), inside(oldSets)) {
		out = append(out, int(n))
	}
	return out
}
