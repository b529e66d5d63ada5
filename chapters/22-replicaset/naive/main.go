// Command naive is a ReplicaSet controller that creates all missing Pods at once.
package main

import (
	"cmp"
	"context"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/chapters/12-first-replicaset/restart"
	"github.com/loopwright/loopwright/chapters/22-replicaset/quota"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/internal/demo/alone"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	demo.Main("Chapter 22, naive: count, and create all at once",
		alone.Story(quota.Story(prepare), "replicaset-controller"),
		demo.Predict(1, "how many Pods are there after the first step?",
			"the line above: the ReplicaSets want ten"),
		demo.Predict(2, "how many requests does the quota refuse in each of three tries?",
			"the three tries above"))
}

func prepare(cache *mini.Cache) (mini.Reconciler, error) {
	client := mini.NewCachedClient(cache).Client
	sets, err := cache.Informer(&appsv1.ReplicaSet{})
	if err != nil {
		return nil, err
	}
	pods, err := cache.Informer(&corev1.Pod{})
	if err != nil {
		return nil, err
	}
	reconcile := func(ctx context.Context, req mini.Request) (mini.Result, error) {
		rs := sets.Get(req).(*appsv1.ReplicaSet)
		owned, err := pods.ByIndex(mini.ByOwner, string(rs.UID))
		if err != nil {
			return mini.Result{}, err
		}
		missing := max(0, int(*rs.Spec.Replicas)-len(owned))
		errs := make([]error, missing)
		var calls sync.WaitGroup
		for i := range errs {
			calls.Go(func() { errs[i] = client.Create(ctx, restart.PodOf(rs)) })
		}
		calls.Wait()
		return mini.Result{}, cmp.Or(errs...)
	}
	return mini.ReconcilerFunc(reconcile), nil
}
