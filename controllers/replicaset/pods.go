package replicaset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/loopwright/loopwright/manager/client"
)

// Reasons of events, and of the condition ReplicaFailure.
const (
	successfulCreate = "SuccessfulCreate"
	successfulDelete = "SuccessfulDelete"
	failedCreate     = "FailedCreate"
	failedDelete     = "FailedDelete"
)

// errNamespaceEnds: the API server creates no Pods in a namespace that is being deleted. It isn't
// reported as a failure.
var errNamespaceEnds = errors.New("the namespace is being deleted")

// createPods creates n Pods in growing batches, and stops after a batch with a failure.
func (r *reconciler) createPods(ctx context.Context, rs *appsv1.ReplicaSet, n int) error {
	for size := range batches(n) {
		if err := inParallel(size, func(int) error { return r.createPod(ctx, rs) }); err != nil {
			return err
		}
	}
	return nil
}

// deletePods deletes all Pods in parallel, without a slow start: if the deletion of one fails, that
// says nothing about the others.
func (r *reconciler) deletePods(
	ctx context.Context, rs *appsv1.ReplicaSet, pods []*corev1.Pod,
) error {
	return inParallel(len(pods), func(i int) error { return r.deletePod(ctx, rs, pods[i]) })
}

// inParallel calls do n times in parallel, waits for all calls, and returns the error with the
// lowest i. The others are most often the same.
func inParallel(n int, do func(i int) error) error {
	failed := make([]error, n)
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() { failed[i] = do(i) })
	}
	calls.Wait()
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}

// createPod creates a Pod, and sends an event. The event names the Pod only in its note. With the
// Pod as its related object, each of a thousand Pods would make a separate event; this way the
// recorder combines those after the first ten.
func (r *reconciler) createPod(ctx context.Context, rs *appsv1.ReplicaSet) error {
	set := client.ObjectKeyFromObject(rs)
	pod := newPod(rs, r.suffix)
	if name, ok := r.unconfirmed.takeFree(set); ok {
		pod.Name = name
	}
	name := pod.Name
	switch err := r.client.Create(ctx, pod); {
	case err == nil:
		r.events.Eventf(rs, nil, corev1.EventTypeNormal, successfulCreate, "Create",
			"Created pod: %s", name)
		return nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return errNamespaceEnds
	case apierrors.IsAlreadyExists(err):
		// Another client has created it, or an earlier request of this controller whose answer was
		// lost.
		r.unconfirmed.mayHaveCreated(set, name)
		return nil
	default:
		if mayHaveHappened(err) {
			r.unconfirmed.mayHaveCreated(set, name)
		}
		r.events.Eventf(rs, nil, corev1.EventTypeWarning, failedCreate, "Create",
			"Error creating: %v", err)
		return fmt.Errorf("creating a Pod: %w", err)
	}
}

func (r *reconciler) deletePod(ctx context.Context, rs *appsv1.ReplicaSet, pod *corev1.Pod) error {
	set := client.ObjectKeyFromObject(rs)
	target := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
	}
	switch err := r.client.Delete(ctx, target, client.Preconditions{UID: &target.UID}); {
	case err == nil:
		r.events.Eventf(rs, nil, corev1.EventTypeNormal, successfulDelete, "Delete",
			"Deleted pod: %s", pod.Name)
		return nil
	case client.IsAbsent(err, client.ObjectKeyFromObject(pod)), apierrors.IsConflict(err):
		// It's gone, and the cache doesn't know that yet.
		r.unconfirmed.mayHaveDeleted(set, pod.Name, pod.UID)
		return nil
	default:
		if mayHaveHappened(err) {
			r.unconfirmed.mayHaveDeleted(set, pod.Name, pod.UID)
		}
		r.events.Eventf(rs, nil, corev1.EventTypeWarning, failedDelete, "Delete",
			"Error deleting: %v", err)
		return fmt.Errorf("deleting the Pod %s: %w", pod.Name, err)
	}
}

// The lengths of names that the API server generates from generateName: it cuts the base, so that
// the name fits into a label.
const (
	suffixLength = 5
	baseLength   = validation.LabelValueMaxLength - suffixLength
)

// newPod returns a Pod made from the template, with a generated name.
func newPod(rs *appsv1.ReplicaSet, suffix func(length int) string) *corev1.Pod {
	template := &rs.Spec.Template
	prefix := rs.Name + "-"
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       rs.Namespace,
			Name:            prefix[:min(len(prefix), baseLength)] + suffix(suffixLength),
			GenerateName:    prefix,
			Labels:          maps.Clone(template.Labels),
			Annotations:     maps.Clone(template.Annotations),
			Finalizers:      slices.Clone(template.Finalizers),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(rs, kind)},
		},
		Spec: *template.Spec.DeepCopy(),
	}
}
