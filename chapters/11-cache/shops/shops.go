// Package shops is what both programs of the chapter do: twenty Websites open at once.
package shops

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/chapters/11-cache/website"
	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

const (
	websites = 20
	replicas = 3 // of each
)

// Client makes what the controller reads and writes with.
type Client func(*mini.Cache) *mini.CachedClient

// Story opens twenty Websites, and counts the Pods that the controller creates and deletes.
func Story(client Client) func(context.Context, *demo.Demo) error {
	return func(ctx context.Context, d *demo.Demo) error {
		slog.SetDefault(slog.New(slog.DiscardHandler)) // conflicts are retried
		d.Show(func(trace.Event) bool { return false })
		return example.With(ctx, d, func(sites example.Websites) error {
			s := &story{Demo: d, sites: sites}
			stop, err := s.start(ctx, client)
			if err != nil {
				return err
			}
			defer stop()
			d.Ask("how many Pods does the controller create for them?")
			return d.Step("1. Twenty Websites open. Each wants three Pods", func() error {
				return s.open(ctx)
			})
		})
	}
}

type story struct {
	*demo.Demo
	sites            example.Websites
	created, deleted atomic.Int64 // Pods
}

// start starts the controller. stop waits until it has ended.
func (s *story) start(ctx context.Context, client Client) (stop func(), err error) {
	cluster, err := mini.NewCluster(s.Config(), example.NewScheme())
	if err != nil {
		return nil, err
	}
	cluster.Trace = s.Hidden()
	cache := mini.NewCache(cluster)
	c, err := website.New(cache, &website.Reconciler{Client: client(cache), Image: s.Image})
	if err != nil {
		return nil, err
	}
	pods, err := cache.Informer(&corev1.Pod{})
	if err != nil {
		return nil, err
	}
	c.Workers = 10
	pods.AddHandler(func(change mini.Change) {
		switch {
		case change.Object().GetNamespace() != s.Namespace:
		case change.Old == nil:
			s.created.Add(1)
		case change.New == nil:
			s.deleted.Add(1)
		}
	})
	ctx, cancel := context.WithCancel(ctx)
	var parts sync.WaitGroup
	parts.Go(func() { _ = cache.Run(ctx) })
	parts.Go(func() { _ = c.Run(ctx) })
	return func() { cancel(); parts.Wait() }, nil
}

func (s *story) open(ctx context.Context) error {
	page := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "home"}}
	_, err := s.Client.CoreV1().ConfigMaps(s.Namespace).Create(ctx, page, metav1.CreateOptions{})
	for i := range websites {
		err = errors.Join(err, s.sites.Create(ctx, &example.Website{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: fmt.Sprintf("shop-%d", i)},
			Spec:       example.WebsiteSpec{Page: "home", Replicas: new(int32(replicas))},
		}))
	}
	for err == nil {
		time.Sleep(time.Second)
		ready, err := s.ready(ctx)
		if err != nil {
			return err
		}
		list, err := s.Client.CoreV1().Pods(s.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if there := len(list.Items); ready && there == websites*replicas {
			s.Say("Pods created: %d. Pods deleted: %d. Pods now: %d.",
				s.created.Load(), s.deleted.Load(), there)
			return nil
		}
	}
	return err
}

// ready returns true if each Website has the Pods that it wants.
func (s *story) ready(ctx context.Context) (bool, error) {
	for i := range websites {
		site, err := s.sites.Get(ctx, s.Namespace, fmt.Sprintf("shop-%d", i))
		if err != nil || site.Status.Ready != replicas {
			return false, err
		}
	}
	return true, nil
}
