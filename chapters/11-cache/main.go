// Command 11-cache counts Pods with mini's cached client, and creates them with it.
package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/chapters/11-cache/tenpods"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() { demo.Main("Chapter 11: the cache", tenpods.Story(prepare)) }

// prepare counts with the client that also creates.
func prepare(d *demo.Demo, cache *mini.Cache) (tenpods.Work, error) {
	client := mini.NewCachedClient(cache)
	_, err := cache.Informer(&corev1.Pod{})
	return tenpods.Work{
		Count: func(ctx context.Context) (int, error) {
			here := mini.Selection{Namespace: d.Namespace}
			pods, err := mini.List[*corev1.Pod](ctx, client, here)
			return len(pods), err
		},
		Create: func(ctx context.Context, pod *corev1.Pod) error {
			return client.Create(ctx, pod)
		},
	}, err
}
