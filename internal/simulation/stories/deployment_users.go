package stories

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/loopwright/loopwright/internal/simulation"
	"github.com/loopwright/loopwright/manager/client"
)

// deploymentUsers are the users of the Deployment web.
type deploymentUsers struct{ *simulation.World }

func (s *deploymentUsers) make() {
	d := webDeployment()
	replicas(1 + s.Users.Int32N(8))(d)
	limit("25%", "25%")(d)
	d.Spec.RevisionHistoryLimit = new(int32(2))
	s.Create(d)
}

func (s *deploymentUsers) now() *appsv1.Deployment {
	d := webDeployment()
	s.Read(d)
	return d
}

func webDeployment() *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
				Spec:       webSpec("web:1"),
			},
		},
	}
}

// isGood reports whether a Pod becomes ready.
func isGood(pod *corev1.Pod) bool { return !strings.HasPrefix(pod.Spec.Containers[0].Image, "bad") }

func image(image string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = image }
}

func replicas(n int32) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Replicas = &n }
}

func pause(is bool) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Paused = is }
}

func limit(surge, unavailable string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Spec.Strategy.Type = appsv1.RollingUpdateDeploymentStrategyType
		d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{
			MaxSurge: new(intstr.Parse(surge)), MaxUnavailable: new(intstr.Parse(unavailable)),
		}
	}
}

func recreate(d *appsv1.Deployment) {
	d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
}

// sets returns all ReplicaSets, the oldest first.
func (s *deploymentUsers) sets() []*appsv1.ReplicaSet {
	var list appsv1.ReplicaSetList
	require.NoError(s.T, s.Live.List(context.Background(), &list))
	sets := make([]*appsv1.ReplicaSet, len(list.Items))
	for i := range list.Items {
		sets[i] = &list.Items[i]
	}
	slices.SortFunc(sets, func(a, b *appsv1.ReplicaSet) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			cmp.Compare(a.Name, b.Name))
	})
	return sets
}

// change changes the Deployment with a patch: a conflict would let users do something else in the
// calm world.
func (s *deploymentUsers) change(what string, changes ...func(*appsv1.Deployment)) {
	d := s.now()
	before := d.DeepCopy()
	for _, change := range changes {
		change(d)
	}
	s.OthersDid(s.Live.Patch(s.T.Context(), d, client.MergeFrom(before)), "user: "+what, "")
}

// act lets a user do something. It takes the same random numbers in each run.
func (s *deploymentUsers) act() {
	what, number, which := s.Users.IntN(12), s.Users.Int32N(9), s.Users.IntN(1000)
	switch what {
	case 0, 1, 2, 3:
		name := fmt.Sprint([]string{"web:", "web:", "bad:"}[which%3], 1+number%4)
		s.Tell("the next image is %s", name)
		s.change("change the template", image(name))
	case 4, 5:
		s.Tell("the next size is %d", number)
		s.change("scale", replicas(number))
	case 6:
		s.change("pause", pause(true))
	case 7:
		s.change("resume", pause(false))
	case 8:
		s.change("change the strategy", []func(*appsv1.Deployment){
			limit("1", "0"), limit("0", "1"), limit("25%", "25%"), limit("100%", "50%"), recreate,
		}[which%5])
	case 9:
		s.kill(which)
	case 10:
		s.makeOrphan(which, number)
	case 11:
		if which%3 == 0 {
			s.replace(number)
		} else {
			s.meddle(which, number)
		}
	}
}

// last brings the Deployment into a state in which its rollout can complete.
func (s *deploymentUsers) last() {
	s.change("change the template", image(fmt.Sprint("web:", 1+s.Users.IntN(4))),
		replicas(s.Users.Int32N(9)), pause(false))
}

// kill deletes a Pod, or lets it fail.
func (s *deploymentUsers) kill(which int) {
	pods := slices.DeleteFunc(s.Pods(), func(pod *corev1.Pod) bool {
		return !simulation.IsActive(pod)
	})
	if len(pods) == 0 {
		return
	}
	s.UserMoves(1, 0)
	pod := pods[which%len(pods)]
	if which%2 == 0 {
		s.UserDeletes(pod.UID, metav1.DeletePropagationBackground)
		s.OthersDid(s.Live.Delete(s.T.Context(), pod, client.Preconditions{UID: &pod.UID}),
			"user: delete a Pod", pod.Name)
		return
	}
	pod.Status.Phase = corev1.PodFailed
	s.OthersDid(s.Live.Status().Update(s.T.Context(), pod), "kubelet: fails a Pod", pod.Name)
}

func (s *deploymentUsers) makeOrphan(which int, number int32) {
	name := fmt.Sprint("orphan-", which)
	if err := s.Live.Get(
		s.T.Context(), client.ObjectKey{Namespace: "default", Name: name}, &appsv1.ReplicaSet{},
	); !apierrors.IsNotFound(err) {
		return
	}
	s.UserMoves(0, number%4)
	labels := map[string]string{"app": "web", "set": name}
	s.Create(&appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: labels},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: new(number % 4), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       webSpec(fmt.Sprint("web:", 5+which%2)),
			},
		},
	})
	s.OthersDid(nil, "user: make an orphan", name)
}

// meddle scales a ReplicaSet by hand, or changes its labels so that the Deployment releases it.
func (s *deploymentUsers) meddle(which int, number int32) {
	sets := s.sets()
	if len(sets) == 0 {
		return
	}
	rs := sets[which%len(sets)]
	before := rs.DeepCopy()
	if which%2 == 0 {
		rs.Spec.Replicas = &number
		s.UserMoves(*before.Spec.Replicas, number)
		s.OthersDid(s.Live.Patch(s.T.Context(), rs, client.MergeFrom(before)),
			"user: scale a ReplicaSet", fmt.Sprint(rs.Name, " to ", number))
		s.UserScaled(rs)
		return
	}
	rs.Labels = map[string]string{"app": "debug"}
	s.UserMoves(*rs.Spec.Replicas, 0)
	s.OthersDid(s.Live.Patch(s.T.Context(), rs, client.MergeFrom(before)),
		"user: take a ReplicaSet away", rs.Name)
}

// replace deletes the Deployment, creates it again, and leaves the old one's objects to the garbage
// collector.
func (s *deploymentUsers) replace(number int32) {
	old := s.now()
	s.OthersDid(s.Live.Delete(s.T.Context(), old,
		client.PropagationPolicy(metav1.DeletePropagationBackground)),
		"user: replace the Deployment", string(old.UID))
	s.make()
	s.change("scale", replicas(number))
	s.Collect(s.garbage)
}

// garbage returns the objects whose owner is gone. It lists the owners last, so that it misses none
// that is new.
func (s *deploymentUsers) garbage() (objects []client.Object) {
	for _, pod := range s.Pods() {
		if pod.DeletionTimestamp == nil {
			objects = append(objects, pod)
		}
	}
	there := map[types.UID]bool{}
	for _, rs := range s.sets() {
		there[rs.UID] = true
		objects = append(objects, rs)
	}
	var deployments appsv1.DeploymentList
	require.NoError(s.T, s.Live.List(context.Background(), &deployments))
	for _, d := range deployments.Items {
		there[d.UID] = true
	}
	objects = slices.DeleteFunc(objects, func(object client.Object) bool {
		owner := metav1.GetControllerOf(object)
		return owner == nil || there[owner.UID]
	})
	for _, object := range objects {
		s.UserDeletes(object.GetUID(), metav1.DeletePropagationBackground)
	}
	return objects
}

// The annotations in which a Deployment's controller keeps the revision of a template, and the size for
// which a ReplicaSet's share was computed.
const (
	revisionAnnotation = "deployment.kubernetes.io/revision"
	desiredAnnotation  = "deployment.kubernetes.io/desired-replicas"
)

// revisionOf returns a ReplicaSet's revision, or zero.
func revisionOf(rs *appsv1.ReplicaSet) int64 {
	revision, _ := strconv.ParseInt(rs.Annotations[revisionAnnotation], 10, 64)
	return revision
}

// state returns what users see in the end. It leaves out the old ReplicaSets, because their number
// depends on how many templates the controller has seen.
func (s *deploymentUsers) state() string {
	d := s.now()
	highest, old := int64(0), 0
	pods := map[string]int{}
	var sizes []string
	for _, rs := range s.sets() {
		if !metav1.IsControlledBy(rs, d) {
			continue
		}
		highest = max(highest, revisionOf(rs))
		if simulation.SameTemplate(&rs.Spec.Template, &d.Spec.Template) {
			sized := rs.Annotations[desiredAnnotation]
			if *rs.Spec.Replicas == 0 {
				sized = "nobody knows what, because it has no share"
			}
			sizes = append(sizes, fmt.Sprintf("new %d, when wanted were %s", *rs.Spec.Replicas,
				sized))
		} else if old++; *rs.Spec.Replicas > 0 {
			sizes = append(sizes, fmt.Sprintf("old %d", *rs.Spec.Replicas))
		}
		for _, pod := range s.Pods() {
			if metav1.IsControlledBy(pod, rs) && simulation.IsActive(pod) {
				pods[pod.Spec.Containers[0].Image]++
			}
		}
	}
	var conditions []string
	for _, c := range d.Status.Conditions {
		conditions = append(conditions, fmt.Sprint(c.Type, " ", c.Status, " ", c.Reason))
	}
	slices.Sort(conditions)
	status := d.Status
	return fmt.Sprintf("%s, wanted %d, sizes %v, Pods %v, history within limits %t, highest "+
		"revision %t; status: generation %t, replicas %d, updated %d, ready %d, available %d, "+
		"unavailable %d, terminating %d, %s",
		d.Spec.Template.Spec.Containers[0].Image, *d.Spec.Replicas, sizes, pods, old <= 2,
		fmt.Sprint(highest) == d.Annotations[revisionAnnotation],
		status.ObservedGeneration == d.Generation, status.Replicas, status.UpdatedReplicas,
		status.ReadyReplicas, status.AvailableReplicas,
		status.UnavailableReplicas, valueOf(status.TerminatingReplicas), strings.Join(conditions, ", "))
}
