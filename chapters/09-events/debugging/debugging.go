// Package debugging is what both programs of the chapter do: a Website opens, and later a user
// takes one of its Pods away.
package debugging

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/chapters/09-events/website"
	"github.com/loopwright/loopwright/chapters/example"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

// New makes a controller out of a reconciler: it says who wakes it.
type New func(*website.Reconciler) *mini.Controller

// Story opens a Website with the first controller, and takes a Pod from it with the second.
func Story(first, second New) func(context.Context, *demo.Demo) error {
	return func(ctx context.Context, d *demo.Demo) error {
		slog.SetDefault(slog.New(slog.DiscardHandler)) // conflicts are retried
		d.Show(func(trace.Event) bool { return false })
		return example.With(ctx, d, func(sites example.Websites) error {
			s := &story{Demo: d, sites: sites}
			d.Ask("how many reconciles are there in a second in which nothing happens?")
			err := d.Step("1. shop wants two Pods", func() error {
				return s.with(ctx, first, s.open)
			})
			if err != nil {
				return err
			}
			d.Ask("how many Pods does shop have a second after the user took one away?")
			return d.Step("2. A user takes a Pod of shop away, to debug it", func() error {
				return s.with(ctx, second, s.debug)
			})
		})
	}
}

type story struct {
	*demo.Demo
	sites      example.Websites
	reconciles atomic.Int64
}

func (s *story) open(ctx context.Context) error {
	page := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "home"}}
	_, err := s.Client.CoreV1().ConfigMaps(s.Namespace).Create(ctx, page, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	err = s.sites.Create(ctx, &example.Website{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "shop"},
		Spec:       example.WebsiteSpec{Page: "home", Replicas: new(int32(2))},
	})
	if err != nil {
		return err
	}
	time.Sleep(3 * time.Second)
	before := s.reconciles.Load()
	time.Sleep(time.Second)
	site, err := s.sites.Get(ctx, s.Namespace, "shop")
	if err == nil {
		s.Say("The status of shop says: %d are ready.", site.Status.Ready)
		s.Say("Reconciles in one second, with nothing left to do: %d.", s.reconciles.Load()-before)
	}
	return err
}

// debug gives one of the Pods another label. It goes on running, and shop has lost it.
func (s *story) debug(ctx context.Context) error {
	time.Sleep(time.Second)
	pods := s.Client.CoreV1().Pods(s.Namespace)
	ofShop := metav1.ListOptions{LabelSelector: example.Label + "=shop"}
	list, err := pods.List(ctx, ofShop)
	if err != nil || len(list.Items) == 0 {
		return fmt.Errorf("shop has no Pods: %w", err)
	}
	name := list.Items[0].Name
	s.Show(func(e trace.Event) bool { return e.Kind == trace.Handler && e.Name == name })
	patch := []byte(`{"metadata":{"labels":{"` + example.Label + `":"debug"}}}`)
	_, err = pods.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return err
	}
	time.Sleep(time.Second)
	if list, err = pods.List(ctx, ofShop); err == nil {
		s.Say("Pods of shop: %d.", len(list.Items))
	}
	return err
}

// with runs a controller while act acts.
func (s *story) with(ctx context.Context, build New, act func(context.Context) error) error {
	cluster, err := mini.NewCluster(s.Config(), example.NewScheme())
	if err != nil {
		return err
	}
	var informers []*mini.SharedInformer
	for _, like := range []mini.Object{&example.Website{}, &corev1.Pod{}, &corev1.ConfigMap{}} {
		source, err := cluster.ListWatch(like, s.Namespace)
		if err != nil {
			return err
		}
		informers = append(informers, mini.NewSharedInformer(source, nil))
	}
	config := s.Config()
	config.QPS = -1 // client-go's 5 requests a second would hide a hot loop
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	c := build(&website.Reconciler{
		Websites: informers[0], Pods: informers[1], Pages: informers[2],
		Client: client, Sites: s.sites, Image: s.Image,
	})
	c.Trace = s.Recorder
	reconcile := c.Reconciler.Reconcile
	c.Reconciler = mini.ReconcilerFunc(
		func(ctx context.Context, req mini.Request) (mini.Result, error) {
			s.reconciles.Add(1)
			time.Sleep(10 * time.Millisecond) // what else a reconcile does
			return reconcile(ctx, req)
		})
	running, stop := context.WithCancel(ctx)
	var parts sync.WaitGroup
	for _, informer := range informers {
		parts.Go(func() { _ = informer.Run(running) }) // it returns nil
	}
	parts.Go(func() { _ = c.Run(running) })
	err = act(ctx)
	stop()
	parts.Wait()
	return err
}
