package deployment

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/manager/client"
)

// recreate lets no new Pod start before the last old one has ended, for programs that do not bear a second one
// beside them.
func (t *turn) recreate(ctx context.Context) error {
	for _, rs := range slices.Clone(t.oldSets) {
		if err := t.resize(ctx, rs, 0, false); err != nil {
			return err
		}
	}
	for _, rs := range t.oldSets {
		if runs, err := t.mayRun(ctx, rs); runs || err != nil {
			return err
		}
	}
	if t.newSet == nil {
		return t.create(ctx, t.desired())
	}
	return t.resize(ctx, t.newSet, t.desired(), false)
}

// mayRun reports whether Pods of a ReplicaSet may still run, those that are terminating included.
//
// Its status says so, if it is about what the ReplicaSet asks for now. Kubernetes' own controller counts Pods
// instead, and so has all Pods of the cluster in its memory. A ReplicaSet controller that does not report
// terminating Pods leaves no choice: then the server is asked for them.
func (t *turn) mayRun(ctx context.Context, rs *appsv1.ReplicaSet) (bool, error) {
	status := rs.Status
	switch {
	case status.Replicas > 0 || status.ObservedGeneration < rs.Generation:
		return true, nil
	case status.TerminatingReplicas != nil:
		return *status.TerminatingReplicas > 0, nil
	}
	runs, err := t.ask(ctx, rs)
	if runs {
		t.again = time.Second // nothing else would report their end
	}
	return runs, err
}

// ask asks the server whether a ReplicaSet has Pods that have not ended.
func (t *turn) ask(ctx context.Context, rs *appsv1.ReplicaSet) (bool, error) {
	selector, err := metav1.LabelSelectorAsSelector(rs.Spec.Selector)
	if err != nil {
		return false, fmt.Errorf("the selector of the ReplicaSet %s: %w", rs.Name, err)
	}
	var pods corev1.PodList
	if err := t.live.List(ctx, &pods, client.InNamespace(rs.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return false, fmt.Errorf("looking for Pods of the old ReplicaSet %s: %w", rs.Name, err)
	}
	return slices.ContainsFunc(pods.Items, func(pod corev1.Pod) bool {
		return metav1.IsControlledBy(&pod, rs) && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
	}), nil
}
