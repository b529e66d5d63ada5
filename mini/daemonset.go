package mini

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// daemonNode is a node, and the DaemonSet's Pods that are on it or made for it.
type daemonNode struct {
	name      string
	run, stay bool          // as nodeShouldRun says
	pods      []*corev1.Pod // oldest first
}

// daemons is what one reconcile decides about. It has no client.
type daemons struct {
	ds    *appsv1.DaemonSet
	hash  string        // of the Pods that have the DaemonSet's template
	nodes []*daemonNode // sorted by name
	lost  []*corev1.Pod // made for nodes that do not exist
	now   time.Time
}

// daemonPlan is the decision.
type daemonPlan struct {
	create []string      // each of these nodes gets a Pod
	remove []*corev1.Pod // these Pods go
	next   time.Duration // when to decide again although nothing changes; 0 is never
}

// failedPodPause is how old a failed Pod is, at least, when another one takes its place.
// If the kubelet refuses the Pod at once, it will refuse the next one, too.
const failedPodPause = 30 * time.Second

// decide returns what to do now. A rollout waits until each node has its Pod.
func (d *daemons) decide() (plan daemonPlan) {
	d.manage(&plan)
	if len(plan.create)+len(plan.remove) == 0 {
		d.roll(&plan)
	}
	return plan
}

// manage brings each node the one Pod that it is to have. During a surge, it may have an
// old one and a fresh one.
func (d *daemons) manage(plan *daemonPlan) {
	for _, pod := range d.lost {
		if !isEnding(pod) { // the scheduler will never find its node
			plan.remove = append(plan.remove, pod)
		}
	}
	surge, _ := d.fences(1)
	for _, n := range d.nodes {
		var live []*corev1.Pod
		ending, waiting := false, false
		for _, pod := range n.pods {
			left := failedPodPause - d.now.Sub(pod.CreationTimestamp.Time)
			switch {
			case isEnding(pod):
				ending = true
			case n.stay && !isPodTerminal(pod):
				live = append(live, pod)
				_, left := podAvailable(pod, d.ds.Spec.MinReadySeconds, d.now)
				plan.next = soonest(plan.next, left)
			case n.stay && d.isFresh(pod) && left > 0:
				waiting, plan.next = true, soonest(plan.next, left)
			default:
				ending = true
				plan.remove = append(plan.remove, pod)
			}
		}
		switch {
		case len(live) == 0 && n.run && !waiting && (!ending || surge > 0):
			plan.create = append(plan.create, n.name)
		case len(live) > 1 && surge == 0:
			plan.remove = append(plan.remove, live[1:]...)
		case len(live) > 1:
			plan.remove = append(plan.remove, d.replaced(live)...)
		}
	}
}

// replaced returns the Pods of a node that a surge can do without: all but the oldest of
// each kind, and the old one if it does not serve, or if the fresh one does.
func (d *daemons) replaced(live []*corev1.Pod) (remove []*corev1.Pod) {
	fresh, old := d.oldest(live)
	for _, pod := range live {
		if pod != fresh && pod != old {
			remove = append(remove, pod)
		}
	}
	if fresh != nil && old != nil {
		if _, ready := podReady(old); !ready || d.available(fresh) {
			remove = append(remove, old)
		}
	}
	return remove
}

// oldest returns the oldest Pod that has the DaemonSet's template, and the oldest that
// has another one, leaving out Pods that are ending.
func (d *daemons) oldest(pods []*corev1.Pod) (fresh, old *corev1.Pod) {
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

func (d *daemons) isFresh(pod *corev1.Pod) bool {
	return pod.Labels[appsv1.ControllerRevisionHashLabelKey] == d.hash
}

func (d *daemons) available(pod *corev1.Pod) bool {
	available, _ := podAvailable(pod, d.ds.Spec.MinReadySeconds, d.now)
	return available
}

// fences returns how many nodes may have a second Pod, and how many may be without one
// that serves. Unlike those of a Deployment, both are rounded up.
func (d *daemons) fences(nodes int) (surge, unavailable int) {
	strategy := d.ds.Spec.UpdateStrategy
	if strategy.Type != appsv1.RollingUpdateDaemonSetStrategyType {
		return 0, 0
	}
	scaled := intstr.GetScaledValueFromIntOrPercent // the API server has validated both
	surge, _ = scaled(strategy.RollingUpdate.MaxSurge, nodes, true)
	unavailable, _ = scaled(strategy.RollingUpdate.MaxUnavailable, nodes, true)
	return surge, unavailable
}

// roll replaces Pods of old templates, as many at a time as the fences allow. A Pod that
// does not serve is replaced at any time: nothing is lost. Where there may be no fresh
// Pod, the old one stays.
func (d *daemons) roll(plan *daemonPlan) {
	wanted := slices.DeleteFunc(slices.Clone(d.nodes), func(n *daemonNode) bool {
		return !n.run
	})
	if surge, unavailable := d.fences(len(wanted)); surge > 0 {
		d.surge(plan, wanted, surge)
	} else if unavailable > 0 {
		d.replace(plan, wanted, unavailable)
	}
}

// replace deletes old Pods: once one has ended, its node gets a fresh one. A node whose
// Pod is ending has none that serves, although that Pod may still be ready.
func (d *daemons) replace(plan *daemonPlan, nodes []*daemonNode, unavailable int) {
	var serving []*corev1.Pod
	for _, n := range nodes {
		fresh, old := d.oldest(n.pods)
		switch {
		case fresh == nil && d.available(old):
			serving = append(serving, old)
			continue
		case fresh == nil && old != nil:
			plan.remove = append(plan.remove, old)
		case old == nil && d.available(fresh):
			continue
		}
		unavailable--
	}
	plan.remove = append(plan.remove, atMost(serving, unavailable)...)
}

// surge gives nodes a fresh Pod beside the old one, which goes when the fresh one serves.
func (d *daemons) surge(plan *daemonPlan, nodes []*daemonNode, surge int) {
	var serving []string
	for _, n := range nodes {
		fresh, old := d.oldest(n.pods)
		switch {
		case old == nil:
		case fresh != nil:
			surge--
		case d.available(old):
			serving = append(serving, n.name)
		default:
			plan.create = append(plan.create, n.name)
		}
	}
	plan.create = append(plan.create, atMost(serving, surge)...)
}

// atMost returns the first n, or all if there are not so many.
func atMost[T any](all []T, n int) []T { return all[:max(min(n, len(all)), 0)] }

// podAvailable returns true if the Pod has been ready for long enough. If it is ready,
// but not for long enough, left is the time that is missing.
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

// soonest returns the shorter of two times, of which 0 is never.
func soonest(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}

// status counts nodes. If a node has two Pods, the oldest one counts.
func (d *daemons) status() (status appsv1.DaemonSetStatus) {
	status.ObservedGeneration = d.ds.Generation
	for _, n := range d.nodes {
		if n.run {
			status.DesiredNumberScheduled++
		}
		switch {
		case len(n.pods) == 0:
			continue
		case !n.run:
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

// DaemonSets is the DaemonSet controller.
//
// Guarantees: it creates no Pod for a node because it has not seen its own, and a rollout
// keeps to its fences: the cached client shows all writes of this process.
//
// Caveats: Pods on a node that is gone are left to the cluster's Pod collector.
type DaemonSets struct {
	Client *CachedClient

	// Burst is how many Pods one reconcile creates or deletes at most; 0 is 250.
	Burst int
}

// NewDaemonSetController returns the controller with its watches. Add it to m.
func NewDaemonSetController(m *Manager) (*Controller, error) {
	sets, err1 := m.Cache.Informer(&appsv1.DaemonSet{})
	revisions, err2 := m.Cache.Informer(&appsv1.ControllerRevision{})
	pods, err3 := m.Cache.Informer(&corev1.Pod{})
	nodes, err4 := m.Cache.Informer(&corev1.Node{})
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	c := NewController("daemonset", &DaemonSets{Client: m.Client})
	c.Workers, c.Trace, c.Queue.Trace = 2, m.Cluster.Trace, m.Cluster.Trace
	ofSet := EnqueueOwner(appsv1.SchemeGroupVersion.WithKind("DaemonSet").GroupKind())
	c.Watch(sets, EnqueueObject)
	c.Watch(revisions, ofSet)
	c.Watch(pods, ofSet)
	c.Watch(pods, enqueueAdopters(sets, func(set Object) *metav1.LabelSelector {
		return set.(*appsv1.DaemonSet).Spec.Selector
	}))
	c.Watch(nodes, func(Change) (all []Request) {
		for _, set := range sets.List() {
			all = append(all, KeyOf(set))
		}
		return all
	}, placementChanged)
	return c, nil
}

// enqueueAdopters asks for the owners that may adopt the object, if it is an orphan.
func enqueueAdopters(
	owners *SharedInformer, selectorOf func(Object) *metav1.LabelSelector,
) EventHandler {
	return EnqueueMapped(func(obj Object) (all []Request) {
		if metav1.GetControllerOfNoCopy(obj) != nil {
			return nil
		}
		near, _ := owners.ByIndex(ByNamespace, obj.GetNamespace()) // it has the index
		for _, owner := range near {
			selector, err := metav1.LabelSelectorAsSelector(selectorOf(owner))
			if err == nil && selector.Matches(labels.Set(obj.GetLabels())) {
				all = append(all, KeyOf(owner))
			}
		}
		return all
	})
}

// placementChanged is true if the change of a node may concern where Pods have to be. A
// node reports its condition every few minutes, and that does not.
func placementChanged(change Change) bool {
	return isWhole(change) || LabelsChanged(change) || !equality.Semantic.DeepEqual(
		change.Old.(*corev1.Node).Spec.Taints, change.New.(*corev1.Node).Spec.Taints)
}

// Reconcile brings the Pods of one DaemonSet closer to one for each node.
func (c *DaemonSets) Reconcile(ctx context.Context, req Request) (Result, error) {
	ds, err := Get[*appsv1.DaemonSet](ctx, c.Client, req)
	if err != nil || ds.DeletionTimestamp != nil { // the garbage collector is at work
		return Result{}, IgnoreNotFound(err)
	}
	collisions := ptr.Deref(ds.Status.CollisionCount, 0)
	revisions, err := syncHistory(
		ctx, c.Client, ds, ds.Spec.Selector, &ds.Spec.Template, &collisions)
	if err != nil {
		return Result{}, err
	}
	d, err := c.observe(ctx, ds, revisions.update)
	if err != nil {
		return Result{}, err
	}
	plan := d.decide()
	failure := c.carryOut(ctx, d, plan)
	status := d.status()
	status.CollisionCount = &collisions
	if !equality.Semantic.DeepEqual(ds.Status, status) { // each write calls us again
		ds.Status = status
		err := c.Client.UpdateStatus(ctx, ds)
		failure = errors.Join(failure, IgnoreNotFound(err)) // deleted a moment ago
	}
	err = revisions.truncate(ctx, c.Client, ds.Spec.RevisionHistoryLimit, d.runs)
	return Result{RequeueAfter: plan.next}, errors.Join(failure, err)
}

// observe claims the Pods of the DaemonSet, and finds their nodes.
func (c *DaemonSets) observe(
	ctx context.Context, ds *appsv1.DaemonSet, update *appsv1.ControllerRevision,
) (*daemons, error) {
	selector, _ := metav1.LabelSelectorAsSelector(ds.Spec.Selector) // syncHistory has
	nodes, err1 := List[*corev1.Node](ctx, c.Client, Selection{})
	pods, err2 := List[*corev1.Pod](ctx, c.Client, Selection{Namespace: ds.Namespace})
	pods, err3 := Claim(ctx, c.Client, ds, selector, pods)
	slices.SortStableFunc(pods, func(a, b *corev1.Pod) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	hash := update.Labels[appsv1.ControllerRevisionHashLabelKey]
	d := &daemons{ds: ds, hash: hash, now: time.Now()}
	byName := map[string]*daemonNode{}
	for _, node := range nodes {
		n := &daemonNode{name: node.Name}
		n.run, n.stay = nodeShouldRun(ds, node)
		d.nodes, byName[n.name] = append(d.nodes, n), n
	}
	for _, pod := range pods {
		n := byName[targetNode(pod)]
		switch {
		case n != nil && !(isEnding(pod) && isPodTerminal(pod)): // otherwise it is over
			n.pods = append(n.pods, pod)
		case n == nil && pod.Spec.NodeName == "" && targetNode(pod) != "":
			d.lost = append(d.lost, pod)
		}
	}
	return d, errors.Join(err1, err2, err3)
}

// carryOut creates and deletes Pods. One failure does not stop the deletions: the Pods in
// question may be what is in the way.
func (c *DaemonSets) carryOut(ctx context.Context, d *daemons, plan daemonPlan) error {
	burst := cmp.Or(c.Burst, 250)
	create, remove := atMost(plan.create, burst), atMost(plan.remove, burst)
	return errors.Join(
		slowStartBatch(len(create), func(i int) error {
			return c.Client.Create(ctx, daemonPod(d.ds, d.hash, create[i]))
		}),
		inParallel(len(remove), func(i int) error {
			return deletePod(ctx, c.Client, remove[i])
		}))
}

// runs returns true if a Pod has the template of the revision.
func (d *daemons) runs(rev *appsv1.ControllerRevision) bool {
	hash := rev.Labels[appsv1.ControllerRevisionHashLabelKey]
	return slices.ContainsFunc(d.nodes, func(n *daemonNode) bool {
		return slices.ContainsFunc(n.pods, func(pod *corev1.Pod) bool {
			return pod.Labels[appsv1.ControllerRevisionHashLabelKey] == hash
		})
	})
}
