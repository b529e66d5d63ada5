package stories

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/internal/simulation"
	"github.com/loopwright/loopwright/manager/client"
)

// ReplicaSet is the story of a ReplicaSet, its Pods, and Pods that look like its own. Users scale,
// delete and relabel, a kubelet starts and ends Pods, and some of them fail. On the way, the
// controller must create no Pod too many, delete none that is needed, and adopt none for a ReplicaSet
// that is gone.
func ReplicaSet(controllers simulation.Process) simulation.Story {
	return simulation.Story{
		Name: "replicaset", Seeds: 100, Short: 15, Race: 25,
		Controllers: controllers, Steps: 12, Mishaps: podMishaps, Crashes: podCrashes,
		Cast: castReplicaSet,
		Least: map[string]int{
			"crash":                                115,
			"crash after create pods":              42,
			"crash after delete pods":              30,
			"crash after patch pods":               9,
			"crash after patch replicasets/status": 33,
			"fault: answer to a create lost":       61,
			"fault: answer to a delete lost":       41,
			"fault: refused":                       64,
			"fault: watch late":                    303,
			"fault: create fails":                  130,
			"fault: conflict":                      27,
			"fault: watch cut":                     226,
			"user: scale":                          243,
			"user: delete a Pod":                   35,
			"user: take a Pod's name":              20,
			"user: relabel a Pod":                  103,
			"user: make an orphan":                 51,
			"user: replace the ReplicaSet":         20,
			"kubelet: fails a Pod":                 50,
			"Pods created":                         649,
			"Pods deleted":                         295,
			"Pods adopted":                         66,
			"Pods released":                        79,
			"mishap: compaction":                   61,
			"mishap: crash":                        140,
			"mishap: stale views":                  8,
			"mishap: missed states":                8,
			"mishap: time travel":                  10,
			"mishap: two at once":                  10,
			"mishap: clocks":                       10,
			"mishap: wrong answer":                 5,
			"mishap: wrong answers":                19,
		},
	}
}

// castReplicaSet makes the users of the ReplicaSet web.
func castReplicaSet(w *simulation.World) simulation.Cast {
	s := &replicaSetUsers{w}
	return simulation.Cast{
		Begin: func() {
			s.NoteQuestions()
			s.Watch(&corev1.PodList{}, &appsv1.ReplicaSetList{})
			s.Go(func() { s.Kubelet(nil) })
			s.make(s.Users.Int32N(6))
		},
		Act: s.act, State: s.state,
		Judge: func() {
			s.ReplicaSetsAreDone()
			s.JudgePods()
		},
	}
}

// podCrashes are the writes after which the process may die.
var podCrashes = []fakeapi.Match{
	{Verb: "create", Resource: "pods"}, {Verb: "create", Resource: "pods"},
	{Verb: "delete", Resource: "pods"}, {Verb: "delete", Resource: "pods"},
	{Verb: "update|patch", Resource: "pods"},
	{Verb: "update|patch", Resource: "replicasets", Subresource: "status"},
}

// podMishaps are those that are hardest for a ReplicaSet.
func podMishaps(random *rand.Rand, often float64) []simulation.Mishap {
	creates, deletes := on("create", "pods"), on("delete", "pods")
	lostCreate, lostDelete := lost("answer to a create lost", creates, often), lost("answer to a delete lost", deletes, often)
	return []simulation.Mishap{
		lostCreate, lostCreate, lostDelete, lostDelete,
		fails("create fails", creates, often, fakeapi.Forbidden()),
		fails("create fails", creates, often, fakeapi.InternalError()),
		fails("delete fails", deletes, often, fakeapi.Timeout()),
		late("watch late", "pods", milliseconds(random, 2000)),
	}
}

// replicaSetUsers are the users of the ReplicaSet web.
type replicaSetUsers struct{ *simulation.World }

// make creates the ReplicaSet. Its Pods are available once they've been ready for a while, so the
// clocks of kubelets matter.
func (s *replicaSetUsers) make(replicas int32) {
	rs := webReplicaSet(replicas)
	rs.Spec.MinReadySeconds = s.Users.Int32N(2) * 10
	s.Create(rs)
}

func (s *replicaSetUsers) web() *appsv1.ReplicaSet {
	rs := webReplicaSet(0)
	s.Read(rs)
	return rs
}

// podLabels are those of the ReplicaSet's template. Its selector matches app=web.
var podLabels = map[string]string{"app": "web", "tier": "front"}

func webReplicaSet(replicas int32) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: podLabels}, Spec: webSpec("web"),
			},
		},
	}
}

func webSpec(image string) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: image}}}
}

// podWithoutOwner is a Pod that a user has created.
func podWithoutOwner(name string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: labels},
		Spec:       webSpec("web"),
	}
}

// act lets a user do something. It takes the same random numbers in each run.
func (s *replicaSetUsers) act() {
	what, number, which := s.Users.IntN(10), s.Users.Int32N(8), s.Users.IntN(1000)
	ctx, rs := s.T.Context(), s.web()
	pods := slices.DeleteFunc(s.Pods(), func(pod *corev1.Pod) bool {
		return !simulation.IsActive(pod)
	})
	switch what {
	case 0, 1, 2, 3:
		before := rs.DeepCopy()
		rs.Spec.Replicas = &number
		// A patch has no conflicts, which would let the users do different things in the two runs.
		s.OthersDid(s.Live.Patch(ctx, rs, client.MergeFrom(before)), "user: scale",
			fmt.Sprint(number))
		return
	case 4:
		if which%3 == 0 {
			s.replace(rs, number)
			return
		}
	case 5:
		if which%5 == 0 {
			s.makeStranger(which)
			return
		}
		s.Count("user: make an orphan")
		pod := podWithoutOwner(fmt.Sprint("orphan-", which),
			[]map[string]string{podLabels, {"app": "web"}}[which%2])
		if err := s.Live.Create(ctx, pod); !apierrors.IsAlreadyExists(err) {
			require.NoError(s.T, err)
			s.Tell("user: make an orphan: %s", pod.Name)
		}
		return
	}
	if len(pods) == 0 {
		return
	}
	switch pod := pods[which%len(pods)]; what {
	case 6:
		if metav1.IsControlledBy(pod, &metav1.ObjectMeta{UID: "db"}) {
			return
		}
		s.UserDeletes(pod.UID, metav1.DeletePropagationBackground)
		if which%3 == 0 {
			s.takeName(pod)
			return
		}
		s.OthersDid(s.Live.Delete(ctx, pod, client.Preconditions{UID: &pod.UID}),
			"user: delete a Pod", pod.Name)
	case 7, 8:
		if pod.Labels["app"] == "web" {
			pod.Labels = map[string]string{"app": "debug"}
		} else {
			pod.Labels = podLabels
		}
		s.OthersDid(s.Live.Update(ctx, pod), "user: relabel a Pod",
			fmt.Sprint(pod.Name, pod.Labels))
	case 9:
		pod.Status.Phase = corev1.PodFailed
		s.OthersDid(s.Live.Status().Update(ctx, pod), "kubelet: fails a Pod", pod.Name)
	}
}

// makeStranger creates a Pod that the ReplicaSet's selector matches, and that belongs to another kind.
func (s *replicaSetUsers) makeStranger(which int) {
	pod := podWithoutOwner(fmt.Sprint("stranger-", which), podLabels)
	pod.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: "StatefulSet", Name: "db", UID: "db", Controller: new(true),
	}}
	err := s.Live.Create(s.T.Context(), pod)
	s.OthersDid(client.IgnoreAlreadyExists(err), "user: make a Pod of another owner", pod.Name)
}

// takeName deletes a Pod at once, and makes another one of that name, which is none of the ReplicaSet's
// business.
func (s *replicaSetUsers) takeName(pod *corev1.Pod) {
	s.OthersDid(s.Live.Delete(s.T.Context(), pod, client.GracePeriodSeconds(0),
		client.Preconditions{UID: &pod.UID}), "user: take a Pod's name", pod.Name)
	other := podWithoutOwner(pod.Name, map[string]string{"app": "debug"})
	err := s.Live.Create(s.T.Context(), other)
	s.OthersDid(client.IgnoreAlreadyExists(err), "user: make a Pod of that name", pod.Name)
}

// replace deletes the ReplicaSet, creates it again, and leaves the old one's Pods to the garbage
// collector.
func (s *replicaSetUsers) replace(old *appsv1.ReplicaSet, replicas int32) {
	s.OthersDid(s.Live.Delete(s.T.Context(), old,
		client.PropagationPolicy(metav1.DeletePropagationBackground)),
		"user: replace the ReplicaSet", string(old.UID))
	s.make(replicas)
	s.Collect(func() (garbage []client.Object) {
		for _, pod := range s.Pods() {
			if metav1.IsControlledBy(pod, old) && simulation.IsActive(pod) {
				s.UserDeletes(pod.UID, metav1.DeletePropagationBackground)
				garbage = append(garbage, pod)
			}
		}
		return garbage
	})
}

// state returns what users see in the end.
func (s *replicaSetUsers) state() string {
	rs := s.web()
	owned, orphans := 0, 0
	for _, pod := range s.Pods() {
		if simulation.IsActive(pod) && pod.Labels["app"] == "web" {
			if metav1.IsControlledBy(pod, rs) {
				owned++
			} else if metav1.GetControllerOf(pod) == nil {
				orphans++
			}
		}
	}
	status := rs.Status
	return fmt.Sprintf("wanted %d, owned %d, orphans %d; status: generation %t, replicas %d, "+
		"labelled %t, ready %d, available %d, terminating %d, conditions %v",
		*rs.Spec.Replicas, owned, orphans, status.ObservedGeneration == rs.Generation,
		status.Replicas, status.FullyLabeledReplicas <= status.Replicas,
		status.ReadyReplicas, status.AvailableReplicas, valueOf(status.TerminatingReplicas),
		status.Conditions)
}
