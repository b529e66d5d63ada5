// Command 22-replicaset reconciles with mini's ReplicaSet controller.
package main

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/chapters/22-replicaset/quota"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/internal/demo/alone"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	demo.Main("Chapter 22: the ReplicaSet",
		alone.Story(quota.Story(prepare), "replicaset-controller"),
		demo.Predict(1, "how many Pods are there after the first step now?", "the line above"),
		demo.Predict(2, "what does the status of big say at the end?", "the last line above"))
}

func prepare(cache *mini.Cache) (mini.Reconciler, error) {
	for _, like := range []mini.Object{&appsv1.ReplicaSet{}, &corev1.Pod{}} {
		if _, err := cache.Informer(like); err != nil {
			return nil, err
		}
	}
	return &mini.ReplicaSets{Client: mini.NewCachedClient(cache)}, nil
}
