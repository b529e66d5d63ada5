package replicaset

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/controllers/internal/podstate"
	"github.com/loopwright/loopwright/manager/client"
)

// done counts what a user or the kubelet has done. Somebody else may have been faster.
func (s *simulation) done(err error, what, name string) {
	if err != nil {
		require.True(s.t, apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsInvalid(err), "%s %s: %v", what, name, err)
		return
	}
	s.count(what)
	s.tell("%s: %s", what, name)
}

// act lets a user do something. It takes the same random numbers in each run.
func (s *simulation) act() {
	what, number, which := s.users.IntN(10), s.users.Int32N(8), s.users.IntN(1000)
	rs := newReplicaSet(number)
	require.NoError(s.t, s.live.Get(s.t.Context(), client.ObjectKeyFromObject(rs), rs))
	pods := slices.DeleteFunc(s.list(), func(pod *corev1.Pod) bool { return !podstate.IsActive(pod) })
	switch what {
	case 0, 1, 2, 3:
		before := rs.DeepCopy()
		rs.Spec.Replicas = &number
		// Never a conflict, or the users would not have done the same in both runs.
		s.done(s.live.Patch(s.t.Context(), rs, client.MergeFrom(before)), "user: scale", fmt.Sprint(number))
		return
	case 4:
		if which%3 == 0 {
			s.replace(rs, number)
			return
		}
	case 5:
		s.count("user: make an orphan")
		pod := orphan(fmt.Sprint("orphan-", which), []map[string]string{template, {"app": "web"}}[which%2])
		if err := s.live.Create(s.t.Context(), pod); !apierrors.IsAlreadyExists(err) {
			require.NoError(s.t, err)
			s.tell("user: make an orphan: %s", pod.Name)
		}
		return
	}
	if len(pods) == 0 {
		return
	}
	switch pod := pods[which%len(pods)]; what {
	case 6:
		s.done(s.delete(pod), "user: delete a Pod", pod.Name)
	case 7, 8:
		if pod.Labels["app"] == "web" {
			pod.Labels = map[string]string{"app": "debug"}
		} else {
			pod.Labels = template
		}
		s.done(s.live.Update(s.t.Context(), pod), "user: relabel a Pod", fmt.Sprint(pod.Name, pod.Labels))
	case 9:
		pod.Status.Phase = corev1.PodFailed
		s.done(s.live.Status().Update(s.t.Context(), pod), "kubelet: fails a Pod", pod.Name)
	}
}

// delete deletes a Pod for a user, and tells the judge.
func (s *simulation) delete(pod *corev1.Pod) error {
	s.mu.Lock()
	s.seen = append(s.seen, observed{at: time.Now(), deletedByUser: pod.UID})
	s.mu.Unlock()
	return s.live.Delete(s.t.Context(), pod, client.Preconditions{UID: &pod.UID})
}

// replace deletes the ReplicaSet, makes it again, and plays the garbage collector for the Pods of the old one.
func (s *simulation) replace(rs *appsv1.ReplicaSet, replicas int32) {
	s.done(s.live.Delete(s.t.Context(), rs, client.PropagationPolicy(metav1.DeletePropagationBackground)), "user: replace the ReplicaSet", string(rs.UID))
	s.createSet(replicas)
	uid := rs.UID
	s.others.Go(func() {
		for range 200 { // longer than the controller may believe in the old one
			time.Sleep(2 * time.Second)
			for _, pod := range s.list() {
				if owner := metav1.GetControllerOf(pod); owner != nil && owner.UID == uid && podstate.IsActive(pod) {
					s.done(s.delete(pod), "garbage collector: delete", pod.Name)
				}
			}
		}
	})
}

// kubelet plays the scheduler and the kubelets until the context ends.
func (s *simulation) kubelet(ctx context.Context) {
	for last := uint64(0); ctx.Err() == nil; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
		now := s.server.ResourceVersion()
		if now == last {
			continue
		}
		last = now
		for i, pod := range s.list() {
			switch {
			case pod.DeletionTimestamp != nil:
				s.done(client.IgnoreNotFound(s.live.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})), "kubelet: ends a Pod", pod.Name)
			case pod.Status.Phase != corev1.PodPending:
			case pod.Spec.NodeName == "":
				binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: fmt.Sprint("n", i%3)}}
				s.done(s.live.SubResource("binding").Create(ctx, pod, binding), "kubelet: binds a Pod", pod.Name)
			default:
				pod.Status.Phase = corev1.PodRunning
				pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
				s.done(s.live.Status().Update(ctx, pod), "kubelet: starts a Pod", pod.Name)
			}
		}
	}
}
