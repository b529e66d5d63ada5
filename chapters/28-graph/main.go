// Command 28-graph looks for the owners of Pods with mini's owner graph.
package main

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/chapters/28-graph/late"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	demo.Main("Chapter 28: the graph of owners", late.Story(prepare),
		demo.Predict(1,
			"how many requests does it send to find out about the three Pods, and how "+
				"many once the cache shows the ReplicaSet?",
			"the requests in the steps 1 and 2").Until(2),
		demo.Predict(3,
			"what happens to a Pod whose owner had the right name but another UID?",
			"the first line above"))
}

// prepare asks the API server for the owners that the cache does not show.
func prepare(m *mini.Manager) (late.HasOwner, error) {
	graph, err := mini.NewOwnerGraph(m, &appsv1.ReplicaSet{}, &corev1.Pod{})
	return func(ctx context.Context, pod *corev1.Pod) (bool, error) {
		solid, waiting, err := graph.ClassifyReferences(ctx, pod)
		return len(solid)+len(waiting) > 0, err
	}, err
}
