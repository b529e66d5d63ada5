// Command 21-ranking scales a ReplicaSet down: the Pods go that a user would miss least.
package main

import (
	"context"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/chapters/21-ranking/scaledown"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/internal/demo/alone"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	demo.Main("Chapter 21: which Pods go first",
		alone.Story(scaledown.Story(reconciler), "replicaset-controller"),
		demo.Predict(2, "which Pods are left?", "the last two lines"))
}

// scaler deletes Pods if there are too many.
type scaler struct{ client *mini.CachedClient }

func reconciler(client *mini.CachedClient) mini.Reconciler { return &scaler{client} }

// Reconcile does the second half of what chapter 12's does.
func (s *scaler) Reconcile(ctx context.Context, req mini.Request) (mini.Result, error) {
	rs, err := mini.Get[*appsv1.ReplicaSet](ctx, s.client, req)
	if err != nil {
		return mini.Result{}, err
	}
	pods, err := mini.OwnedBy[*corev1.Pod](ctx, s.client, rs)
	if err != nil {
		return mini.Result{}, err
	}
	ending := func(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil }
	pods = slices.DeleteFunc(pods, ending)
	surplus := max(0, len(pods)-int(*rs.Spec.Replicas))
	for _, pod := range mini.GetPodsToDelete(pods, surplus, time.Now()) {
		if err := s.client.Delete(ctx, pod, metav1.DeleteOptions{}); err != nil {
			return mini.Result{}, err
		}
	}
	return mini.Result{}, nil
}
