// Command naive keeps Pods in maps. It fills them while the pages of a list arrive.
package main

import (
	"context"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/chapters/02-store/webpods"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

func main() {
	demo.Main("Chapter 2, naive: maps", webpods.Story(newStore),
		demo.Predict(2, "which Pods of web does the program find after the user's change? "+
			"And what does the other goroutine count during the relist?",
			"the last two steps: web-2 and web-3 have the label").Until(3))
}

type store struct {
	client    kubernetes.Interface
	namespace string

	mu    sync.Mutex // guards what follows
	pods  map[string]mini.Object
	byApp map[string][]string // an index: the names of the Pods with a label app
}

func newStore(d *demo.Demo) (webpods.Store, error) {
	client, err := kubernetes.NewForConfig(webpods.SlowNetwork(d.Config()))
	return &store{client: client, namespace: d.Namespace}, err
}

func (s *store) Update(pod mini.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pods[pod.GetName()] = pod
	app := pod.GetLabels()["app"]
	if !slices.Contains(s.byApp[app], pod.GetName()) {
		s.byApp[app] = append(s.byApp[app], pod.GetName())
	}
}

func (s *store) WebPods() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.byApp["web"])
}

func (s *store) Relist(ctx context.Context) error {
	s.mu.Lock()
	s.pods, s.byApp = map[string]mini.Object{}, map[string][]string{}
	s.mu.Unlock()
	options := metav1.ListOptions{Limit: 2} // small pages, because there are few Pods
	for {
		page, err := s.client.CoreV1().Pods(s.namespace).List(ctx, options)
		if err != nil {
			return err
		}
		for i := range page.Items {
			s.Update(&page.Items[i])
		}
		if options.Continue = page.Continue; page.Continue == "" {
			return nil
		}
	}
}
