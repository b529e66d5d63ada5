package mini

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FirstReplicaSet is a ReplicaSet controller that can count: if there are too few Pods,
// it creates some, and if there are too many, it deletes some.
type FirstReplicaSet struct {
	Client *CachedClient
}

// Reconcile brings the number of Pods to the number that the ReplicaSet wants.
func (f *FirstReplicaSet) Reconcile(ctx context.Context, req Request) (Result, error) {
	rs, err := Get[*appsv1.ReplicaSet](ctx, f.Client, req)
	if err != nil {
		return Result{}, IgnoreNotFound(err)
	}
	if rs.DeletionTimestamp != nil {
		return Result{}, nil // the garbage collector deletes its Pods
	}
	pods, err := OwnedBy[*corev1.Pod](ctx, f.Client, rs)
	if err != nil {
		return Result{}, err
	}
	pods = slices.DeleteFunc(pods, isEnding)
	want := int(*rs.Spec.Replicas)
	for range want - len(pods) {
		if err := f.Client.Create(ctx, podFor(rs)); err != nil {
			return Result{}, err
		}
	}
	for _, pod := range pods[min(want, len(pods)):] {
		if err := f.Client.Delete(ctx, pod, metav1.DeleteOptions{}); err != nil {
			return Result{}, err
		}
	}
	return Result{}, nil
}

// isEnding returns true if the Pod was deleted. It may still run for a while.
func isEnding(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil }

// podFor returns a new Pod from the template. The API server makes up the name, because a
// name that we choose may be taken.
func podFor(rs *appsv1.ReplicaSet) *corev1.Pod {
	kind := appsv1.SchemeGroupVersion.WithKind("ReplicaSet")
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: rs.Namespace, GenerateName: rs.Name + "-",
			Labels: rs.Spec.Template.Labels, Annotations: rs.Spec.Template.Annotations,
			Finalizers:      rs.Spec.Template.Finalizers,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(rs, kind)},
		},
		Spec: rs.Spec.Template.Spec,
	}
}
