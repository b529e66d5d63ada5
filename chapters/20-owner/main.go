// Command 20-owner is a ReplicaSet controller that counts the Pods that it can claim.
package main

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/chapters/20-owner/overlap"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/internal/demo/alone"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	demo.Main("Chapter 20: owners",
		alone.Story(overlap.Story(findPods), "replicaset-controller"),
		demo.Predict(1,
			"in each step, how many Pods does the controller create, delete and patch?",
			"the first line of each of the three steps").Until(3))
}

// findPods claims Pods: among all of the namespace, with whatever labels.
func findPods(
	ctx context.Context, client *mini.CachedClient, rs *appsv1.ReplicaSet,
) ([]*corev1.Pod, error) {
	selector, err := metav1.LabelSelectorAsSelector(rs.Spec.Selector)
	if err != nil {
		return nil, err
	}
	all := mini.Selection{Namespace: rs.Namespace}
	pods, err := mini.List[*corev1.Pod](ctx, client, all)
	if err != nil {
		return nil, err
	}
	return mini.Claim(ctx, client, rs, selector, pods)
}
