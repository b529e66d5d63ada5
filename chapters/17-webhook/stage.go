package main

import (
	"context"
	"strings"

	admission "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/chapters/17-webhook/registration"
	"github.com/loopwright/loopwright/chapters/17-webhook/typo"
)

// stage is where the steps happen: a user, and what the API server knows about the webhook.
type stage struct {
	*typo.User
	*registration.Registration
}

// register has the API server ask about Websites and Deployments.
func (s *stage) register(ctx context.Context) error {
	s.Validate("limit", "web.example.com", "websites")
	s.Validate("deployments", "apps", "deployments")
	if err := s.Write(ctx); err != nil {
		return err
	}
	return s.Until(ctx, "the limit", func() bool {
		answer, err := s.Create(ctx, "probe", `{"page":"home","replicas":30}`, metav1.DryRunAll)
		return err != nil && strings.Contains(answer, "at most")
	})
}

// coverScales adds the subresource to what is validated.
func (s *stage) coverScales(ctx context.Context) error {
	s.Validate("scales", "apps", "deployments/scale")
	if err := s.Write(ctx); err != nil {
		return err
	}
	return s.Until(ctx, "the limit of scales", func() bool {
		return s.scale(ctx, 30, metav1.DryRunAll) != nil
	})
}

// ignoreFailures makes the API server store what it could not ask about.
func (s *stage) ignoreFailures(ctx context.Context) error {
	for i := range s.Validating.Webhooks {
		s.Validating.Webhooks[i].FailurePolicy = new(admission.Ignore)
	}
	if err := s.Write(ctx); err != nil {
		return err
	}
	return s.Until(ctx, "the failure policy", func() bool {
		_, err := s.Create(ctx, "probe", `{"page":"home"}`, metav1.DryRunAll)
		return err == nil
	})
}

// deploy creates the Deployment web.
func (s *stage) deploy(ctx context.Context) error {
	labels := map[string]string{"app": "web"}
	_, err := s.Client.AppsV1().Deployments(s.Namespace).Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					Containers: []corev1.Container{{Name: "c", Image: s.Image}},
				},
			},
		},
	}, metav1.CreateOptions{})
	return err
}

// scale is what kubectl scale does: it writes the subresource scale of the Deployment web.
func (s *stage) scale(ctx context.Context, replicas int32, dryRun ...string) error {
	to := &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "web"},
		Spec:       autoscalingv1.ScaleSpec{Replicas: replicas},
	}
	_, err := s.Client.AppsV1().Deployments(s.Namespace).UpdateScale(
		ctx, "web", to, metav1.UpdateOptions{DryRun: dryRun})
	return err
}
