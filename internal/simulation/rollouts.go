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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// JudgeSizes judges the sizes of a Deployment's ReplicaSets: NeverMore, NeverFewer and NotTwice.
func (w *World) JudgeSizes() {
	j := &sizeJudge{
		World: w, sets: map[types.UID]*appsv1.ReplicaSet{},
		deployments: map[types.UID]*History[*appsv1.Deployment]{},
	}
	for _, change := range w.Changes() {
		switch object := change.Object.(type) {
		case *appsv1.Deployment:
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
	if j.deployments[owner] == nil || j.deeds.scaled[fmt.Sprint(rs.UID, rs.Generation)] {
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
	// surge of a paused rollout; by bringing in Pods; and by pausing while there are too many. It's still
	// to come as long as a ReplicaSet has another size noted, or none: that may take longer than Memory,
	// if the controller's writes have failed.
	keepsShares := allowed.changed || moved.came > 0 || allowed.paused && total-to+from > allowed.most ||
		j.isUnsized(owner, before)
	lost := servingOf(before) - servingOf(rs)
	if to < from && lost > 0 && !keepsShares && serving < allowed.least-moved.gone {
		j.Breaks(NeverFewer, at, "%s went from %d to %d, so that %d Pods serve, and %d have to",
			rs.Name, from, to, serving, allowed.least)
	}
}

// isUnsized reports whether a ReplicaSet with Pods has noted another number of replicas than its
// Deployment wants, or none, although others have. before is one as it was a moment ago.
func (j *sizeJudge) isUnsized(owner types.UID, before *appsv1.ReplicaSet) bool {
	states := *j.deployments[owner]
	wants := fmt.Sprint(*states[len(states)-1].value.Spec.Replicas)
	var notes, differs bool
	for _, rs := range append(j.ofOwner(owner), before) {
		noted := rs.Annotations["deployment.kubernetes.io/desired-replicas"]
		notes = notes || noted != ""
		differs = differs || noted != wants && *rs.Spec.Replicas > 0
	}
	return notes && differs
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
