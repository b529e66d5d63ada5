package mini

import (
	"cmp"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// daemonNode is a node and the DaemonSet's Pods that are on it or made for it.
type daemonNode struct {
	name                  string
	shouldRun             bool          // it should get a Pod if it has none
	shouldContinueRunning bool          // a Pod that it has may stay
	pods                  []*corev1.Pod // bound ones first, and otherwise the oldest
}

// nodesToDaemonPods is what one reconcile decides about. It has no client.
type nodesToDaemonPods struct {
	ds    *appsv1.DaemonSet
	hash  string        // of the Pods that have the DaemonSet's template
	nodes []*daemonNode // sorted by name
	lost  []*corev1.Pod // made for nodes that don't exist
	now   time.Time
}

// getNodesToDaemonPods assigns the Pods to their nodes.
func getNodesToDaemonPods(
	ds *appsv1.DaemonSet, update *appsv1.ControllerRevision, nodes []*corev1.Node,
	pods []*corev1.Pod, now time.Time,
) *nodesToDaemonPods {
	d := &nodesToDaemonPods{ds: ds, hash: hashOf(update), now: now}
	byName := map[string]*daemonNode{}
	for _, node := range nodes {
		n := &daemonNode{name: node.Name}
		n.shouldRun, n.shouldContinueRunning = nodeShouldRun(ds, node)
		d.nodes, byName[n.name] = append(d.nodes, n), n
	}
	// A Pod that's bound has its node's name, and one that isn't has "". Bound ones come
	// first, because the others may never run.
	slices.SortStableFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(
			cmp.Compare(b.Spec.NodeName, a.Spec.NodeName),
			a.CreationTimestamp.Compare(b.CreationTimestamp.Time))
	})
	for _, pod := range pods {
		target := targetNode(pod)
		switch n := byName[target]; {
		case isEnding(pod) && isPodTerminal(pod): // it's over
		case n != nil:
			n.pods = append(n.pods, pod)
		case pod.Spec.NodeName == "" && target != "" && !isEnding(pod):
			d.lost = append(d.lost, pod)
		}
	}
	return d
}

// daemonPlan is the decision.
type daemonPlan struct {
	create []string      // each of these nodes gets a Pod
	remove []*corev1.Pod // delete these Pods
	next   time.Duration // when to decide again even if nothing changes; 0: never
}

// failedPodPause is how old a failed Pod must be before another one takes its place. If
// the kubelet refuses a Pod at once, it will refuse the next one as well.
const failedPodPause = 30 * time.Second

// decide returns what to do now. A rollout waits until each node has its Pod.
func (d *nodesToDaemonPods) decide() (plan daemonPlan) {
	d.manage(&plan)
	rolling := d.ds.Spec.UpdateStrategy.Type == appsv1.RollingUpdateDaemonSetStrategyType
	if rolling && len(plan.create)+len(plan.remove) == 0 {
		d.roll(&plan)
	}
	return plan
}

// manage sees that each node has one Pod. During a surge, a node may have two, an old one
// and a fresh one.
func (d *nodesToDaemonPods) manage(plan *daemonPlan) {
	plan.remove = append(plan.remove, d.lost...) // they would be pending forever
	surge, _ := d.fenceposts(1)
	for _, n := range d.nodes {
		var live []*corev1.Pod
		ending, waiting := false, false
		for _, pod := range n.pods {
			pause := failedPodPause - d.now.Sub(pod.CreationTimestamp.Time)
			switch {
			case isEnding(pod):
				ending = true
			case n.shouldContinueRunning && !isPodTerminal(pod):
				live = append(live, pod)
				_, left := podAvailable(pod, d.ds.Spec.MinReadySeconds, d.now)
				plan.next = soonest(plan.next, left)
			case n.shouldContinueRunning && d.isFresh(pod) && pause > 0:
				waiting, plan.next = true, soonest(plan.next, pause)
			default:
				plan.remove = append(plan.remove, pod)
			}
		}
		switch {
		case len(live) > 0 && surge > 0:
			plan.remove = append(plan.remove, d.replaced(live)...)
		case len(live) > 0:
			plan.remove = append(plan.remove, live[1:]...)
		case n.shouldRun && !waiting && (!ending || surge > 0):
			plan.create = append(plan.create, n.name)
		}
	}
}

// replaced returns the Pods of a node that a surge can do without. It keeps the first
// fresh Pod and the first old one, but if there's a fresh one, the old one goes when it
// isn't ready or when the fresh one is available.
func (d *nodesToDaemonPods) replaced(live []*corev1.Pod) []*corev1.Pod {
	fresh, old := d.first(live)
	if fresh != nil && old != nil {
		if _, ready := podReady(old); !ready || d.available(fresh) {
			old = nil
		}
	}
	return slices.DeleteFunc(slices.Clone(live), func(pod *corev1.Pod) bool {
		return pod == fresh || pod == old
	})
}

// first returns the first Pod that has the DaemonSet's template, and the first that has
// another one. It leaves out Pods that are ending.
func (d *nodesToDaemonPods) first(pods []*corev1.Pod) (fresh, old *corev1.Pod) {
	for _, pod := range pods {
		switch {
		case isEnding(pod):
		case d.isFresh(pod):
			fresh = cmp.Or(fresh, pod)
		default:
			old = cmp.Or(old, pod)
		}
	}
	return fresh, old
}

func (d *nodesToDaemonPods) isFresh(pod *corev1.Pod) bool {
	return podRevision(pod) == d.hash
}

func (d *nodesToDaemonPods) available(pod *corev1.Pod) bool {
	available, _ := podAvailable(pod, d.ds.Spec.MinReadySeconds, d.now)
	return available
}

// fenceposts returns how many nodes may have a second Pod, and how many may be without
// one that serves. Unlike a Deployment's, both are rounded up.
func (d *nodesToDaemonPods) fenceposts(nodes int) (surge, unavailable int) {
	strategy := d.ds.Spec.UpdateStrategy
	if strategy.Type != appsv1.RollingUpdateDaemonSetStrategyType {
		return 0, 0
	}
	scaled := intstr.GetScaledValueFromIntOrPercent // the API server has validated both
	surge, _ = scaled(strategy.RollingUpdate.MaxSurge, nodes, true)
	unavailable, _ = scaled(strategy.RollingUpdate.MaxUnavailable, nodes, true)
	return surge, unavailable
}

// roll replaces Pods of old templates, as many at a time as the fenceposts allow. With a
// surge, it creates a fresh Pod beside the old one; without one, it deletes the old Pod.
// Until a deleted Pod has ended, its node counts as one without a Pod that serves, even
// if the Pod is still ready.
//
// An old Pod that doesn't serve is replaced at any time, because nothing is lost. If a
// node shouldn't run the new template, an old Pod that serves there goes when enough
// others serve.
func (d *nodesToDaemonPods) roll(plan *daemonPlan) {
	wanted, serving, surged, missing := 0, 0, 0, 0 // nodes
	var broken, replaceable, leaving []*corev1.Pod // of old templates
	for _, n := range d.nodes {
		fresh, old := d.first(n.pods)
		if n.shouldRun {
			wanted++
		}
		if d.available(fresh) || d.available(old) {
			serving++
		}
		switch {
		case !n.shouldRun && d.available(old):
			leaving = append(leaving, old)
		case !n.shouldRun && old != nil:
			plan.remove = append(plan.remove, old)
		case !n.shouldRun: // a fresh one may stay
		case fresh != nil && old != nil: // the old one goes when the fresh one serves
			surged++
		case d.available(fresh): // done
		case d.available(old):
			replaceable = append(replaceable, old)
		default:
			missing++
			if old != nil {
				broken = append(broken, old)
			}
		}
	}
	surge, unavailable := d.fenceposts(wanted) // the API server wants one of them to be 0
	spare := serving - (wanted - unavailable)
	plan.remove = append(plan.remove, atMost(leaving, spare)...)
	room := max(surge-surged, unavailable-missing)
	replace := slices.Concat(broken, atMost(replaceable, room))
	if surge == 0 {
		plan.remove = append(plan.remove, replace...)
		return
	}
	for _, old := range replace {
		plan.create = append(plan.create, targetNode(old))
	}
}

// atMost returns the first n, or all if there are fewer.
func atMost[T any](all []T, n int) []T { return all[:max(min(n, len(all)), 0)] }

// podAvailable returns true if the Pod has been ready for long enough. If it's ready, but
// not for long enough, left is the rest of that time.
func podAvailable(
	pod *corev1.Pod, minReadySeconds int32, now time.Time,
) (available bool, left time.Duration) {
	if pod == nil {
		return false, 0
	}
	since, ready := podReady(pod)
	if !ready {
		return false, 0
	}
	left = time.Duration(minReadySeconds)*time.Second - now.Sub(since)
	return left <= 0, max(left, 0)
}

// soonest returns the shorter of two times. 0 means never.
func soonest(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}

// status counts nodes. If a node has two Pods, the first one counts.
func (d *nodesToDaemonPods) status() (status appsv1.DaemonSetStatus) {
	status.ObservedGeneration = d.ds.Generation
	for _, n := range d.nodes {
		if n.shouldRun {
			status.DesiredNumberScheduled++
		}
		switch {
		case len(n.pods) == 0:
			continue
		case !n.shouldRun:
			status.NumberMisscheduled++
			continue
		}
		status.CurrentNumberScheduled++
		pod := n.pods[0]
		if d.isFresh(pod) {
			status.UpdatedNumberScheduled++
		}
		if _, ready := podReady(pod); ready {
			status.NumberReady++
		}
		if d.available(pod) {
			status.NumberAvailable++
		}
	}
	status.NumberUnavailable = status.DesiredNumberScheduled - status.NumberAvailable
	return status
}
