package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsapply "k8s.io/client-go/applyconfigurations/apps/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	metaapply "k8s.io/client-go/applyconfigurations/meta/v1"
)

const (
	// name is that of the Deployment and of the Service.
	name = "web"
	// replicas is how many Pods the Deployment wants at first.
	replicas = 10
	// deadline is how long a rollout may go without progress, in seconds. Users have minutes.
	deadline = 5
	// noImage is one that cannot be pulled: no host has a name below .invalid.
	noImage = "registry.invalid/web:2"
)

// revisionAnnotation numbers the templates of a Deployment, on each ReplicaSet.
const revisionAnnotation = "deployment.kubernetes.io/revision"

var (
	podLabels = map[string]string{"app": name}
	asUser    = metav1.ApplyOptions{FieldManager: "user", Force: true}
)

// applyDeployment does what kubectl apply --server-side does.
func (s *stage) applyDeployment(ctx context.Context, image, version string) error {
	deployment := appsapply.Deployment(name, s.Namespace).WithSpec(appsapply.DeploymentSpec().
		WithReplicas(replicas).WithProgressDeadlineSeconds(deadline).
		WithSelector(metaapply.LabelSelector().WithMatchLabels(podLabels)).
		WithTemplate(coreapply.PodTemplateSpec().WithLabels(podLabels).WithSpec(coreapply.PodSpec().
			WithTerminationGracePeriodSeconds(1).
			WithContainers(coreapply.Container().WithName(name).WithImage(image).
				WithEnv(coreapply.EnvVar().WithName("VERSION").WithValue(version)).
				WithPorts(coreapply.ContainerPort().WithContainerPort(8080))))))
	if _, err := s.Client.AppsV1().Deployments(s.Namespace).Apply(ctx, deployment, asUser); err != nil {
		return fmt.Errorf("applying Deployment %s: %w", name, err)
	}
	return nil
}

func (s *stage) applyService(ctx context.Context) error {
	service := coreapply.Service(name, s.Namespace).WithSpec(coreapply.ServiceSpec().WithSelector(podLabels).
		WithPorts(coreapply.ServicePort().WithPort(80).WithTargetPort(intstr.FromInt32(8080)).WithProtocol(corev1.ProtocolTCP)))
	if _, err := s.Client.CoreV1().Services(s.Namespace).Apply(ctx, service, asUser); err != nil {
		return fmt.Errorf("applying Service %s: %w", name, err)
	}
	return nil
}

// scale does what kubectl scale does.
func (s *stage) scale(ctx context.Context, replicas int32) error {
	scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.Namespace}, Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
	if _, err := s.Client.AppsV1().Deployments(s.Namespace).UpdateScale(ctx, name, scale, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("scaling Deployment %s to %d: %w", name, replicas, err)
	}
	return nil
}

// undo does what kubectl rollout undo --to-revision does: it puts the template of an older ReplicaSet into the
// Deployment. The controller finds that ReplicaSet again, and so makes no new one.
func (s *stage) undo(ctx context.Context, revision int) error {
	sets, err := s.Client.AppsV1().ReplicaSets(s.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + name})
	if err != nil {
		return fmt.Errorf("looking for revision %d of Deployment %s: %w", revision, name, err)
	}
	for _, rs := range sets.Items {
		if rs.Annotations[revisionAnnotation] != strconv.Itoa(revision) {
			continue
		}
		template := rs.Spec.Template.DeepCopy()
		delete(template.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
		patch, err := json.Marshal([]map[string]any{{"op": "replace", "path": "/spec/template", "value": template}})
		if err != nil {
			return err
		}
		if _, err := s.Client.AppsV1().Deployments(s.Namespace).Patch(ctx, name, types.JSONPatchType, patch, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("rolling Deployment %s back to revision %d: %w", name, revision, err)
		}
		return nil
	}
	return fmt.Errorf("rolling Deployment %s back: no ReplicaSet has revision %d", name, revision)
}
