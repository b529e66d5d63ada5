// Command 02-store keeps Pods in mini's store.
package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/chapters/02-store/webpods"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	demo.Main("Chapter 2: the store", webpods.Story(newStore),
		demo.Predict(3,
			"how many different numbers does the reader count during the relist?",
			"the number of lines above"))
}

type store struct {
	*mini.Store
	pods *mini.ListWatch
}

func newStore(d *demo.Demo) (webpods.Store, error) {
	cluster, err := mini.NewCluster(webpods.SlowNetwork(d.Config()), scheme.Scheme)
	if err != nil {
		return nil, err
	}
	pods, err := cluster.ListWatch(&corev1.Pod{}, d.Namespace)
	byApp := func(pod mini.Object) []string { return []string{pod.GetLabels()["app"]} }
	return &store{Store: mini.NewStore(mini.Indexers{"app": byApp}), pods: pods}, err
}

func (s *store) Update(pod mini.Object) { s.Store.Update(pod) }

func (s *store) WebPods() []string {
	pods, err := s.ByIndex("app", "web")
	if err != nil {
		panic(err) // there is an index "app"
	}
	return webpods.Names(pods)
}

func (s *store) Relist(ctx context.Context) error {
	items, _, err := s.pods.List(ctx)
	if err == nil {
		s.Replace(items)
	}
	return err
}
