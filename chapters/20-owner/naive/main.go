// Command naive is a ReplicaSet controller that counts the Pods that its selector matches.
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
	demo.Main("Chapter 20, naive: count by label",
		alone.Story(overlap.Story(findPods), "replicaset-controller"),
		demo.Predict(1,
			"two of the three steps end well. Which one does not, and how many Pods "+
				"does the controller create in it?",
			"the Pods created in each of the three steps").Until(3))
}

// findPods returns all Pods that the selector matches.
func findPods(
	ctx context.Context, client *mini.CachedClient, rs *appsv1.ReplicaSet,
) ([]*corev1.Pod, error) {
	selector, err := metav1.LabelSelectorAsSelector(rs.Spec.Selector)
	if err != nil {
		return nil, err
	}
	matching := mini.Selection{Namespace: rs.Namespace, Labels: selector}
	return mini.List[*corev1.Pod](ctx, client, matching)
}
