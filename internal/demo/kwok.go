package demo

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NeedsKwok is a story with fake nodes of its own: it begins only in a cluster in which kwok plays
// some, as it does in an embedded one. Elsewhere they'd stay without a kubelet, and no Pod on them
// would start.
func NeedsKwok(story func(context.Context, *Demo) error) func(context.Context, *Demo) error {
	return func(ctx context.Context, d *Demo) error {
		nodes, err := d.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("looking for a node that kwok plays: %w", err)
		}
		for _, node := range nodes.Items {
			if isPlayed(&node) {
				return story(ctx, d)
			}
		}
		return fmt.Errorf("this program makes fake nodes, which kwok has to play, and %s has no Ready "+
			"node that kwok plays: run it with CLUSTER=embedded", d.Cluster.Name)
	}
}

// isPlayed returns true if kwok plays the node: it has kwok's annotation, and somebody says that it
// is Ready.
func isPlayed(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			return node.Annotations["kwok.x-k8s.io/node"] == "fake"
		}
	}
	return false
}
