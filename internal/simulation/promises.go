package simulation

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/loopwright/loopwright/manager/client"
)

// This file is the specification: what must hold in every World, for any controllers of these kinds.
// It knows what's written in the API, and nothing about who wrote the controllers. A judge goes
// through the changes in the order in which the server made them.
//
// Two things are never a controller's fault. It learns of other clients' writes from watches that are
// late and break, so for Memory it may act on what was true before them. And some mishaps take away
// what a promise is built on: these bend it (Mishap.Bends), while they last and for Memory afterwards.
// What holds all the same, even then: the end is right.

// Promise is something that must hold.
type Promise string

const (
	// NeverMore: when a Pod is created for a ReplicaSet, the ReplicaSet has no more active Pods than
	// it wants. When a Deployment's ReplicaSet grows, all its ReplicaSets together want no more Pods
	// than replicas + maxSurge.
	//
	// Bent if a second process works beside the first, and if a new process starts with an old list:
	// a controller knows its own writes at once, but not those of another process. Kubernetes'
	// documentation of leader election says so, too.
	NeverMore Promise = "never more Pods than allowed"
	// NeverFewer: when a ReplicaSet's Pod is deleted, enough are left. When a Deployment's ReplicaSet
	// shrinks, at least replicas - maxUnavailable Pods stay available.
	//
	// Bent like NeverMore. Not promised to a Deployment with Recreate, nor while a user scales a
	// rollout, which keeps the proportions first.
	NeverFewer Promise = "never fewer ready than allowed"
	// NoStranger: only the Pods that a ReplicaSet controls are deleted for it, and a Pod is adopted
	// only if it has no owner, and after the server was asked whether the ReplicaSet is still there.
	// The garbage collector deletes nothing that has an owner that lives, or that has no owner, and
	// removes no owner that waits for a dependent. No mishap bends this.
	NoStranger Promise = "nothing of another owner is deleted"
	// NotTwice: a Deployment never has two ReplicaSets for one template, nor an object's name two
	// owners. Pods have random names, so for them, NeverMore says it.
	//
	// Bent like NeverMore: a process with an old list doesn't find its ReplicaSet, takes its name for
	// a collision of hashes, and chooses another one.
	NotTwice Promise = "nothing is created twice that has one name"
	// ActedOn: when all is over, the last spec is observed, and what it says is so: each ReplicaSet
	// has its Pods; the Deployment has its template's Pods, and no others; Endpoints and slices are
	// what Services and Pods say; nothing is left that has only absent owners.
	ActedOn Promise = "every change of the spec is acted on in the end"
	// Mended: what users do to Endpoints and slices, which are the controllers' own, is undone in the
	// end, even if no Service and no Pod changes afterwards. A slice that a user has taken over is the
	// user's.
	Mended Promise = "what users do to the controllers' objects is undone"
	// SameEnd: what users see in the end is what they see when nothing goes wrong.
	SameEnd Promise = "the end is that of a run without mishaps"
	// OneLeader: of the electors of one lock, no two lead at the same time, by the true time, which
	// none of them knows. It holds from OnStartedLeading to its return, and with WaitForMissing even
	// if the Lease is deleted. No mishap bends this.
	OneLeader Promise = "never two leaders at a time"
	// Quiet: once the end is reached, nothing is written any more for half an hour.
	Quiet Promise = "nothing is written once the end is reached"
)

// Promises are all promises, in the order of a table.
var Promises = []Promise{NeverMore, NeverFewer, NoStranger, NotTwice, OneLeader, ActedOn, Mended, SameEnd,
	Quiet}

// JudgePods judges the changes of Pods: NeverMore, NeverFewer and NoStranger of ReplicaSets.
func (w *World) JudgePods() {
	j := &podJudge{
		World: w, sets: map[types.UID]*counting{}, last: map[types.UID]*corev1.Pod{},
		labels: map[types.UID]*History[labels.Set]{},
	}
	for _, change := range w.Changes() {
		switch object := change.Object.(type) {
		case *appsv1.ReplicaSet:
			set := j.of(object.UID)
			set.selector, _ = metav1.LabelSelectorAsSelector(object.Spec.Selector)
			set.wanted.Add(change.At, int(*object.Spec.Replicas))
		case *corev1.Pod:
			j.see(change, object)
		}
	}
}

type podJudge struct {
	*World
	sets   map[types.UID]*counting
	last   map[types.UID]*corev1.Pod
	labels map[types.UID]*History[labels.Set] // of Pods
}

// counting is what the judge knows of one ReplicaSet.
type counting struct {
	selector labels.Selector
	wanted   History[int]      // replicas
	pods     int               // that count
	lost     History[struct{}] // Pods that others took away
	gained   History[struct{}] // Pods that others gave back
}

func (j *podJudge) of(uid types.UID) *counting {
	if j.sets[uid] == nil {
		j.sets[uid] = &counting{selector: labels.Nothing()}
	}
	return j.sets[uid]
}

// countsFor returns the UID of the ReplicaSet for which a Pod counts, or "".
func (j *podJudge) countsFor(pod *corev1.Pod) types.UID {
	if pod == nil || !IsActive(pod) {
		return ""
	}
	owner := metav1.GetControllerOf(pod)
	if owner == nil || !j.of(owner.UID).selector.Matches(labels.Set(pod.Labels)) {
		return ""
	}
	return owner.UID
}

// IsActive reports whether a Pod counts as one of the replicas.
func IsActive(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodSucceeded &&
		pod.Status.Phase != corev1.PodFailed
}

func (j *podJudge) see(change Change, pod *corev1.Pod) {
	before := j.last[pod.UID]
	was, is := j.countsFor(before), j.countsFor(pod)
	j.last[pod.UID] = pod
	if j.labels[pod.UID] == nil {
		j.labels[pod.UID] = &History[labels.Set]{}
	}
	j.labels[pod.UID].Add(change.At, pod.Labels)
	if change.IsGone {
		is = ""
	}
	j.strangers(change, before, pod)
	switch {
	case was == is:
	case is != "":
		j.more(change, before, pod, j.of(is))
	default:
		j.fewer(change, pod, j.of(was))
	}
}

// matchedLately reports whether a ReplicaSet's selector matched a Pod within the Memory.
func (j *podJudge) matchedLately(pod, set types.UID, at time.Time) bool {
	return slices.ContainsFunc(j.labels[pod].Lately(at), func(l labels.Set) bool {
		return j.of(set).selector.Matches(l)
	})
}

// strangers judges NoStranger.
func (j *podJudge) strangers(change Change, before, pod *corev1.Pod) {
	if before == nil {
		return
	}
	had, has := metav1.GetControllerOf(before), metav1.GetControllerOf(pod)
	begins := before.DeletionTimestamp == nil && (change.IsGone || pod.DeletionTimestamp != nil)
	switch {
	case begins && !j.byUser(pod.UID):
		switch {
		case had == nil:
			j.Breaks(NoStranger, change.At, "the Pod %s was deleted, and nobody owns it", pod.Name)
		case had.Kind != "ReplicaSet":
			j.Breaks(NoStranger, change.At, "the Pod %s was deleted, and it belongs to the %s %s",
				pod.Name, had.Kind, had.Name)
		case IsActive(before) && !j.matchedLately(pod.UID, had.UID, change.At):
			j.Breaks(NoStranger, change.At,
				"the Pod %s was deleted, and the ReplicaSet's selector doesn't match it", pod.Name)
		}
	case had == nil && has != nil:
		j.Count("Pods adopted")
		if len(j.deeds.asked.Added(change.At)) == 0 {
			j.Breaks(NoStranger, change.At, "the Pod %s was adopted, and nobody had asked whether "+
				"the ReplicaSet is still there", pod.Name)
		}
	case had != nil && has == nil:
		j.Count("Pods released")
	case had != nil && has != nil && had.UID != has.UID:
		j.Breaks(NoStranger, change.At, "the Pod %s belonged to %s, and was taken by %s", pod.Name,
			had.Name, has.Name)
	}
}

// more judges NeverMore: a Pod counts from now on.
func (j *podJudge) more(change Change, before, pod *corev1.Pod, set *counting) {
	set.pods++
	switch {
	case before == nil:
		j.Count("Pods created")
		most := slices.Max(set.wanted.Lately(change.At)) + len(set.gained.Added(change.At))
		if set.pods > most {
			j.Breaks(NeverMore, change.At,
				"the Pod %s was one too many: now there are %d, and %d are allowed",
				pod.Name, set.pods, most)
		}
	case metav1.GetControllerOf(before) != nil:
		set.gained.Add(change.At, struct{}{}) // a user has relabelled it
	}
}

// fewer judges NeverFewer: a Pod doesn't count any more.
func (j *podJudge) fewer(change Change, pod *corev1.Pod, set *counting) {
	set.pods--
	if j.byUser(pod.UID) || pod.DeletionTimestamp == nil && !change.IsGone {
		set.lost.Add(change.At, struct{}{})
		return
	}
	j.Count("Pods deleted")
	least := slices.Min(set.wanted.Lately(change.At)) - len(set.lost.Added(change.At))
	if set.pods < least {
		j.Breaks(NeverFewer, change.At, "the Pod %s was needed: %d are left, and %d are wanted",
			pod.Name, set.pods, least)
	}
}

func (w *World) byUser(uid types.UID) bool { return len(w.deeds.deleted[uid]) > 0 }

// JudgeSizes judges the sizes of a Deployment's ReplicaSets: NeverMore, NeverFewer and NotTwice.
func (w *World) JudgeSizes() {
	j := &sizeJudge{
		World: w, sets: map[types.UID]*appsv1.ReplicaSet{},
		deployments: map[types.UID]*History[*appsv1.Deployment]{},
	}
	for _, change := range w.Changes() {
		switch object := change.Object.(type) {
		case *appsv1.Deployment:
			if change.IsGone {
				continue
			}
			if j.deployments[object.UID] == nil {
				j.deployments[object.UID] = &History[*appsv1.Deployment]{}
			}
			j.deployments[object.UID].Add(change.At, object)
		case *appsv1.ReplicaSet:
			if change.IsGone {
				delete(j.sets, object.UID)
				continue
			}
			before := j.sets[object.UID]
			j.sets[object.UID] = object
			if owner := metav1.GetControllerOf(object); owner != nil {
				if before == nil {
					j.twice(change.At, object, owner.UID)
				}
				j.see(change.At, before, object, owner.UID)
			}
		}
	}
}

type sizeJudge struct {
	*World
	sets        map[types.UID]*appsv1.ReplicaSet
	deployments map[types.UID]*History[*appsv1.Deployment]
}

// twice judges NotTwice: a ReplicaSet was created.
func (j *sizeJudge) twice(at time.Time, created *appsv1.ReplicaSet, owner types.UID) {
	for _, rs := range j.ofOwner(owner) {
		if rs.UID != created.UID && SameTemplate(&rs.Spec.Template, &created.Spec.Template) {
			j.Breaks(NotTwice, at, "%s was created for the template that %s is for", created.Name,
				rs.Name)
		}
	}
}

// SameTemplate compares templates without the label that the controller adds.
func SameTemplate(a, b *corev1.PodTemplateSpec) bool {
	a, b = a.DeepCopy(), b.DeepCopy()
	delete(a.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	delete(b.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	return equality.Semantic.DeepEqual(a, b)
}

func (j *sizeJudge) ofOwner(uid types.UID) (sets []*appsv1.ReplicaSet) {
	for _, rs := range j.sets {
		if owner := metav1.GetControllerOf(rs); owner != nil && owner.UID == uid {
			sets = append(sets, rs)
		}
	}
	slices.SortFunc(sets, func(a, b *appsv1.ReplicaSet) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	return sets
}

// see judges a change of a ReplicaSet's size.
func (j *sizeJudge) see(at time.Time, before, rs *appsv1.ReplicaSet, owner types.UID) {
	var from int32
	if before == nil {
		before = rs
	} else {
		from = *before.Spec.Replicas
	}
	to := *rs.Spec.Replicas
	if from == to || j.deployments[owner] == nil ||
		j.deeds.scaled[fmt.Sprint(rs.UID, rs.Generation)] {
		return
	}
	var total, serving int32
	for _, rs := range j.ofOwner(owner) {
		total += *rs.Spec.Replicas
		serving += servingOf(rs)
	}
	allowed := allowedLately(*j.deployments[owner], at)
	var moved moved
	for _, one := range j.deeds.moved.Added(at) {
		moved.gone, moved.came = moved.gone+one.gone, moved.came+one.came
	}
	if to > from && total > allowed.most+moved.came {
		j.Breaks(NeverMore, at, "%s went from %d to %d, so that %d Pods are wanted, and %d are allowed",
			rs.Name, from, to, total, allowed.most)
	}
	// Proportional scaling comes before availability. A user causes it by scaling, or by changing the
	// surge of a paused rollout; by bringing in Pods; and by pausing while there are too many.
	keepsShares := allowed.changed || moved.came > 0 || allowed.paused && total-to+from > allowed.most
	lost := min(servingOf(before), from) - servingOf(rs)
	if to < from && lost > 0 && !keepsShares && serving < allowed.least-moved.gone {
		j.Breaks(NeverFewer, at, "%s went from %d to %d, so that %d Pods serve, and %d have to",
			rs.Name, from, to, serving, allowed.least)
	}
}

// servingOf is how many of a ReplicaSet's Pods are certain to stay available: its status may count
// some that it's about to delete.
func servingOf(rs *appsv1.ReplicaSet) int32 {
	return min(rs.Status.AvailableReplicas, *rs.Spec.Replicas)
}

// allowance is how many Pods a Deployment may and must have.
type allowance struct {
	most, least     int32
	changed, paused bool // within the Memory
}

// allowedLately is the widest allowance within the Memory.
func allowedLately(states History[*appsv1.Deployment], at time.Time) allowance {
	var a allowance
	for i, d := range states.Lately(at) {
		most, least := fenceposts(&d.Spec)
		if i == 0 {
			a.most, a.least = most, least
		}
		a.changed = a.changed || most != a.most
		a.paused = a.paused || d.Spec.Paused
		a.most, a.least = max(a.most, most), min(a.least, least)
	}
	return a
}

// fenceposts are replicas + maxSurge, and replicas - maxUnavailable. Percentages of the surge are
// rounded up, those of the unavailable down, and both can't be zero.
func fenceposts(spec *appsv1.DeploymentSpec) (most, least int32) {
	rolling := spec.Strategy.RollingUpdate
	if spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType || rolling == nil {
		return *spec.Replicas, 0
	}
	surge, _ := intstr.GetScaledValueFromIntOrPercent(rolling.MaxSurge, int(*spec.Replicas), true)
	unavailable, _ := intstr.GetScaledValueFromIntOrPercent(
		rolling.MaxUnavailable, int(*spec.Replicas), false)
	if surge == 0 && unavailable == 0 {
		unavailable = 1
	}
	return *spec.Replicas + int32(surge), max(0, *spec.Replicas-int32(unavailable))
}

// JudgeGarbage judges NoStranger of a garbage collector.
func (w *World) JudgeGarbage() {
	j := &garbageJudge{World: w, alive: map[types.UID]known{}, waited: map[types.UID]bool{}}
	for _, change := range w.Changes() {
		j.see(change)
	}
}

type garbageJudge struct {
	*World
	alive  map[types.UID]known
	waited map[types.UID]bool // owners that have waited for their dependents
}

type known struct {
	client.Object
	since time.Time
}

func (j *garbageJudge) see(change Change) {
	now := change.Object
	uid := now.GetUID()
	before, wasThere := j.alive[uid]
	begins := wasThere && before.GetDeletionTimestamp() == nil &&
		(change.IsGone || now.GetDeletionTimestamp() != nil)
	if begins && !j.byUser(uid) {
		j.Count("collected")
		j.collected(change.At, before)
	}
	if !change.IsGone {
		if wasThere && len(now.GetOwnerReferences()) < len(before.GetOwnerReferences()) {
			j.Count("orphaned")
		}
		j.alive[uid] = known{now, change.At}
		j.waited[uid] = j.waited[uid] ||
			slices.Contains(now.GetFinalizers(), metav1.FinalizerDeleteDependents)
		return
	}
	delete(j.alive, uid)
	endsWaiting := slices.ContainsFunc(j.deeds.deleted[uid],
		func(p metav1.DeletionPropagation) bool { return p != metav1.DeletePropagationForeground })
	if wasThere && !endsWaiting &&
		slices.Contains(before.GetFinalizers(), metav1.FinalizerDeleteDependents) {
		j.Count("waited for")
		j.wentBefore(change.At, now)
	}
}

// collected judges the deletion of an object by the collector.
func (j *garbageJudge) collected(at time.Time, object client.Object) {
	refs := object.GetOwnerReferences()
	for _, ref := range refs {
		owner, isThere := j.alive[ref.UID]
		if isThere && owner.GetNamespace() == object.GetNamespace() &&
			(owner.GetDeletionTimestamp() == nil || !j.waited[ref.UID]) {
			j.Breaks(NoStranger, at, "%s was deleted, and its owner %s lives", object.GetName(),
				ref.Name)
		}
	}
	if len(refs) == 0 {
		j.Breaks(NoStranger, at, "%s was deleted, and has no owner", object.GetName())
	}
}

// wentBefore judges the end of an owner that was deleted in the foreground. The collector may not
// know yet of a dependent that's younger than the Memory.
func (j *garbageJudge) wentBefore(at time.Time, owner client.Object) {
	for _, dependent := range j.alive {
		for _, ref := range dependent.GetOwnerReferences() {
			if ref.UID == owner.GetUID() && ref.BlockOwnerDeletion != nil &&
				*ref.BlockOwnerDeletion && dependent.GetNamespace() == owner.GetNamespace() &&
				at.Sub(dependent.since) > Memory {
				j.Breaks(NoStranger, at, "%s went before its dependent %s", owner.GetName(),
					dependent.GetName())
			}
		}
	}
}

// ReplicaSetsAreDone judges ActedOn of all ReplicaSets.
func (w *World) ReplicaSetsAreDone() {
	var sets appsv1.ReplicaSetList
	require.NoError(w.T, w.Live.List(context.Background(), &sets))
	for i := range sets.Items {
		rs, owned := &sets.Items[i], 0
		selector, err := metav1.LabelSelectorAsSelector(rs.Spec.Selector)
		require.NoError(w.T, err)
		for _, pod := range w.Pods() {
			if IsActive(pod) && metav1.IsControlledBy(pod, rs) &&
				selector.Matches(labels.Set(pod.Labels)) {
				owned++
			}
		}
		if owned != int(*rs.Spec.Replicas) {
			w.Breaks(ActedOn, time.Now(), "the ReplicaSet %s has %d Pods and wants %d", rs.Name,
				owned, *rs.Spec.Replicas)
		}
		if rs.Status.ObservedGeneration != rs.Generation {
			w.Breaks(ActedOn, time.Now(), "the status of the ReplicaSet %s is of generation %d, "+
				"and it has generation %d", rs.Name, rs.Status.ObservedGeneration, rs.Generation)
		}
	}
}

// DeploymentsAreDone judges ActedOn of all Deployments.
func (w *World) DeploymentsAreDone() {
	var deployments appsv1.DeploymentList
	require.NoError(w.T, w.Live.List(context.Background(), &deployments))
	var sets appsv1.ReplicaSetList
	require.NoError(w.T, w.Live.List(context.Background(), &sets))
	for i := range deployments.Items {
		d, current, others := &deployments.Items[i], int32(0), int32(0)
		for j := range sets.Items {
			switch rs := &sets.Items[j]; {
			case !metav1.IsControlledBy(rs, d):
			case SameTemplate(&rs.Spec.Template, &d.Spec.Template):
				current += *rs.Spec.Replicas
			default:
				others += *rs.Spec.Replicas
			}
		}
		if current != *d.Spec.Replicas || others != 0 {
			w.Breaks(ActedOn, time.Now(), "the Deployment %s has %d Pods of its template and %d of "+
				"others, and wants %d", d.Name, current, others, *d.Spec.Replicas)
		}
		if d.Status.ObservedGeneration != d.Generation {
			w.Breaks(ActedOn, time.Now(), "the status of the Deployment %s is of generation %d, and "+
				"it has generation %d", d.Name, d.Status.ObservedGeneration, d.Generation)
		}
	}
}
