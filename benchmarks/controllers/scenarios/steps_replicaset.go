package scenarios

import (
	"context"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/benchmarks/controllers/stage"
)

func sets(s *stage.Stage) calls[*appsv1.ReplicaSet] {
	return s.Client.AppsV1().ReplicaSets(s.Namespace)
}

var web = map[string]string{"app": "web"}

// with is a copy of labels with one more.
func with(labels map[string]string, key, value string) map[string]string {
	labels = maps.Clone(labels)
	labels[key] = value
	return labels
}

// set is a ReplicaSet of Pods with the label app=web.
func set(name string, replicas int32, more ...func(*appsv1.ReplicaSet)) *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: maps.Clone(web)},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: maps.Clone(web)},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(web)}, Spec: container("works:1")},
		},
	}
	for _, change := range more {
		change(rs)
	}
	return rs
}

func setImage(name string) func(*appsv1.ReplicaSet) {
	return func(rs *appsv1.ReplicaSet) { rs.Spec.Template.Spec.Containers[0].Image = name }
}

func setMinReady(seconds int32) func(*appsv1.ReplicaSet) {
	return func(rs *appsv1.ReplicaSet) { rs.Spec.MinReadySeconds = seconds }
}

func createSet(rs *appsv1.ReplicaSet) Step {
	return create(fmt.Sprintf("create the ReplicaSet %s of %d", rs.Name, *rs.Spec.Replicas), rs, sets)
}

func editSet(text, name string, how func(*appsv1.ReplicaSet)) Step {
	return edit(text, name, sets, how)
}

func scaleSet(name string, to int32) Step {
	return Step{Text: fmt.Sprintf("scale the ReplicaSet %s to %d", name, to), Do: func(ctx context.Context, s *stage.Stage) error {
		scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.Namespace}, Spec: autoscalingv1.ScaleSpec{Replicas: to}}
		_, err := s.Client.AppsV1().ReplicaSets(s.Namespace).UpdateScale(ctx, name, scale, metav1.UpdateOptions{})
		return err
	}}
}

func deleteSet(name string, policy metav1.DeletionPropagation) Step {
	return remove("ReplicaSet", name, policy, sets)
}

// quota allows this many Pods in the namespace, and waits until that is in force.
func quota(pods string) Step {
	return Step{Text: "allow " + pods + " Pods", Do: func(ctx context.Context, s *stage.Stage) error {
		quotas := s.Client.CoreV1().ResourceQuotas(s.Namespace)
		few := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "few"}}
		few.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: resource.MustParse(pods)}
		if _, err := quotas.Create(ctx, few, metav1.CreateOptions{}); err != nil {
			return err
		}
		return stage.Poll(ctx, "the quota", func() error {
			has, err := quotas.Get(ctx, "few", metav1.GetOptions{})
			if err == nil && has.Status.Hard.Pods().Value() != few.Spec.Hard.Pods().Value() {
				err = fmt.Errorf("it is not in force")
			}
			return err
		})
	}}
}

// noQuota waits until the ReplicaSets have noticed: they try again after pauses that grow, and nothing else tells them.
var noQuota = Step{Text: "allow any number of Pods", Do: func(ctx context.Context, s *stage.Stage) error {
	if err := s.Client.CoreV1().ResourceQuotas(s.Namespace).Delete(ctx, "few", metav1.DeleteOptions{}); err != nil {
		return err
	}
	return stage.Poll(ctx, "the ReplicaSets to try again", func() error {
		for _, set := range s.ReplicaSets(func(set *appsv1.ReplicaSet) bool { return set.Status.Replicas != *set.Spec.Replicas }) {
			return fmt.Errorf("%s has %d Pods of %d", set.Name, set.Status.Replicas, *set.Spec.Replicas)
		}
		return nil
	})
}}
