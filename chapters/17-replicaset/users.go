package main

import (
	"context"
	"errors"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/manager/client"
)

// create makes the ReplicaSet.
func (s *stage) create(ctx context.Context, replicas int32) error {
	labels := map[string]string{"app": "web"}
	s.set = &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "web"},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "web", Image: s.Image}}, TerminationGracePeriodSeconds: new(int64(1)),
			}},
		},
	}
	return s.users.Create(ctx, s.set)
}

// scale does what kubectl scale does.
func (s *stage) scale(ctx context.Context, replicas int32) error {
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
	return s.users.SubResource("scale").Update(ctx, s.set, client.WithSubResourceBody(scale))
}

// gone deletes the ReplicaSet, and waits for its end, and for that of its Pods if they are to go.
func (s *stage) gone(ctx context.Context, policy metav1.DeletionPropagation) error {
	if err := s.users.Delete(ctx, s.set, client.PropagationPolicy(policy)); err != nil {
		return err
	}
	return s.until(ctx, "the end of the ReplicaSet", func(ctx context.Context) error {
		err := s.users.Get(ctx, client.ObjectKeyFromObject(s.set), &appsv1.ReplicaSet{})
		if client.IgnoreNotFound(err) != nil || err == nil {
			return errors.Join(err, errors.New("it is still there"))
		}
		pods, err := s.pods(ctx)
		if policy != metav1.DeletePropagationOrphan && len(pods) > 0 {
			err = errors.Join(err, fmt.Errorf("there are %d Pods", len(pods)))
		}
		return err
	})
}

// pods are the Pods of the namespace.
func (s *stage) pods(ctx context.Context) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := s.users.List(ctx, &list, client.InNamespace(s.Namespace))
	return list.Items, err
}

func sameNames(a, b []corev1.Pod) bool {
	names := func(pods []corev1.Pod) map[string]bool {
		names := map[string]bool{}
		for i := range pods {
			names[pods[i].Name] = true
		}
		return names
	}
	return maps.Equal(names(a), names(b))
}

func (s *stage) patch(ctx context.Context, obj client.Object, patch string) error {
	return s.users.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(patch)))
}

// makeDear gives n Pods a deletion cost, and waits until the controller's cache has it: no request of the controller would
// say so, because it does nothing about it.
func (s *stage) makeDear(ctx context.Context, n int) ([]corev1.Pod, error) {
	pods, err := s.pods(ctx)
	if err != nil {
		return nil, err
	}
	for i := range n {
		if err := s.patch(ctx, &pods[i], `{"metadata":{"annotations":{"`+corev1.PodDeletionCost+`":"100"}}}`); err != nil {
			return nil, err
		}
		if err := s.seen(ctx, pods[i].ResourceVersion); err != nil {
			return nil, err
		}
	}
	return pods[:n], nil
}

// relabel gives a Pod a label, waits until the controller has had the answer to what it did last about that, and until the
// ReplicaSet has settled with so many Pods in the namespace, and returns the Pod.
func (s *stage) relabel(ctx context.Context, app string, pods int, last string) (*corev1.Pod, error) {
	before := s.requests.counts()[last]
	all, err := s.pods(ctx)
	if err != nil {
		return nil, err
	}
	pod := &all[0]
	for i := range all {
		if all[i].Labels["app"] != "web" {
			pod = &all[i]
		}
	}
	if err := s.patch(ctx, pod, `{"metadata":{"labels":{"app":"`+app+`"}}}`); err != nil {
		return nil, err
	}
	err = s.until(ctx, "the relabelled Pod", func(ctx context.Context) error {
		found, err := s.pods(ctx)
		if err == nil && len(found) != pods {
			err = fmt.Errorf("there are %d Pods", len(found))
		}
		if err == nil && s.requests.counts()[last] == before {
			err = fmt.Errorf("the answer to %s is not there", last)
		}
		return err
	})
	if err := errors.Join(err, s.becomes(ctx, 2)); err != nil {
		return nil, err
	}
	return pod, client.IgnoreNotFound(s.users.Get(ctx, client.ObjectKeyFromObject(pod), pod))
}

// limit makes a quota for Pods, and waits until it counts those that there are.
func (s *stage) limit(ctx context.Context, pods int) error {
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "few"}}
	quota.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: resource.MustParse(fmt.Sprint(pods))}
	if err := s.users.Create(ctx, quota); err != nil {
		return err
	}
	return s.until(ctx, "the quota", func(ctx context.Context) error {
		err := s.users.Get(ctx, client.ObjectKeyFromObject(quota), quota)
		if err == nil && quota.Status.Used.Pods().Value() != 2 {
			err = fmt.Errorf("it counts %s Pods", quota.Status.Used.Pods())
		}
		return err
	})
}

func (s *stage) lift(ctx context.Context) error {
	return s.users.Delete(ctx, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "few"}})
}
