package replicaset

import (
	"fmt"
	"slices"
	"sync"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/controllers/internal/podstate"
	"github.com/loopwright/loopwright/controllers/internal/simulation"
	"github.com/loopwright/loopwright/manager/client"
)

// simulated is a World with the ReplicaSet web, whose users are played here, and a judge.
type simulated struct {
	*world
	byUser sync.Map // the UIDs of Pods that users have deleted

	mu    sync.Mutex                   // guards asked
	asked simulation.History[struct{}] // the controller has asked the server for a ReplicaSet
}

func (s *simulated) web() *appsv1.ReplicaSet {
	rs := newReplicaSet(0)
	s.Read(rs)
	return rs
}

// act lets a user do something. It takes the same random numbers in each run.
func (s *simulated) act() {
	what, number, which := s.Users.IntN(10), s.Users.Int32N(8), s.Users.IntN(1000)
	ctx, rs := s.T.Context(), s.web()
	pods := slices.DeleteFunc(s.Pods(), func(pod *corev1.Pod) bool { return !podstate.IsActive(pod) })
	switch what {
	case 0, 1, 2, 3:
		before := rs.DeepCopy()
		rs.Spec.Replicas = &number
		// Never a conflict, or the users would not have done the same in both runs.
		s.OthersDid(s.Live.Patch(ctx, rs, client.MergeFrom(before)), "user: scale", fmt.Sprint(number))
		return
	case 4:
		if which%3 == 0 {
			s.replace(rs, number)
			return
		}
	case 5:
		s.Count("user: make an orphan")
		pod := orphan(fmt.Sprint("orphan-", which), []map[string]string{template, {"app": "web"}}[which%2])
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
		s.byUser.Store(pod.UID, true)
		s.OthersDid(s.Live.Delete(ctx, pod, client.Preconditions{UID: &pod.UID}), "user: delete a Pod", pod.Name)
	case 7, 8:
		if pod.Labels["app"] == "web" {
			pod.Labels = map[string]string{"app": "debug"}
		} else {
			pod.Labels = template
		}
		s.OthersDid(s.Live.Update(ctx, pod), "user: relabel a Pod", fmt.Sprint(pod.Name, pod.Labels))
	case 9:
		pod.Status.Phase = corev1.PodFailed
		s.OthersDid(s.Live.Status().Update(ctx, pod), "kubelet: fails a Pod", pod.Name)
	}
}

// replace deletes the ReplicaSet, makes it again, and leaves the Pods of the old one to the garbage collector.
func (s *simulated) replace(old *appsv1.ReplicaSet, replicas int32) {
	s.OthersDid(s.Live.Delete(s.T.Context(), old, client.PropagationPolicy(metav1.DeletePropagationBackground)), "user: replace the ReplicaSet", string(old.UID))
	s.set(replicas)
	s.Collect(func() (garbage []client.Object) {
		for _, pod := range s.Pods() {
			if metav1.IsControlledBy(pod, old) && podstate.IsActive(pod) {
				s.byUser.Store(pod.UID, true)
				garbage = append(garbage, pod)
			}
		}
		return garbage
	})
}

// state is what users see in the end.
func (s *simulated) state() string {
	rs := s.web()
	owned, orphans := 0, 0
	for _, pod := range s.Pods() {
		if podstate.IsActive(pod) && pod.Labels["app"] == "web" {
			if metav1.IsControlledBy(pod, rs) {
				owned++
			} else {
				orphans++
			}
		}
	}
	status := rs.Status
	return fmt.Sprintf("wanted %d, owned %d, orphans %d; status: generation %t, replicas %d, labelled %t, ready %d, available %d, terminating %d, conditions %v",
		*rs.Spec.Replicas, owned, orphans, status.ObservedGeneration == rs.Generation, status.Replicas, status.FullyLabeledReplicas <= status.Replicas,
		status.ReadyReplicas, status.AvailableReplicas, *status.TerminatingReplicas, status.Conditions)
}
