package stage

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What an image does. The rest of its name does not matter, so there are many that do the same.
const (
	Works     = "works"     // ready at once, gone at once
	Breaks    = "breaks"    // runs and is never ready
	Pulls     = "pulls"     // never gets so far as to run
	Lingers   = "lingers"   // ready at once; when it is deleted, it goes on until the scenario ends it
	Completes = "completes" // ends at once, and well
	Fails     = "fails"     // ends at once, with an error
)

// deed is what a kubelet does next about a Pod.
type deed int

const (
	nothing deed = iota
	run
	runUnready
	succeed
	fail
	end
)

// duty decides what a kubelet does next about a Pod.
func duty(pod *corev1.Pod) deed {
	does, _, _ := strings.Cut(pod.Spec.Containers[0].Image, ":")
	switch {
	case pod.Spec.NodeName == "":
		return nothing
	case pod.DeletionTimestamp != nil && pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds == 0:
		return nothing // a finalizer keeps what is left of it
	case pod.DeletionTimestamp != nil && does == Lingers && !finished(pod):
		return nothing
	case pod.DeletionTimestamp != nil:
		return end
	case pod.Status.Phase != corev1.PodPending || does == Pulls:
		return nothing
	case does == Breaks:
		return runUnready
	case does == Completes:
		return succeed
	case does == Fails:
		return fail
	default:
		return run
	}
}

// perform does what the kubelet has to do about a Pod.
func (s *Stage) perform(ctx context.Context, pod *corev1.Pod) error {
	var err error
	switch duty(pod) {
	case run:
		err = s.writeStatus(ctx, running(pod, s.address(pod), true))
	case runUnready:
		err = s.writeStatus(ctx, running(pod, s.address(pod), false))
	case succeed:
		err = s.writeStatus(ctx, ended(pod, s.address(pod), corev1.PodSucceeded, 0))
	case fail:
		err = s.writeStatus(ctx, ended(pod, s.address(pod), corev1.PodFailed, 1))
	case end:
		err = s.endPod(ctx, pod)
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // it has changed, and the watch brings what it is now
	}
	return err
}

// Report writes what a kubelet has to say about a Pod.
func (s *Stage) Report(ctx context.Context, name string, what func(*corev1.Pod)) error {
	return Poll(ctx, "the report about "+name, func() error {
		pod, err := s.world.nodes.CoreV1().Pods(s.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		what(pod)
		return s.writeStatus(ctx, pod)
	})
}

// EndPods ends Pods that are being deleted.
func (s *Stage) EndPods(ctx context.Context, pods []*corev1.Pod) error {
	for _, pod := range pods {
		if err := s.endPod(ctx, pod); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

func (s *Stage) writeStatus(ctx context.Context, pod *corev1.Pod) error {
	_, err := s.world.nodes.CoreV1().Pods(s.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	return err
}

// endPod is what a kubelet does when the containers have ended.
func (s *Stage) endPod(ctx context.Context, pod *corev1.Pod) error {
	return s.world.nodes.CoreV1().Pods(s.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: new(int64(0)), Preconditions: &metav1.Preconditions{UID: &pod.UID},
	})
}

// running is the Pod with its containers started.
func running(pod *corev1.Pod, address string, ready bool) *corev1.Pod {
	pod, now := pod.DeepCopy(), metav1.NewTime(time.Now())
	pod.Status.Phase, pod.Status.StartTime = corev1.PodRunning, &now
	pod.Status.HostIP, pod.Status.HostIPs = "10.0.0.1", []corev1.HostIP{{IP: "10.0.0.1"}}
	pod.Status.PodIP, pod.Status.PodIPs = address, []corev1.PodIP{{IP: address}}
	SetReady(pod, ready, now)
	return pod
}

// ended is the Pod when its containers have ended, with this exit code.
func ended(pod *corev1.Pod, address string, phase corev1.PodPhase, code int32) *corev1.Pod {
	pod = running(pod, address, false)
	SetEnded(pod, phase, code)
	return pod
}

// SetEnded writes that the containers of a Pod that ran have ended.
func SetEnded(pod *corev1.Pod, phase corev1.PodPhase, code int32) {
	now := metav1.NewTime(time.Now())
	SetReady(pod, false, now)
	pod.Status.Phase = phase
	pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, StartedAt: now, FinishedAt: now}}
}

// SetReady writes the conditions of a Pod that runs.
func SetReady(pod *corev1.Pod, ready bool, now metav1.Time) {
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	set := func(kind corev1.PodConditionType, status corev1.ConditionStatus) {
		for i := range pod.Status.Conditions {
			if c := &pod.Status.Conditions[i]; c.Type == kind {
				if c.Status != status {
					c.Status, c.LastTransitionTime = status, now
				}
				return
			}
		}
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: status, LastTransitionTime: now})
	}
	set(corev1.PodInitialized, corev1.ConditionTrue)
	set(corev1.ContainersReady, status)
	set(corev1.PodReady, status)
	var restarts int32
	if len(pod.Status.ContainerStatuses) > 0 {
		restarts = pod.Status.ContainerStatuses[0].RestartCount
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: pod.Spec.Containers[0].Name, Image: pod.Spec.Containers[0].Image, Ready: ready, RestartCount: restarts,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
	}}
}

// address is the next address of the namespace. Pods that are made one after the other get the same on both sides.
func (s *Stage) address(pod *corev1.Pod) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	number, ok := s.addresses[pod.UID]
	if !ok {
		number = len(s.addresses) + 1
		s.addresses[pod.UID] = number
	}
	return fmt.Sprintf("10.244.%d.%d", number/250, number%250+1)
}
