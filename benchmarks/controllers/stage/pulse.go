package stage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// canary is the namespace, the Deployment and the Service by which a world shows that its controllers keep up.
const canary = "canary"

// pulse changes the canary, and returns when the change has gone through all three controllers: from the Deployment to
// its ReplicaSet, whose controller observes it, and from the Service to its Endpoints. The controllers work off their
// queues in order, so by then they have seen to all that had happened before.
//
// Stages that wait at the same time share a pulse, if it has begun after they came.
func (w *World) pulse(ctx context.Context) error {
	came := time.Now()
	select {
	case w.pulsing <- struct{}{}:
		defer func() { <-w.pulsing }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if w.lastPulse.After(came) {
		return nil
	}
	begin := time.Now()
	w.pulses++
	change, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]any{"pulse": fmt.Sprint(w.pulses)}},
		"spec": map[string]any{"minReadySeconds": w.pulses}})
	if err != nil {
		return err
	}
	d, err := w.user.AppsV1().Deployments(canary).Patch(ctx, canary, types.MergePatchType, change, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("the pulse of %s: %w", w.Name, err)
	}
	label := fmt.Appendf(nil, `{"metadata":{"labels":{"pulse":"%d"}}}`, w.pulses)
	if _, err := w.user.CoreV1().Services(canary).Patch(ctx, canary, types.MergePatchType, label, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("the pulse of %s: %w", w.Name, err)
	}
	if err := Poll(ctx, "the pulse of "+w.Name, func() error { return w.arrived(d) }); err != nil {
		return err
	}
	w.lastPulse = begin
	return nil
}

// arrived is nil if all controllers have seen the pulse.
func (w *World) arrived(d *appsv1.Deployment) error {
	waits := map[string]bool{Deployment: true, ReplicaSet: true, Endpoints: true}
	for _, object := range w.canary.Objects() {
		switch o := object.(type) {
		case *appsv1.Deployment:
			if o.Status.ObservedGeneration >= d.Generation {
				delete(waits, Deployment)
			}
		case *appsv1.ReplicaSet:
			if o.Spec.MinReadySeconds == d.Spec.MinReadySeconds && o.Status.ObservedGeneration == o.Generation {
				delete(waits, ReplicaSet)
			}
		case *corev1.Endpoints:
			if o.Labels["pulse"] == d.Labels["pulse"] {
				delete(waits, Endpoints)
			}
		}
	}
	if len(waits) > 0 {
		return fmt.Errorf("it has not reached the controllers of %v", slices.Sorted(maps.Keys(waits)))
	}
	return nil
}

// makeCanary makes what a pulse changes.
func (w *World) makeCanary(ctx context.Context) (err error) {
	if w.canary, err = w.NewStage(ctx, canary); err != nil {
		return err
	}
	labels := map[string]string{"app": canary}
	meta := metav1.ObjectMeta{Name: canary, Labels: maps.Clone(labels)}
	d := &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: labels}, ProgressDeadlineSeconds: new(int32(1 << 30)),
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: Works}}}},
	}}
	if _, err := w.user.AppsV1().Deployments(canary).Create(ctx, d, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("making the canary: %w", err)
	}
	service := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Selector: labels, ClusterIP: corev1.ClusterIPNone}}
	if _, err := w.user.CoreV1().Services(canary).Create(ctx, service, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("making the canary: %w", err)
	}
	return nil
}

// SettleEvents waits until the Events of the scenario are there. A controller writes them one after the other behind its
// own back. So when those of a new Deployment have come, whose Pods cannot be made, then all others have come before.
func (s *Stage) SettleEvents(ctx context.Context) error {
	w := s.world
	name := "after-" + s.Namespace
	labels := map[string]string{"app": name}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "main", Image: Works}}, ServiceAccountName: "nobody",
		}},
	}}
	if _, err := w.user.AppsV1().Deployments(canary).Create(ctx, d, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("waiting for the Events: %w", err)
	}
	err := Poll(ctx, "the Events about "+name, func() error {
		come := map[string]bool{}
		for _, object := range w.canary.Objects() {
			if event, ok := object.(*eventsv1.Event); ok && strings.HasPrefix(event.Regarding.Name, name) {
				come[event.Reason] = true
			}
		}
		if !come["ScalingReplicaSet"] || !come["FailedCreate"] {
			return fmt.Errorf("there are %v", slices.Sorted(maps.Keys(come)))
		}
		return nil
	})
	policy := metav1.DeletePropagationBackground
	return errors.Join(err, w.user.AppsV1().Deployments(canary).Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &policy}))
}
