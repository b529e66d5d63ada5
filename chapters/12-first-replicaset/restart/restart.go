// Package restart is what both programs of the chapter do: a ReplicaSet controller is stopped,
// and started again.
package restart

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

// Controller runs until ctx ends.
type Controller func(ctx context.Context, d *demo.Demo, cluster *mini.Cluster) error

// Story creates a ReplicaSet, deletes a Pod, restarts the controller, and counts.
func Story(run Controller) func(context.Context, *demo.Demo) error {
	return func(ctx context.Context, d *demo.Demo) error {
		sets, pods := d.Client.AppsV1().ReplicaSets(d.Namespace), d.Client.CoreV1().Pods(d.Namespace)
		count := func() int {
			time.Sleep(2 * time.Second) // whatever happens has happened by then
			list, err := pods.List(ctx, metav1.ListOptions{})
			if err != nil {
				d.Say("%v", err)
			}
			return len(list.Items)
		}
		stop, err := begin(ctx, d, run)
		if err != nil {
			return err
		}
		defer func() { stop() }()
		err = d.Step("1. The ReplicaSet web wants three Pods", func() error {
			_, err := sets.Create(ctx, Web(d), metav1.CreateOptions{})
			d.Say("There are %d Pods.", count())
			return err
		})
		if err != nil {
			return err
		}
		err = d.Step("2. A user deletes one of them", func() error {
			list, err := pods.List(ctx, metav1.ListOptions{})
			if err != nil {
				return err
			}
			now := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
			err = pods.Delete(ctx, list.Items[0].Name, now)
			d.Say("There are %d Pods.", count())
			return err
		})
		if err != nil {
			return err
		}
		return d.Step("3. The controller is stopped and started again", func() (err error) {
			stop()
			stop, err = begin(ctx, d, run)
			d.Say("There are %d Pods.", count())
			return err
		})
	}
}

// begin starts the controller. stop ends it, and waits.
func begin(ctx context.Context, d *demo.Demo, run Controller) (stop func(), err error) {
	cluster, err := mini.NewCluster(d.Config(), scheme.Scheme)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := run(ctx, d, cluster); err != nil {
			d.Say("%v", err)
		}
	}()
	return func() { cancel(); <-ended }, nil
}

// Web is a ReplicaSet that wants three Pods.
func Web(d *demo.Demo) *appsv1.ReplicaSet {
	labels := map[string]string{"app": "web"}
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: new(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					Containers: []corev1.Container{{Name: "c", Image: d.Image}},
				},
			},
		},
	}
}

// PodOf returns a Pod from the ReplicaSet's template.
func PodOf(rs *appsv1.ReplicaSet) *corev1.Pod {
	kind := appsv1.SchemeGroupVersion.WithKind("ReplicaSet")
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: rs.Namespace, GenerateName: rs.Name + "-",
			Labels:          rs.Spec.Template.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(rs, kind)},
		},
		Spec: rs.Spec.Template.Spec,
	}
}
