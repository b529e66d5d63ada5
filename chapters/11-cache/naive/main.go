// Command naive counts Pods in an informer's store, and creates them with a client.
package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/chapters/11-cache/tenpods"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	demo.Main("Chapter 11, naive: count in the store, write to the server", tenpods.Story(prepare))
}

// prepare counts in the informer's store.
func prepare(d *demo.Demo, cache *mini.Cache) (tenpods.Work, error) {
	client := mini.NewCachedClient(cache).Client
	pods, err := cache.Informer(&corev1.Pod{})
	return tenpods.Work{
		Count: func(context.Context) (int, error) {
			here, err := pods.ByIndex(mini.ByNamespace, d.Namespace)
			return len(here), err
		},
		Create: func(ctx context.Context, pod *corev1.Pod) error {
			return client.Create(ctx, pod)
		},
	}, err
}
