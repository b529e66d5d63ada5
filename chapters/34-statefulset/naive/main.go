// Command naive is a StatefulSet controller that waits for each member, even a broken one.
package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/chapters/34-statefulset/peers"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	peers.Main("Chapter 34, naive: replace a member only when all are ready", controller,
		demo.Predict(3,
			"a user rolls out an image that doesn't exist, and undoes that. Which image do the three "+
				"members have 20 seconds later?",
			"the last line"))
}

func controller(m *mini.Manager) (*mini.Controller, error) {
	sets := m.Informer(&appsv1.StatefulSet{})
	pods := m.Informer(&corev1.Pod{})
	c := m.NewController("statefulset", 1, reconciler(m.Client))
	c.Watch(sets, mini.EnqueueObject)
	c.Watch(pods, mini.EnqueueOwner(appsv1.SchemeGroupVersion.WithKind("StatefulSet").GroupKind()))
	return c, m.Err()
}

// reconciler creates members in order, and replaces them from the end. It waits for each.
func reconciler(client *mini.CachedClient) mini.ReconcilerFunc {
	return func(ctx context.Context, req mini.Request) (mini.Result, error) {
		set, err := mini.Get[*appsv1.StatefulSet](ctx, client, req)
		if err != nil {
			return mini.Result{}, mini.IgnoreNotFound(err)
		}
		if set.DeletionTimestamp != nil {
			return mini.Result{}, nil
		}
		var members []*corev1.Pod
		for i := range int(*set.Spec.Replicas) {
			name := fmt.Sprint(set.Name, "-", i)
			key := mini.Request{Namespace: set.Namespace, Name: name}
			pod, err := mini.Get[*corev1.Pod](ctx, client, key)
			switch {
			case apierrors.IsNotFound(err):
				return mini.Result{}, client.Create(ctx, podFor(set, name))
			case err != nil:
				return mini.Result{}, err
			case !isReady(pod):
				return mini.Result{}, nil // wait until it is ready
			}
			members = append([]*corev1.Pod{pod}, members...)
		}
		for _, pod := range members {
			wanted := set.Spec.Template.Spec.Containers[0].Image
			if pod.Spec.Containers[0].Image != wanted {
				return mini.Result{}, client.Delete(ctx, pod, metav1.DeleteOptions{})
			}
		}
		return mini.Result{}, nil
	}
}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue && pod.DeletionTimestamp == nil
		}
	}
	return false
}

func podFor(set *appsv1.StatefulSet, name string) *corev1.Pod {
	kind := appsv1.SchemeGroupVersion.WithKind("StatefulSet")
	pod := &corev1.Pod{
		ObjectMeta: *set.Spec.Template.ObjectMeta.DeepCopy(), Spec: *set.Spec.Template.Spec.DeepCopy(),
	}
	pod.Namespace, pod.Name = set.Namespace, name
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, kind)}
	return pod
}
