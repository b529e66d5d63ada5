package main

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/loopwright/loopwright/manager/client"
)

// create makes the Deployment.
func (s *stage) create(ctx context.Context, n int32) error {
	labels := map[string]string{"app": "web"}
	s.web = &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &n, Selector: &metav1.LabelSelector{MatchLabels: labels}, ProgressDeadlineSeconds: new(int32(2)),
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "web", Image: s.Image}}, TerminationGracePeriodSeconds: new(int64(1)),
			}},
		},
	}
	limits(1, 0)(s.web)
	version("1")(s.web)
	return s.users.Create(ctx, s.web)
}

// change changes the specification with a patch, as kubectl does.
func (s *stage) change(ctx context.Context, changes ...func(*appsv1.Deployment)) error {
	before := s.web.DeepCopy()
	for _, change := range changes {
		change(s.web)
	}
	return s.users.Patch(ctx, s.web, client.MergeFrom(before))
}

// version stands for an image: any change of the template is another version.
func version(name string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Spec.Template.Annotations = map[string]string{"version": name}
	}
}

// bad asks for a node that does not exist.
func bad(is bool) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Spec.Template.Spec.NodeSelector = nil
		if is {
			d.Spec.Template.Spec.NodeSelector = map[string]string{"no-such": "node"}
		}
	}
}

func replicas(n int32) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Replicas = &n }
}

func pause(is bool) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Paused = is }
}

func limits(surge, unavailable int) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Spec.Strategy = appsv1.DeploymentStrategy{
			Type:          appsv1.RollingUpdateDeploymentStrategyType,
			RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: new(intstr.FromInt(surge)), MaxUnavailable: new(intstr.FromInt(unavailable))},
		}
	}
}

func recreate(d *appsv1.Deployment) {
	d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
}

// sets are the ReplicaSets of the namespace.
func (s *stage) sets(ctx context.Context) ([]appsv1.ReplicaSet, error) {
	var list appsv1.ReplicaSetList
	err := s.users.List(ctx, &list, client.InNamespace(s.Namespace))
	return list.Items, err
}

func (s *stage) remove(ctx context.Context) error {
	return s.users.Delete(ctx, s.web, client.PropagationPolicy(metav1.DeletePropagationBackground))
}
