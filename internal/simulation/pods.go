package simulation

import (
	"context"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// JudgePods judges the changes of Pods: NeverMore, NeverFewer, NoStranger and StaysReleased of
// ReplicaSets.
func (w *World) JudgePods() {
	j := &podJudge{
		World: w, sets: map[types.UID]*counting{}, last: map[types.UID]*corev1.Pod{},
		labels: map[types.UID]*History[labels.Set]{}, released: map[types.UID]*History[struct{}]{},
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
	sets map[types.UID]*counting
	last map[types.UID]*corev1.Pod
	// of Pods
	labels   map[types.UID]*History[labels.Set]
	released map[types.UID]*History[struct{}]
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
		j.labels[pod.UID], j.released[pod.UID] = &History[labels.Set]{}, &History[struct{}]{}
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
		case had == nil && len(j.released[pod.UID].Added(change.At)) > 0:
			j.Breaks(StaysReleased, change.At, "the Pod %s was deleted, after it had been released", pod.Name)
		case had == nil:
			j.Breaks(NoStranger, change.At, "the Pod %s was deleted, and nobody owns it", pod.Name)
		case had.Kind != "ReplicaSet":
			j.Breaks(NoStranger, change.At, "the Pod %s was deleted, and it belongs to the %s %s",
				pod.Name, had.Kind, had.Name)
		case !j.matchedLately(pod.UID, had.UID, change.At):
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
		j.released[pod.UID].Add(change.At, struct{}{})
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
