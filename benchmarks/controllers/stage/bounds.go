package stage

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
)

// Judgement is what a log shows.
type Judgement struct {
	Counts  map[string]int      // such as "Pod created"
	History map[string][]string // the names of those that were counted
	Broken  []string            // bounds that were broken, and when
	// Beyond counts the Pods that were created while there were as many as the Deployment and its surge allow. The
	// originals count what they have asked the ReplicaSets for: a Pod that a ReplicaSet has still to delete is not in it.
	Beyond int
}

// Judge replays what has happened, one change after the other, and looks at each moment whether there are more Pods than
// are allowed, or fewer than are promised. What is wanted is what any of the specs has said since all had settled: a
// controller may not know the newest one yet. If the user is in a hurry, some limits are not judged.
func (s *Stage) Judge(hurry bool) Judgement {
	s.mu.Lock()
	marks := slices.Clone(s.marks)
	byUser := make(map[types.UID]bool, len(s.byUser))
	for uid := range s.byUser {
		byUser[uid] = true
	}
	s.mu.Unlock()
	j := &judge{sets: map[types.UID]*appsv1.ReplicaSet{}, pods: map[types.UID]*corev1.Pod{}, deployments: map[types.UID]*appsv1.Deployment{}, byUser: byUser, hurry: hurry}
	j.Counts, j.History, j.wanted = map[string]int{}, map[string][]string{}, map[types.UID]span{}
	for _, change := range s.Log() {
		if len(marks) > 0 && change.Version > marks[0] {
			clear(j.wanted)
			for ; len(marks) > 0 && change.Version > marks[0]; marks = marks[1:] {
			}
		}
		j.count(change)
		j.see(change)
	}
	return j.Judgement
}

type judge struct {
	Judgement
	deployments map[types.UID]*appsv1.Deployment
	sets        map[types.UID]*appsv1.ReplicaSet
	pods        map[types.UID]*corev1.Pod
	byUser      map[types.UID]bool
	wanted      map[types.UID]span // since all had settled
	hurry       bool
}

// span is the smallest and the largest number of replicas that a spec has asked for.
type span struct{ least, most int }

// want notes what an object's spec asks for, and returns all that was asked for.
func (j *judge) want(uid types.UID, replicas *int32) span {
	now := span{int(*replicas), int(*replicas)}
	if was, ok := j.wanted[uid]; ok {
		now = span{min(was.least, now.least), max(was.most, now.most)}
	}
	j.wanted[uid] = now
	return now
}

// count counts creations and deletions. A Pod is deleted when somebody asks for it, and not when it has ended.
func (j *judge) count(change Change) {
	if change.Kind == Event {
		return
	}
	pod, isPod := change.Object.(*corev1.Pod)
	before := j.pods[change.Object.GetUID()]
	switch {
	case change.Type == watch.Added:
		j.note(change, "created")
	case isPod && pod.DeletionTimestamp != nil && before != nil && before.DeletionTimestamp == nil:
		j.note(change, "deleted")
	case !isPod && change.Type == watch.Deleted:
		j.note(change, "deleted")
	}
}

func (j *judge) note(change Change, what string) {
	what = change.Kind + " " + what
	j.Counts[what]++
	j.History[what] = append(j.History[what], fmt.Sprintf("%s at %d", change.Object.GetName(), change.Version))
}

func (j *judge) see(change Change) {
	uid := change.Object.GetUID()
	switch o := change.Object.(type) {
	case *appsv1.Deployment:
		j.want(uid, o.Spec.Replicas)
		keep(j.deployments, uid, o, change.Type)
	case *appsv1.ReplicaSet:
		before := j.sets[uid]
		j.want(uid, o.Spec.Replicas)
		keep(j.sets, uid, o, change.Type)
		if change.Type != watch.Deleted && (before == nil || *o.Spec.Replicas > *before.Spec.Replicas) {
			j.grew(o)
		}
	case *corev1.Pod:
		before := j.pods[uid]
		keep(j.pods, uid, o, change.Type)
		switch {
		case change.Type == watch.Added && active(o):
			j.created(o)
		case before != nil && active(before) && o.DeletionTimestamp != nil && !j.byUser[uid]:
			j.deleted(before)
		}
	}
}

func keep[T any](all map[types.UID]T, uid types.UID, object T, what watch.EventType) {
	if what == watch.Deleted {
		delete(all, uid)
	} else {
		all[uid] = object
	}
}

// owners returns the ReplicaSet and the Deployment of a Pod, as far as it has any.
func (j *judge) owners(pod *corev1.Pod) (*appsv1.ReplicaSet, *appsv1.Deployment) {
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return nil, nil
	}
	set := j.sets[owner.UID]
	if set == nil {
		return nil, nil
	}
	if owner = metav1.GetControllerOf(set); owner == nil {
		return set, nil
	}
	return set, j.deployments[owner.UID]
}

// number counts the Pods for which it holds.
func (j *judge) number(holds func(*corev1.Pod) bool) (n int) {
	for _, pod := range j.pods {
		if holds(pod) {
			n++
		}
	}
	return n
}

func (j *judge) of(set *appsv1.ReplicaSet, d *appsv1.Deployment) func(*corev1.Pod) bool {
	return func(pod *corev1.Pod) bool {
		its, deployment := j.owners(pod)
		return its != nil && (d != nil && deployment == d || its == set)
	}
}

// grew looks at the moment at which more is asked of a ReplicaSet than before.
func (j *judge) grew(set *appsv1.ReplicaSet) {
	owner := metav1.GetControllerOf(set)
	if owner == nil || j.deployments[owner.UID] == nil || j.hurry {
		return
	}
	d, total := j.deployments[owner.UID], 0
	for _, one := range j.sets {
		if metav1.IsControlledBy(one, d) {
			total += int(*one.Spec.Replicas)
		}
	}
	surge, limit := 0, 0
	if d.Spec.Strategy.RollingUpdate != nil {
		surge, _ = limits(d)
	}
	if limit = int(*d.Spec.Replicas) + surge; total > limit {
		j.broke("the ReplicaSets of the Deployment %s are asked for %d Pods when %s grows to %d, and the limit is %d", d.Name, total, set.Name, *set.Spec.Replicas, limit)
	}
}

// created looks at the moment at which a Pod was created.
func (j *judge) created(pod *corev1.Pod) {
	set, d := j.owners(pod)
	if set == nil {
		return
	}
	mine := j.of(set, nil)
	if have, want := j.number(func(p *corev1.Pod) bool { return active(p) && mine(p) }), j.want(set.UID, set.Spec.Replicas).most; have > want {
		j.broke("the ReplicaSet %s has %d Pods when the Pod %s is created, and %d are wanted", set.Name, have, pod.Name, want)
	}
	if d == nil {
		return
	}
	all := j.of(set, d)
	if d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		if old := j.number(func(p *corev1.Pod) bool { return !finished(p) && all(p) && !mine(p) }); old > 0 {
			j.broke("%d old Pods of the Deployment %s are still there when the Pod %s is created", old, d.Name, pod.Name)
		}
		return
	}
	surge, _ := limits(d)
	if have, limit := j.number(func(p *corev1.Pod) bool { return active(p) && all(p) }), j.want(d.UID, d.Spec.Replicas).most+surge; have > limit {
		j.Beyond++
	}
}

// deleted looks at the moment at which a controller has deleted a Pod.
func (j *judge) deleted(pod *corev1.Pod) {
	set, d := j.owners(pod)
	if set == nil || set.DeletionTimestamp != nil {
		return // the garbage collector has done it
	}
	mine := j.of(set, nil)
	if have, want := j.number(func(p *corev1.Pod) bool { return active(p) && mine(p) }), j.want(set.UID, set.Spec.Replicas).least; have < want {
		j.broke("the ReplicaSet %s has %d Pods when the Pod %s is deleted, and %d are wanted", set.Name, have, pod.Name, want)
	}
	if d == nil || d.DeletionTimestamp != nil || d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType || !ready(pod) {
		return
	}
	all := j.of(set, d)
	_, unavailable := limits(d)
	if have, least := j.number(func(p *corev1.Pod) bool { return active(p) && ready(p) && all(p) }), j.want(d.UID, d.Spec.Replicas).least-unavailable; have < least {
		j.broke("the Deployment %s has %d ready Pods when the ready Pod %s is deleted, and %d are promised", d.Name, have, pod.Name, least)
	}
}

func (j *judge) broke(format string, arguments ...any) {
	j.Broken = append(j.Broken, fmt.Sprintf(format, arguments...))
}

// limits are how many Pods there may be too many of, and how many may be missing: percentages of a surge are rounded
// up, the others down, and both cannot be 0.
func limits(d *appsv1.Deployment) (surge, unavailable int) {
	rolling, replicas := d.Spec.Strategy.RollingUpdate, int(*d.Spec.Replicas)
	surge, _ = intstr.GetScaledValueFromIntOrPercent(rolling.MaxSurge, replicas, true)
	unavailable, _ = intstr.GetScaledValueFromIntOrPercent(rolling.MaxUnavailable, replicas, false)
	if surge == 0 && unavailable == 0 {
		unavailable = 1
	}
	return surge, unavailable
}
