//go:build figures

// This file lets the figures of the book use the cores of package replicaset, which are not exported. It is compiled
// into that package by an overlay (docs/book/figures/build), and is no part of any other build. What reads from a
// cluster or writes to one is left out there.

package replicaset

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/controllers/internal/podstate"
)

// FirstToGo is firstToGo: the n Pods whose loss costs least.
func FirstToGo(pods []*corev1.Pod, n int, now time.Time) []*corev1.Pod {
	return firstToGo(pods, pods, n, now)
}

// Rank returns the Pods in the order in which they would go.
func Rank(pods []*corev1.Pod, now time.Time) []*corev1.Pod {
	order := slices.Clone(FirstToGo(pods, len(pods)-1, now))
	for _, pod := range pods {
		if !slices.Contains(order, pod) {
			order = append(order, pod)
		}
	}
	return order
}

// Crowd is how many active Pods are on each node.
func Crowd(pods []*corev1.Pod) map[string]int {
	crowd := map[string]int{}
	for _, pod := range pods {
		if podstate.IsActive(pod) {
			crowd[pod.Spec.NodeName]++
		}
	}
	return crowd
}

// Rule is one of the merits that compareMerits looks at.
type Rule struct {
	Name string
	take func(to, from *merits)
}

// Rules are all of them, the most important first. A test holds their order to that of compareMerits.
var Rules = []Rule{
	{"assigned", func(to, from *merits) { to.assigned = from.assigned }},
	{"phase", func(to, from *merits) { to.phase = from.phase }},
	{"ready", func(to, from *merits) { to.ready = from.ready }},
	{"cost", func(to, from *merits) { to.cost = from.cost }},
	{"crowd", func(to, from *merits) { to.crowd = from.crowd }},
	{"readyFor", func(to, from *merits) { to.readyFor = from.readyFor }},
	{"restarts", func(to, from *merits) { to.restarts = from.restarts }},
	{"sidecarRestarts", func(to, from *merits) { to.sidecarRestarts = from.sidecarRestarts }},
	{"age", func(to, from *merits) { to.age = from.age }},
	{"uid", func(to, from *merits) { to.uid = from.uid }},
}

// Compare is compareMerits of two Pods. Decided is the name of the rule that decided: the most important one in which
// they differ.
func Compare(a, b *corev1.Pod, crowd map[string]int, now time.Time) (order int, decided string) {
	first, second := meritsOf(a, crowd[a.Spec.NodeName], now), meritsOf(b, crowd[b.Spec.NodeName], now)
	for _, rule := range Rules {
		other := first
		rule.take(&other, &second)
		if compareMerits(first, other) != 0 {
			decided = rule.Name
			break
		}
	}
	return compareMerits(first, second), decided
}

// Alone is the comparison of two Pods that differ by one rule only.
func Alone(a, b *corev1.Pod, name string, crowd map[string]int, now time.Time) int {
	first, second := meritsOf(a, crowd[a.Spec.NodeName], now), meritsOf(b, crowd[b.Spec.NodeName], now)
	other := first
	for _, rule := range Rules {
		if rule.Name == name {
			rule.take(&other, &second)
		}
	}
	return compareMerits(first, other)
}
