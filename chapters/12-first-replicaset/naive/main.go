// Command naive is a ReplicaSet controller that acts on events.
package main

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/chapters/12-first-replicaset/restart"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/internal/demo/alone"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	demo.Main("Chapter 12, naive: act on events",
		alone.Story(restart.Story(run), "replicaset-controller"),
		demo.Predict(1, "how many Pods are there after each of the three steps?",
			"the last line of each step").Until(3))
}

// run creates the Pods of each new ReplicaSet, and one more for each Pod that is deleted.
func run(ctx context.Context, d *demo.Demo, cluster *mini.Cluster) error {
	cache := mini.NewCache(cluster)
	client := &mini.Client{Cluster: cluster}
	sets, err := cache.Informer(&appsv1.ReplicaSet{})
	if err != nil {
		return err
	}
	pods, err := cache.Informer(&corev1.Pod{})
	if err != nil {
		return err
	}
	create := func(rs *appsv1.ReplicaSet, count int) {
		for range count {
			if err := client.Create(ctx, restart.PodOf(rs)); err != nil {
				d.Say("%v", err)
			}
		}
	}
	sets.AddHandler(func(change mini.Change) {
		if change.Old == nil && change.New.GetNamespace() == d.Namespace {
			rs := change.New.(*appsv1.ReplicaSet)
			d.Say("A ReplicaSet was added: create %d Pods.", *rs.Spec.Replicas)
			create(rs, int(*rs.Spec.Replicas))
		}
	})
	pods.AddHandler(func(change mini.Change) {
		if change.New == nil && change.Old.GetNamespace() == d.Namespace {
			d.Say("A Pod was deleted: create one.")
			rs := sets.Get(mini.Request{Namespace: d.Namespace, Name: "web"})
			create(rs.(*appsv1.ReplicaSet), 1)
		}
	})
	return cache.Run(ctx)
}
