// Command naive looks for the owners of Pods in a cache.
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
	demo.Main("Chapter 28, naive: look for the owner in the cache", late.Story(prepare),
		demo.Predict(1,
			"both informers have listed before anything is created, and the ReplicaSet "+
				"is created before its Pods. Which of the Pods live?",
			"the last line above"))
}

// prepare looks for owners in the informer's store.
func prepare(m *mini.Manager) (late.HasOwner, error) {
	sets, err := m.Cache.Informer(&appsv1.ReplicaSet{})
	return func(_ context.Context, pod *corev1.Pod) (bool, error) {
		for _, ref := range pod.OwnerReferences {
			key := mini.Request{Namespace: pod.Namespace, Name: ref.Name}
			if owner := sets.Get(key); owner != nil && owner.GetUID() == ref.UID {
				return true, nil
			}
		}
		return false, nil
	}, err
}
